import { expect, test } from "vitest";

import { isUnseen, principalOf, typed } from "./name";

test.each([
  ["user:ana", "ana"],
  ["group:finance", "group:finance"],
  ["role:lake:readers", "role:lake:readers"],
  ["user:spiffe://t/x", "user:spiffe://t/x"],
  ["user:urn:li:corpuser:ana", "user:urn:li:corpuser:ana"],
  ["user:-x", "user:-x"],
])("%s is typed as %s, and read as it was", (principal, text) => {
  expect(typed(principal)).toBe(text);
  expect(principalOf(text)).toBe(principal);
});

test("nothing typed names nobody", () => {
  expect(principalOf("")).toBe("");
});

test.each([
  ["lake.sales", ""],
  ["a b", ""],
  ["a  b", " "],
  ["   ", "  "],
  ["a\u00a0b", "\u00a0"],
  ["pay\u200bpal\u202e", "\u200b\u202e"],
  ["\u3164\u2800", "\u3164\u2800"],
  ["a\u{e0041}", "\u{e0041}"],
  ["\u2764\ufe0f", ""],
  ["\u2764\ufe0f\ufe0f", "\ufe0f"],
  ["a\ufe0f", "\ufe0f"],
  ["\u{1f468}\u200d\u{1f33e}", "\u200d"],
])("of %j cannot be seen: %j", (text, unseen) => {
  const all = [...text];
  const found = all.filter((one, place) => isUnseen(one, all[place - 1] ?? ""));
  expect(found.join("")).toBe(unseen);
});
