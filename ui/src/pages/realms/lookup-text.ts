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
 * The rows of a text: one per line, values separated by commas, quoted as in CSV. Numbers and
 * booleans if the column has these; invalid ones stay text, which the server refuses.
 */
export function rowsOf(text: string, columns: readonly Column[]): Value[][] {
  return recordsOf(text).map((values) =>
    values.map((value, place) => typed(value, columns[place]?.type)),
  );
}

export function textOfRows(rows: readonly (readonly Value[])[]): string {
  return rows.map((row) => row.map((value) => quoted(String(value))).join(",")).join("\n");
}

/** The values of each line that is not blank; a quoted value may span several. */
function recordsOf(text: string): string[][] {
  const records: string[][] = [];
  let values: string[] = [];
  const pattern = /[^\S\r\n]*(?:"((?:[^"]|"")*)"[^\S\r\n]*|([^,\r\n]*))(,|\r\n|\r|\n|$)/gy;
  for (let part = pattern.exec(text); part; part = pattern.exec(text)) {
    const [, inQuotes, plain = "", end] = part;
    values.push(inQuotes?.replaceAll('""', '"') ?? plain.trim());
    if (end === ",") continue;
    if (values.length > 1 || inQuotes !== undefined || plain.trim() !== "") records.push(values);
    values = [];
    if (end === "") break;
  }
  return records;
}

function quoted(value: string): string {
  return /[",\r\n]|^\s|\s$|^$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

function typed(value: string, type?: string): Value {
  if (type === "integer" && /^-?\d{1,15}$/.test(value)) return Number(value);
  if (type === "boolean" && /^(true|false)$/.test(value)) return value === "true";
  return value;
}
