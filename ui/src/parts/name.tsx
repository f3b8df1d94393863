import type { ReactNode } from "react";

import styles from "./name.module.css";

// Characters that would change how the text around them reads, or that cannot be seen or told from
// others: fillers are letters, the blank of Braille is a symbol.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}\p{DI}\u2800]/u;
const PICTOGRAPH = /\p{ExtPict}/u;

/**
 * Whether a character cannot be seen after the one before it. Of two spaces one is drawn; what makes
 * a pictograph colourful stays.
 */
export function isUnseen(one: string, before: string): boolean {
  if (one === " ") return before === " ";
  if (one === "\ufe0f") return !PICTOGRAPH.test(before);
  return UNSEEN.test(one);
}

/**
 * A name as it is stored: in an isolate of its own, unseen characters as boxes with their code,
 * long names cut in the middle with the whole one on focus and hover.
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

/** A text cut in its middle, between characters; those beyond the basic plane are two units long. */
function shortened(text: string, cut: number): string {
  if (text.length <= cut) return text;
  const half = Math.floor(cut / 2);
  const [head, tail] = [text.slice(0, half), text.slice(-half + 1)];
  return `${head.replace(/[\ud800-\udbff]$/, "")}…${tail.replace(/^[\udc00-\udfff]/, "")}`;
}

/** A text in parts, with something else in place of each unseen character. */
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

/** What a principal or entity is called without its kind: `user:ana` is `ana`; a URN stays. */
export function bare(name: string): string {
  if (name.startsWith("urn:li:")) return name;
  const colon = name.indexOf(":");
  return colon < 0 ? name : name.slice(colon + 1);
}

/**
 * How a principal is typed: `user:ana` as `ana`; other kinds whole, and names that would read as
 * something else (with a colon) or as an option of a command.
 */
export function typed(principal: string): string {
  return principal.replace(/^user:(?=[^:-][^:]*$)/, "");
}

/** The principal that a typed text names: a user, unless it says what it is. */
export function principalOf(text: string): string {
  return text && !kindOf(text) ? `user:${text}` : text;
}

/**
 * What people call the thing of a URN: `urn:li:dataset:(urn:li:dataPlatform:x,lake.a,PROD)` is
 * `lake.a`, a column of it `lake.a.id`. Other names are as they are.
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
