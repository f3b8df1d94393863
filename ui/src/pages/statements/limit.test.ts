import { expect, test } from "vitest";

import { drafted, EMPTY, expressionOf, isWhole, maskOf } from "./limit";

test("a mask is its kind and its text, and back", () => {
  for (const text of ["null", "last4", "constant 'n/a'", "sql 'coalesce(a, ''x'')'", "sql ''"]) {
    const { mask, text: inner } = maskOf(text);
    expect(expressionOf(mask, inner)).toBe(text);
  }
  expect(maskOf("sql 'a = ''b'''")).toEqual({ mask: "sql", text: "a = 'b'" });
});

test("a draft has either an entity or criteria", () => {
  const limit = { ...EMPTY, id: "a", on: "table:lk:c.s.t", expression: "a = 1", mark: "git" };
  expect(drafted("filter", limit).filters?.[0]).toMatchObject({ id: "a", on: limit.on, mark: "" });
  const where = [{ field: "TAG", condition: "EQUALS" as const, values: ["pii"] }];
  const [one] = drafted("mask", { ...limit, where }).masks ?? [];
  expect(one).toMatchObject({ where });
  expect(one).not.toHaveProperty("on");
  expect(isWhole(limit)).toBe(true);
  expect(isWhole({ ...limit, on: " " })).toBe(false);
  expect(isWhole({ ...limit, on: "", where })).toBe(true);
});
