import type { ReactNode } from "react";

import styles from "./name.module.css";

// Characters that change how the text around them reads, or that are invisible or look like others:
// fillers are letters, the Braille blank is a symbol.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}\p{DI}\u2800]/u;
const PICTOGRAPH = /\p{ExtPict}/u;

/**
 * Whether a character is invisible after the previous one. Of two spaces one is drawn; the selector
 * that makes a pictograph colourful is kept.
 */
export function isUnseen(one: string, before: string): boolean {
  if (one === " ") return before === " ";
  if (one === "\ufe0f") return !PICTOGRAPH.test(before);
  return UNSEEN.test(one);
}

/**
 * A name as it is stored: bidi-isolated, invisible characters as boxes with their code, long names
 * cut in the middle, with the whole name on focus and hover.
 */
export function Name({ text, cut = 80 }: { text: string; cut?: number }) {
  const shown = shortened(text, cut);
  return (
    <bdi
      className={styles.name}
      title={shown !== text ? withUnseen(text, () => "□").join("") : undefined}
    >
      {withUnseen(shown, (one, at) => (
        <span key={at} className={styles.box}>
          {(one.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}
        </span>
      ))}
    </bdi>
  );
}

/**
 * A text cut in the middle, between characters; those beyond the basic plane are two units long.
 */
export function shortened(text: string, cut: number): string {
  if (text.length <= cut) return text;
  const half = Math.floor(cut / 2);
  const [head, tail] = [text.slice(0, half), text.slice(-half + 1)];
  return `${head.replace(/[\ud800-\udbff]$/, "")}…${tail.replace(/^[\udc00-\udfff]/, "")}`;
}

/** A text in parts, with a replacement for each invisible character. */
function withUnseen(text: string, box: (one: string, at: number) => ReactNode): ReactNode[] {
  const parts: ReactNode[] = [];
  let plain = "";
  let before = "";
  let at = 0;
  for (const one of text) {
    if (isUnseen(one, before)) {
      parts.push(plain, box(one, at));
      plain = "";
    } else plain += one;
    before = one;
    at += one.length;
  }
  return [...parts, plain];
}

/** The name of a principal or entity without its kind: `user:ana` is `ana`; a URN stays. */
export function bare(name: string): string {
  if (name.startsWith("urn:li:")) return name;
  const colon = name.indexOf(":");
  return colon < 0 ? name : name.slice(colon + 1);
}

/**
 * How a principal is typed: `user:ana` as `ana`; other kinds in full, as well as names that would
 * read as something else (with a colon) or as an option of a command.
 */
export function typed(principal: string): string {
  return principal.replace(/^user:(?=[^:-][^:]*$)/, "");
}

/** The principal for a typed text: a user, unless the text names a kind. */
export function principalOf(text: string): string {
  return text && !kindOf(text) ? `user:${text}` : text;
}

/**
 * The display name of a URN: `lake.a` for `urn:li:dataset:(urn:li:dataPlatform:x,lake.a,PROD)`,
 * `lake.a.id` for a column of it. Other names are unchanged.
 */
export function urnLabel(name: string): string {
  if (!name.startsWith("urn:li:")) return name;
  const key = name.split(":").slice(3).join(":");
  const column = /^\((urn:li:.*\)),([^()]*)\)$/.exec(key);
  if (column) return `${urnLabel(column[1] ?? "")}.${column[2] ?? ""}`;
  return /^\(.*,(.+),[A-Z]+\)$/.exec(key)?.[1] ?? key;
}

/** The kind of a principal or entity: `user:ana` is a `user`; a URN's is its entity type. */
export function kindOf(name: string): string {
  if (name.startsWith("urn:li:")) return name.split(":")[2] ?? "";
  const colon = name.indexOf(":");
  return colon < 0 ? "" : name.slice(0, colon);
}
