import type { Schemas } from "../../api/client";
import type { Draft } from "../../parts/effect";
import type { VersionRow } from "../../parts/versions";
import { t } from "../../words";

export type Kind = "filter" | "mask";
type Row = Schemas["StatementRow"];
type Body = Schemas["ObligationRequest"];

/** A row filter or a column mask in the editor. Members that the form does not show are kept. */
export interface Limit {
  id: string;
  title: string;
  on: string;
  where?: Body["where"];
  to: string[];
  except: string[];
  expression: string;
  active: boolean;
  valid_from?: string | null;
  valid_until?: string | null;
  mark: string;
}

/** An unsaved edit: the state that it started from, and the new one. */
export interface Edit {
  base: Limit;
  mine: Limit;
}

/**
 * An edit that this tab kept; one of an older release lacks its starting state, and counts as none.
 */
export function keptEdit(kept: Partial<Edit> | null): Edit | null {
  return kept?.base && kept.mine ? { base: kept.base, mine: kept.mine } : null;
}

/** Whether both are equal, regardless of the order in which members were set. */
export function isSame(one: Limit, other: Limit): boolean {
  return MEMBERS.every(([, of]) => JSON.stringify(of(one)) === JSON.stringify(of(other)));
}

const given = (...texts: (string | null | undefined)[]) =>
  texts.filter((one): one is string => Boolean(one));

/** The members of a filter or mask, each as lines of text. */
const MEMBERS: readonly [string, (limit: Limit) => string[]][] = [
  ["Id", (limit) => given(limit.id)],
  ["Title", (limit) => given(limit.title)],
  ["On", (limit) => given(limit.where ? JSON.stringify(limit.where) : limit.on)],
  ["Expression", (limit) => given(limit.expression)],
  ["Binds", (limit) => limit.to],
  ["Except", (limit) => limit.except],
  ["Active", (limit) => [limit.active ? "yes" : "no"]],
  ["When", (limit) => [limit.valid_from ?? "…", limit.valid_until ?? "…"]],
  ["Kept by", (limit) => given(limit.mark)],
];

/** The two versions of a limit that two people changed, member by member. */
export function versionsOf(was: Limit, theirs: Limit, mine: Limit): VersionRow[] {
  return MEMBERS.map(([title, of]) => ({
    title: t(title),
    was: of(was),
    theirs: of(theirs),
    mine: of(mine),
  }));
}

export const EMPTY: Limit = {
  id: "",
  title: "",
  on: "",
  to: [],
  except: [],
  expression: "",
  active: true,
  mark: "",
};

export function limitOf(row: Row): Limit {
  return {
    id: row.id,
    title: row.title ?? "",
    on: row.on ?? "",
    where: (row.where ?? undefined) as Body["where"],
    to: row.to,
    except: row.except ?? [],
    expression: row.expression ?? "",
    active: row.active ?? true,
    valid_from: row.valid_from,
    valid_until: row.valid_until,
    mark: row.mark ?? "",
  };
}

export function bodyOf(limit: Limit): Body {
  const { expression, to, except, title, active, valid_from, valid_until, mark } = limit;
  const rest = { expression, to, except, title, active, valid_from, valid_until, mark };
  return limit.where ? { ...rest, where: limit.where } : { ...rest, on: limit.on };
}

/** Whether the limit is complete enough to be previewed. */
export function isWhole(limit: Limit): boolean {
  return [limit.id, limit.expression, limit.where ? "where" : limit.on].every(
    (text) => text.trim() !== "",
  );
}

export function drafted(kind: Kind, limit: Limit): Draft {
  const one = { ...bodyOf(limit), id: limit.id, mark: "" };
  return kind === "filter" ? { filters: [one] } : { masks: [one] };
}

export const MASKS = [
  ["null", "nothing (NULL)"],
  ["redact", "**** or 0"],
  ["constant", "a constant"],
  ["hash", "a hash"],
  ["year", "the year alone"],
  ["first4", "the first four characters"],
  ["last4", "the last four characters"],
  ["sql", "an expression"],
] as const;

const TAKES_TEXT = new Set(["constant", "sql"]);

/** The kind of a mask and its text: `sql 'a || ''x'''` is `sql` of `a || 'x'`. */
export function maskOf(expression: string): { mask: string; text?: string } {
  const match = /^\s*([a-z0-9]+)(?:\s+'((?:[^']|'')*)')?\s*$/.exec(expression);
  const mask = match?.[1] ?? "null";
  return TAKES_TEXT.has(mask) ? { mask, text: (match?.[2] ?? "").replaceAll("''", "'") } : { mask };
}

export function expressionOf(mask: string, text = ""): string {
  return TAKES_TEXT.has(mask) ? `${mask} '${text.replaceAll("'", "''")}'` : mask;
}
