import type { Schemas } from "../../api/client";

type Column = Schemas["LookupColumnRequest"];
type Value = string | number | boolean;

/** The columns of a text such as `email, since date`; without a type they are strings. */
export function columnsOf(text: string): Column[] {
  return text
    .split(",")
    .map((part) => part.trim().split(/\s+/))
    .filter(([name]) => name)
    .map(([name = "", type = "string"]) => ({ name, type: type as Column["type"] }));
}

export function textOfColumns(columns: readonly { name: string; type?: string }[]): string {
  return columns
    .map(({ name, type = "string" }) => (type === "string" ? name : `${name} ${type}`))
    .join(", ");
}

/**
 * The rows of a text: one in each line, values separated by commas, as CSV quotes them. Numbers and
 * booleans where the column has these; what is none is left as text, which the server refuses.
 */
export function rowsOf(text: string, columns: readonly Column[]): Value[][] {
  return text
    .split(/\r?\n/)
    .filter((line) => line.trim() !== "")
    .map((line) => valuesOf(line).map((value, place) => typed(value, columns[place]?.type)));
}

export function textOfRows(rows: readonly (readonly Value[])[]): string {
  return rows.map((row) => row.map((value) => quoted(String(value))).join(",")).join("\n");
}

function valuesOf(line: string): string[] {
  const values: string[] = [];
  const pattern = /\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))(,|$)/gy;
  for (let part = pattern.exec(line); part; part = pattern.exec(line)) {
    values.push(part[1]?.replaceAll('""', '"') ?? (part[2] ?? "").trim());
    if (part[3] === "") break;
  }
  return values;
}

function quoted(value: string): string {
  return /[",]|^\s|\s$|^$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

function typed(value: string, type?: string): Value {
  if (type === "integer" && /^-?\d{1,15}$/.test(value)) return Number(value);
  if (type === "boolean" && /^(true|false)$/.test(value)) return value === "true";
  return value;
}
