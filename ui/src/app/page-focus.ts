import { useRouter } from "@tanstack/react-router";
import { useEffect } from "react";

const PATIENCE_MS = 5_000;

/**
 * Opening a page focuses its heading; going back focuses the link by which the page was left. A
 * page that only changed a part of itself keeps the focus, unless the focused element is gone.
 */
export function usePageFocus(): void {
  const router = useRouter();
  useEffect(() => {
    const left = new Map<string, string>();
    let stop = () => {};
    let before: Element | null = null;
    const leaves = router.subscribe("onBeforeNavigate", ({ fromLocation }) => {
      before = document.activeElement;
      const link = before?.closest("main a[href]")?.getAttribute("href");
      const from = fromLocation?.state.__TSR_key;
      if (from && link) left.set(from, link);
    });
    const arrives = router.subscribe("onRendered", ({ toLocation, hrefChanged, pathChanged }) => {
      stop();
      if (!hrefChanged) return;
      // A page may have put the focus somewhere itself.
      const now = document.activeElement;
      if (now === document.body || (pathChanged && now === before))
        document.querySelector<HTMLElement>("main h1")?.focus({ preventScroll: true });
      const link = left.get(toLocation.state.__TSR_key ?? "");
      if (link !== undefined) stop = focusOnce(link);
    });
    return () => {
      stop();
      leaves();
      arrives();
    };
  }, [router]);
}

/** Focuses the link once it is there, unless the reader did something first. */
function focusOnce(link: string): () => void {
  const attempt = () => {
    const links = document.querySelectorAll<HTMLElement>("main a[href]");
    const found = [...links].find((one) => one.getAttribute("href") === link);
    if (!found) return;
    stop();
    found.focus();
  };
  const seen = new MutationObserver(attempt);
  const patience = setTimeout(() => {
    stop();
  }, PATIENCE_MS);
  const stop = () => {
    seen.disconnect();
    clearTimeout(patience);
    document.removeEventListener("keydown", stop);
    document.removeEventListener("pointerdown", stop);
  };
  document.addEventListener("keydown", stop);
  document.addEventListener("pointerdown", stop);
  seen.observe(document.querySelector("main") ?? document.body, { childList: true, subtree: true });
  attempt();
  return stop;
}

/**
 * Keeps the focused element in sight when contents that arrive move it, unless the reader scrolled
 * it out of sight.
 */
export function useFocusInSight(): void {
  useEffect(() => {
    const main = document.querySelector("main");
    if (!main) return;
    let wasInSight = false;
    const note = () => {
      wasInSight = isInSight(document.activeElement);
    };
    const moved = new ResizeObserver(() => {
      const one = document.activeElement;
      if (wasInSight && one && main.contains(one) && !isInSight(one))
        one.scrollIntoView({ block: "nearest" });
      note();
    });
    moved.observe(main);
    document.addEventListener("focusin", note);
    document.addEventListener("scroll", note);
    return () => {
      moved.disconnect();
      document.removeEventListener("focusin", note);
      document.removeEventListener("scroll", note);
    };
  }, []);
}

function isInSight(one: Element | null): boolean {
  if (!one) return false;
  const { top, bottom } = one.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}
