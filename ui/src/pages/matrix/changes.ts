/** The mark of a cell: its letter in the matrix, or that it was gained, lost or changed. */
export type Mark = "+" | "-" | "~" | string;

/**
 * The rows of letters to draw: the current ones, with how cells changed since before. A gained cell
 * is allowed now, a lost one was.
 */
export function changes(now: string[], before: string[] | null): string[] {
  if (!before) return now;
  return now.map((row, at) =>
    Array.from(row, (letter, place) => changed(before[at]?.[place] ?? letter, letter)).join(""),
  );
}

function changed(before: string, now: string): Mark {
  if (before === now) return now;
  if (now === "a") return "+";
  return before === "a" ? "-" : "~";
}
