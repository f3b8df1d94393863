import { expect, test } from "vitest";

import { grouped, type WhoReason } from "./grouped";

const reason = (through: string[], statements: string[], users: string[]): WhoReason => ({
  through,
  statements,
  users,
  total: users.length,
});

test("users whom the same statements name are one reason, in the place of the first", () => {
  const sales = reason(["group:sales"], ["s1"], ["hugo", "ines"]);
  const owners = [reason([], [], ["nora"]), reason([], [], ["otto"])];
  const other = reason(["user:kai"], ["s2"], ["kai"]);
  expect(
    grouped([
      reason(["user:ana"], ["s1"], ["ana"]),
      sales,
      ...owners,
      other,
      reason(["user:ben"], ["s1"], ["ben"]),
    ]),
  ).toEqual([reason(["user:ana", "user:ben"], ["s1"], ["ana", "ben"]), sales, ...owners, other]);
});
