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

/** A cell in words, with its earlier value if that differs. */
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

/** The name of a role set: the roles that distinguish it, or its first user. */
export function rowName(row: Matrix["rows"][number]): string {
  const named = row.principals.filter((one) => !one.startsWith("user:")).map(short);
  const shown =
    named.slice(0, 3).join(" + ") + (named.length > 3 ? ` + ${String(named.length - 3)}` : "");
  return shown || row.sample[0] || "";
}
