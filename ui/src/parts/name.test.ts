import { expect, test } from "vitest";

import { principalOf, typed } from "./name";

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
