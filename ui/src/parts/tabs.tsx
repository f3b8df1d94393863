import { useCallback, useEffect, useRef, type ReactNode } from "react";

import { useKeys } from "./keys";
import styles from "./tabs.module.css";

/**
 * A row of links, one of which is the current page and scrolled into view; `t` goes to the next.
 * The children are router links.
 */
export function Tabs({ label, children }: { label: string; children: ReactNode }) {
  const row = useRef<HTMLElement>(null);
  const place = useRef("");
  const show = useCallback(() => {
    const here = row.current?.querySelector<HTMLElement>("a[aria-current]");
    const now = here ? `${here.textContent} ${String(here.offsetLeft)}` : "";
    if (now === place.current) return;
    place.current = now;
    here?.scrollIntoView({ block: "nearest", inline: "center" });
  }, []);
  useEffect(show);
  // Tabs take other places when their font is loaded.
  useEffect(() => {
    void document.fonts.ready.then(show);
  }, [show]);
  useKeys({
    t: () => {
      const links = [...(row.current?.querySelectorAll("a") ?? [])];
      const at = links.findIndex((one) => one.hasAttribute("aria-current"));
      const next = links[(at + 1) % links.length];
      next?.focus();
      next?.click();
    },
  });
  return (
    <nav className={styles.tabs} aria-label={label} ref={row}>
      {children}
    </nav>
  );
}

/** A choice between a few values: `Groups | People`. */
export function Segments<T extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: T;
  options: readonly (readonly [T, string])[];
  onChange: (value: T) => void;
}) {
  return (
    <div className={styles.segments} role="group" aria-label={label}>
      {options.map(([one, text]) => (
        <button
          key={one}
          type="button"
          aria-pressed={one === value}
          onClick={() => {
            onChange(one);
          }}
        >
          {text}
        </button>
      ))}
    </div>
  );
}
