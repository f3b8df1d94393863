import { i18n } from "@lingui/core";
import { compileMessage } from "@lingui/message-utils/compileMessage";

i18n.setMessagesCompiler(compileMessage);
i18n.loadAndActivate({ locale: "en", messages: {} });

/** The text in the reader's language; `{name}` and ICU plurals are filled from `values`. */
export function t(text: string, values?: Record<string, unknown>): string {
  return i18n._(text, values);
}

/**
 * A message as a sentence: messages begin with a small letter and have no full stop. Code in
 * backticks stays as it is.
 */
export function asSentence(message: string): string {
  const said = message.trim();
  return said && said.charAt(0).toUpperCase() + said.slice(1) + (/[.!?]$/.test(said) ? "" : ".");
}

const whole = new Intl.NumberFormat("en");

/** An integer in the reader's format: `1,949`. */
export function count(n: number): string {
  return whole.format(n);
}

const day = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

/** A moment (RFC 3339 or seconds since the epoch) with date and time. */
export function moment(at: string | number): string {
  return day.format(new Date(typeof at === "number" ? at * 1_000 : at));
}

const second = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });

/** A moment to the second, for events that follow each other. */
export function exactMoment(at: number): string {
  return second.format(new Date(at * 1_000));
}

/** The reader's time zone, in which moments are shown: `UTC`, `GMT+1`. */
export function zoneName(): string {
  const parts = new Intl.DateTimeFormat("en", { timeZoneName: "short" }).formatToParts();
  return parts.find((one) => one.type === "timeZoneName")?.value ?? "";
}

/**
 * The start of a day (`2026-11-24`) in the local time zone, `later` days on; undefined for an
 * invalid day.
 */
export function startOf(date: string, later = 0): string | undefined {
  const parts = /^(\d{4})-(\d\d)-(\d\d)$/.exec(date)?.slice(1).map(Number);
  if (!parts) return undefined;
  const [year = 0, month = 0, number = 0] = parts;
  const start = new Date(2000, 0);
  start.setFullYear(year, month - 1, number);
  if (start.getMonth() !== month - 1 || start.getDate() !== number) return undefined;
  start.setDate(number + later);
  return start.toISOString();
}

/** The local day of a moment, as date fields accept it. */
export function dayOf(at: number): string {
  const date = new Date(at);
  const two = (n: number) => String(n).padStart(2, "0");
  return `${String(date.getFullYear())}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** Relative time: `2 hours ago`, or in how long; beyond 30 days the date. */
export function ago(at: string | number, now = Date.now()): string {
  const seconds = ((typeof at === "number" ? at * 1_000 : Date.parse(at)) - now) / 1_000;
  if (Math.abs(seconds) > 30 * 86_400) return moment(at);
  for (const [unit, size] of STEPS) {
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit);
  }
  return relative.format(0, "minute");
}
