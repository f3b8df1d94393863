import type { ReactNode } from "react";

import styles from "./policies.module.css";

/** A part of the form, under its heading. */
export function Section({
  title,
  note,
  children,
}: {
  title: string;
  note?: string;
  children: ReactNode;
}) {
  return (
    <fieldset className={styles.section}>
      <legend>
        {title} {note && <small>{note}</small>}
      </legend>
      {children}
    </fieldset>
  );
}
