import { Fragment } from "react";

import styles from "./name.module.css";

// Characters that would change how the text around them reads, or that cannot be seen or told from
// others: fillers are letters, the blank of Braille is a symbol, of two spaces one is drawn. What
// makes a pictograph colourful stays.
const UNSEEN =
  /(?!(?<=\p{ExtPict})\ufe0f)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{DI}\u2800]|(?! )\p{Zs}|(?<= ) /u;
const UNSEEN_ALL = new RegExp(UNSEEN, "gu");

/**
 * A name as it is stored: in an isolate of its own, unseen characters as boxes with their code,
 * long names cut in the middle with the whole one on focus and hover.
 */
export function Name({ text, cut = 80 }: { text: string; cut?: number }) {
  const shown = shortened(text, cut);
  return (
    <bdi className={styles.name} title={shown !== text ? text.replace(UNSEEN_ALL, "□") : undefined}>
      {UNSEEN.test(shown) ? boxed(shown) : shown}
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

function boxed(text: string) {
  let from = 0;
  const parts = [...text.matchAll(UNSEEN_ALL)].map(({ 0: one, index }) => {
    const before = text.slice(from, index);
    from = index + one.length;
    return (
      <Fragment key={index}>
        {before}
        <span className={styles.box}>
          {(one.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}
        </span>
      </Fragment>
    );
  });
  return [...parts, text.slice(from)];
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
