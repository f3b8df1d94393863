import { expect, test } from "vitest";

import { edited } from "./edited";
import type { Word } from "./sentence";

const words = (...texts: string[]): Word[] => texts.map((text) => ({ text }));
const told = (all: Word[]): string =>
  all.map((one) => (one.mark ? `[${one.mark} ${one.text}]` : one.text)).join("");

test("what both sentences say is not marked", () => {
  const was = words("audit", " may ", "VIEW", " on ", "everything");
  const now = words("audit", " and ", "science", " may ", "VIEW", " on ", "every ", "dataset");
  expect(told(edited(was, now))).toBe(
    "audit[ins  and ][ins science] may VIEW on [del everything][ins every ][ins dataset]",
  );
});

test("sentences that are alike, or have nothing in common", () => {
  expect(told(edited(words("a", "b"), words("a", "b")))).toBe("ab");
  expect(told(edited(words("a"), words("b")))).toBe("[del a][ins b]");
  expect(told(edited([], words("b")))).toBe("[ins b]");
  expect(told(edited(words("a"), []))).toBe("[del a]");
});

test("two things of one name are two words", () => {
  const named = (name: string): Word => ({ text: "x", ref: { kind: "entity", name } });
  expect(told(edited([named("one")], [named("two")]))).toBe("[del x][ins x]");
});
