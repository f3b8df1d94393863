import type { Schemas } from "../../api/client";

export type WhoReason = Schemas["WhoReasonResponse"];

/**
 * The reasons with one row for all users whom the same statements name directly. The server tells
 * such users apart, since each is a principal of its own.
 */
export function grouped(reasons: WhoReason[]): WhoReason[] {
  const rows: WhoReason[] = [];
  const places = new Map<string, number>();
  for (const one of reasons) {
    const isDirect = one.through.length > 0 && one.through.every((who) => who.startsWith("user:"));
    const key = JSON.stringify(one.statements);
    const place = isDirect ? places.get(key) : undefined;
    const before = place === undefined ? undefined : rows[place];
    if (place !== undefined && before) rows[place] = joined(before, one);
    else {
      if (isDirect) places.set(key, rows.length);
      rows.push(one);
    }
  }
  return rows;
}

function joined(one: WhoReason, other: WhoReason): WhoReason {
  return {
    through: [...one.through, ...other.through],
    statements: one.statements,
    users: [...one.users, ...other.users],
    total: one.total + other.total,
  };
}
