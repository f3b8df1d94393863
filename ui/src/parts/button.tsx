import type { ComponentProps } from "react";

import styles from "./button.module.css";

/** A button; `main` for the main action of a page, `quiet` for one that looks like a link. */
export function Button({
  look = "plain",
  className,
  ...rest
}: ComponentProps<"button"> & { look?: "plain" | "main" | "quiet" | "danger" }) {
  return (
    <button
      type="button"
      className={[styles.button, styles[look], className].filter(Boolean).join(" ")}
      {...rest}
    />
  );
}

export const buttonClass = (look: "plain" | "main" | "quiet" = "plain"): string =>
  [styles.button, styles[look]].join(" ");
