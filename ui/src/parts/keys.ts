import { useEffect, useRef, type RefObject } from "react";

import { preferences } from "./preferences";

type Keys = Record<string, (event: KeyboardEvent) => void>;

export const FIELD =
  "input:not([type=checkbox], [type=radio], [type=button], [type=submit]), textarea, select";
const LIST = "[role=menu], [role=listbox]";
// Messages that come and go have this role too, and say that they are not modal.
export const DIALOG = "[role=dialog]:not([aria-modal=false])";

/** Whether typed letters belong to the element: it is a field, or a list that finds by letters. */
function takesLetters(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.matches(FIELD) || target.closest(LIST) !== null;
}

/** Whether a key belongs to an input method that composes; of the last one Safari tells the code alone. */
export function isComposing(event: KeyboardEvent): boolean {
  return event.isComposing || event.keyCode === 229;
}

/** Whether the event is none of a single letter here. */
export function isOff(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.altKey || event.metaKey || event.ctrlKey) return true;
  if (isComposing(event)) return true;
  if (takesLetters(event.target) || takesLetters(event.composedPath()[0] ?? null)) return true;
  return event.key.length === 1 && preferences().keys === "off";
}

/**
 * Single-letter keys; never in a field, never with a modifier, off by preference. Those of a page
 * rest while a dialog is open, which may have keys of its own. Those `within` a row of a table are
 * for what is in it, while the focus is in that row, and go before those of the page.
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
