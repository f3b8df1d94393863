/** What a cell shows: the letter of the matrix, or that it was gained, lost, or is another one. */
export type Mark = "+" | "-" | "~" | string;

/**
 * The rows of letters to draw: those of now, and where they were others before, how they changed.
 * Gained is what is allowed now, lost what was.
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
