import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";

import { DIALOG, FIELD, isOff, useKeys } from "../parts/keys";

const SOON_MS = 1_500;

/**
 * `g` and a letter, from anywhere; `places` omits pages that the server lacks. The letter is
 * consumed before it reaches the page, where it may have another meaning.
 */
export function usePlaceKeys(places: Record<string, string | undefined>): void {
  const navigate = useNavigate();
  const current = useRef(places);
  useEffect(() => {
    current.current = places;
  });
  useEffect(() => {
    let armed = -SOON_MS;
    const pressed = (event: KeyboardEvent) => {
      if (isOff(event) || document.querySelector(DIALOG)) return;
      const isArmed = event.timeStamp - armed < SOON_MS;
      armed = event.key === "g" ? event.timeStamp : -SOON_MS;
      if (!isArmed || !(event.key in current.current)) return;
      event.preventDefault();
      event.stopPropagation();
      const to = current.current[event.key];
      if (to !== undefined) void navigate({ to });
    };
    document.addEventListener("keydown", pressed, { capture: true });
    return () => {
      document.removeEventListener("keydown", pressed, { capture: true });
    };
  }, [navigate]);
}

const FOCUSABLE = "a[href], button:enabled, input:enabled, select:enabled";

/**
 * `j` and `k` go to the next and the previous row of a table; Enter opens the first link of the
 * row, and `x` ticks its box.
 */
export function useRowKeys(): void {
  const step = (by: number) => () => {
    const rows = [...document.querySelectorAll<HTMLElement>("main tbody tr")].filter((row) =>
      row.querySelector(FOCUSABLE),
    );
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : at + by];
    const first = next?.querySelector<HTMLElement>("a[href], button:enabled");
    (first ?? next?.querySelector<HTMLElement>(FOCUSABLE))?.focus();
  };
  const tick = () => {
    const row = document.activeElement?.closest("main tbody tr");
    row?.querySelector<HTMLElement>("input[type=checkbox]:enabled")?.click();
  };
  useKeys({ j: step(1), k: step(-1), x: tick });
}

/**
 * The keys of a page's actions: `n` and `d` press the element that names them in
 * `aria-keyshortcuts`, or focus it if it is a field; `e` focuses the first editable element.
 */
export function useOfferKeys(): void {
  const offered = (event: KeyboardEvent) => {
    const bearers = document.querySelectorAll<HTMLElement>(
      `main [aria-keyshortcuts="${event.key}"]:not(:disabled)`,
    );
    const first = [...bearers].find((one) => one.getClientRects().length > 0);
    if (!first) return;
    // Otherwise the letter would be typed into the field that has the focus now.
    event.preventDefault();
    if (event.key === "e" || first.matches(FIELD)) first.focus();
    else first.click();
  };
  useKeys({ n: offered, e: offered, d: offered });
}
