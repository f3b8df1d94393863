import type { Schemas } from "../../api/client";
import { bare } from "../../parts/name";
import { t } from "../../words";

export type Matrix = Schemas["MatrixResponse"];
export interface Cell {
  row: number;
  column: number;
}

const SAYS: Record<string, string> = {
  a: "allowed",
  ".": "denied",
  o: "allowed to owners",
  "?": "differs from one to another",
};

/** What a cell says in words, and where it was something else, that too. */
export function says(matrix: Matrix, { row, column }: Cell): string {
  const now = matrix.cells[row]?.[column] ?? ".";
  const then = matrix.cells_then?.[row]?.[column] ?? now;
  const [said, was] = [t(SAYS[now] ?? ""), t(SAYS[then] ?? "")];
  return then === now ? said : t("{said}, before: {was}", { said, was });
}

/** The last part of a name: `role:quillmere:readers` is `readers`. */
function short(name: string): string {
  return name.startsWith("urn:li:") ? bare(name) : name.slice(name.lastIndexOf(":") + 1);
}

/** How a role set is called: by what tells it apart, or by its first user. */
export function rowName(row: Matrix["rows"][number]): string {
  const named = row.principals.filter((one) => !one.startsWith("user:")).map(short);
  const shown =
    named.slice(0, 3).join(" + ") + (named.length > 3 ? ` + ${String(named.length - 3)}` : "");
  return shown || row.sample[0] || "";
}
