import { expect, test } from "vitest";

import {
  drafted,
  EMPTY,
  expressionOf,
  isSame,
  isWhole,
  keptEdit,
  maskOf,
  versionsOf,
} from "./limit";

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

test("an edit knows what it began with, so that another's change is seen", () => {
  const base = { ...EMPTY, id: "a", expression: "a = 1" };
  const theirs = { ...base, expression: "a = 2" };
  const kept = keptEdit(JSON.parse(JSON.stringify({ base, mine: { ...base, to: ["user:ana"] } })));
  expect(kept && isSame(kept.base, base)).toBe(true);
  expect(kept && isSame(kept.base, theirs)).toBe(false);
  const changed = versionsOf(base, theirs, kept?.mine ?? EMPTY).filter(
    ({ was, theirs: them, mine }) => was.join() !== them.join() || was.join() !== mine.join(),
  );
  expect(changed).toEqual([
    { title: "Expression", was: ["a = 1"], theirs: ["a = 2"], mine: ["a = 1"] },
    { title: "Binds", was: [], theirs: [], mine: ["user:ana"] },
  ]);
});

test("what an older release kept is no edit", () => {
  expect(keptEdit({ ...EMPTY, id: "a" } as object)).toBeNull();
  expect(keptEdit(null)).toBeNull();
});
