import type { ReactNode } from "react";

import styles from "./tabs.module.css";

/** A row of links of which one is the page that is shown. The children are router links. */
export function Tabs({ label, children }: { label: string; children: ReactNode }) {
  return (
    <nav className={styles.tabs} aria-label={label}>
      {children}
    </nav>
  );
}

/** A choice of a few, one of which holds: `Groups | People`. */
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
