import { useEffect, type ReactNode } from "react";

import styles from "./page.module.css";

/** Frame of a page: its place, name and actions. The name is also the window's title. */
export function Page({
  title,
  heading,
  where,
  tags,
  acts,
  children,
}: {
  title: string;
  heading?: ReactNode;
  where?: ReactNode;
  tags?: ReactNode;
  acts?: ReactNode;
  children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · lakewarden`;
  }, [title]);
  return (
    <>
      {where && <div className={styles.where}>{where}</div>}
      <header className={styles.head}>
        <h1 tabIndex={-1}>{heading ?? title}</h1>
        {tags}
        {acts && <div className={styles.acts}>{acts}</div>}
      </header>
      {children}
    </>
  );
}

/** A box on the page with its own heading; `note` stands at the end of the heading's line. */
export function Card({
  title,
  note,
  children,
  label,
  pad = true,
}: {
  title?: ReactNode;
  note?: ReactNode;
  children: ReactNode;
  label?: string;
  pad?: boolean;
}) {
  return (
    <section className={styles.card} aria-label={label}>
      {title !== undefined && (
        <header className={styles.cardHead}>
          <h2>{title}</h2>
          {note && <span className={styles.note}>{note}</span>}
        </header>
      )}
      <div className={pad ? styles.pad : undefined}>{children}</div>
    </section>
  );
}

/** A main column, and content beside it from 1,100 pixels on; from 1,320 with a `wide` one. */
export function Beside({
  children,
  side,
  wide = false,
}: {
  children: ReactNode;
  side: ReactNode;
  wide?: boolean;
}) {
  return (
    <div className={wide ? `${styles.beside} ${styles.wide}` : styles.beside}>
      <div className={styles.stack}>{children}</div>
      <div className={styles.stack}>{side}</div>
    </div>
  );
}

/** A short mark beside a name: a type, a state. */
export function Tag({
  state,
  children,
}: {
  state?: "allow" | "deny" | "partial";
  children: ReactNode;
}) {
  return (
    <span className={styles.tag} data-state={state}>
      {children}
    </span>
  );
}
