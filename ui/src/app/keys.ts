import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";

import { preferences } from "./preferences";

/** Where `g` and a letter lead. */
export const PLACES = {
  o: "/",
  a: "/ask",
  s: "/assets",
  p: "/people",
  f: "/findings",
  u: "/audit",
} as const;

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

/** `g` and a letter, from anywhere. */
export function usePlaceKeys(): void {
  const navigate = useNavigate();
  const armed = useRef(0);
  const go = (to: string) => () => {
    if (Date.now() - armed.current < 1_500) void navigate({ to });
    armed.current = 0;
  };
  useKeys({
    g: () => {
      armed.current = Date.now();
    },
    ...Object.fromEntries(Object.entries(PLACES).map(([key, to]) => [key, go(to)])),
  });
}
