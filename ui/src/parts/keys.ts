import { useEffect, useRef, type RefObject } from "react";

import { preferences } from "./preferences";

type Keys = Record<string, (event: KeyboardEvent) => void>;

export const FIELD =
  "input:not([type=checkbox], [type=radio], [type=button], [type=submit]), textarea, select";
const LIST = "[role=menu], [role=listbox]";
// Transient messages have this role too, and declare that they are not modal.
export const DIALOG = "[role=dialog]:not([aria-modal=false])";

/** Whether typed letters belong to the element: it is a field, or a list with type-ahead. */
function takesLetters(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.matches(FIELD) || target.closest(LIST) !== null;
}

/**
 * Whether a key belongs to an input method's composition; for the last key Safari sets only the
 * code.
 */
export function isComposing(event: KeyboardEvent): boolean {
  return event.isComposing || event.keyCode === 229;
}

/** Whether single-letter keys are off for this event. */
export function isOff(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.altKey || event.metaKey || event.ctrlKey) return true;
  if (isComposing(event)) return true;
  if (takesLetters(event.target) || takesLetters(event.composedPath()[0] ?? null)) return true;
  return event.key.length === 1 && preferences().keys === "off";
}

/**
 * Single-letter keys; never in a field, never with a modifier; a preference turns them off. The
 * keys of a page are inactive while a dialog is open, which may have its own. Keys `within` a table
 * row apply while the focus is in that row, and take precedence over those of the page.
 */
export function useKeys(
  keys: Keys,
  within: "page" | "dialog" | RefObject<HTMLElement | null> = "page",
): void {
  const current = useRef(keys);
  useEffect(() => {
    current.current = keys;
  });
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const act = current.current[event.key];
      if (!act || isOff(event)) return;
      if (within !== "dialog" && document.querySelector(DIALOG)) return;
      if (typeof within === "object") {
        if (!within.current?.closest("tr")?.contains(document.activeElement)) return;
        event.preventDefault();
      }
      act(event);
    };
    document.addEventListener("keydown", pressed);
    return () => {
      document.removeEventListener("keydown", pressed);
    };
  }, [within]);
}
