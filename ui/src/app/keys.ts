import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";

import { preferences } from "./preferences";

function inField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

/** Single-letter keys of a page; never in a field, never with a modifier, off by preference. */
export function useKeys(keys: Record<string, (event: KeyboardEvent) => void>): void {
  const current = useRef(keys);
  useEffect(() => {
    current.current = keys;
  });
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.altKey || event.metaKey || event.ctrlKey) return;
      if (inField(event.target) || inField(event.composedPath()[0] ?? null)) return;
      if (event.key.length === 1 && preferences().keys === "off") return;
      current.current[event.key]?.(event);
    };
    document.addEventListener("keydown", pressed);
    return () => {
      document.removeEventListener("keydown", pressed);
    };
  }, []);
}

/** `g` and a letter, from anywhere; `places` may lack those that the server has no page for. */
export function usePlaceKeys(places: Record<string, string | undefined>): void {
  const navigate = useNavigate();
  const armed = useRef(0);
  const go = (to: string | undefined) => () => {
    if (to !== undefined && Date.now() - armed.current < 1_500) void navigate({ to });
    armed.current = 0;
  };
  useKeys({
    g: () => {
      armed.current = Date.now();
    },
    ...Object.fromEntries(Object.entries(places).map(([key, to]) => [key, go(to)])),
  });
}

const FOCUSABLE = "a[href], button:enabled, input:enabled, select:enabled";

/** `j` and `k` go to the next and the previous row of a table; Enter opens what it begins with. */
export function useRowKeys(): void {
  const step = (by: number) => () => {
    const rows = [...document.querySelectorAll<HTMLElement>("main tbody tr")].filter((row) =>
      row.querySelector(FOCUSABLE),
    );
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : at + by];
    next?.querySelector<HTMLElement>(FOCUSABLE)?.focus();
  };
  useKeys({ j: step(1), k: step(-1) });
}
