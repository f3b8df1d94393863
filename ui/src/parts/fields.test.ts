import { expect, test } from "vitest";

import { withCurrent } from "./fields";

const REALMS = [
  ["cdap", "CDAP"],
  ["lake", "Apache Gravitino"],
] as const;

test("a field shows the value that the page acts on, also one that is not offered", () => {
  expect(withCurrent(REALMS, "_server")).toEqual([["_server", "_server"], ...REALMS]);
  expect(withCurrent([], "lake")).toEqual([["lake", "lake"]]);
});

test.each(["lake", "", undefined])("other values add no choice: %s", (value) => {
  expect(withCurrent(REALMS, value)).toBe(REALMS);
});
