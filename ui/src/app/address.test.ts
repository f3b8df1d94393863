import { expect, test } from "vitest";

import { known, parseSearch, stringifySearch } from "./address";

const NAMES = ["user:ana", "123", "true", "null", "a&b=c", "a b+c", "q?#%2F", "ж/ü😀", "[1]", '"'];

test.each(NAMES)("%s comes back from an address as it was", (name) => {
  expect(parseSearch(stringifySearch({ who: name, on: `table:x:${name}` }))).toEqual({
    who: name,
    on: `table:x:${name}`,
  });
});

test("what is not set is left out", () => {
  expect(stringifySearch({ who: undefined, on: "" })).toBe("");
  expect(stringifySearch({ do: "table.load", on: undefined })).toBe("?do=table.load");
});

test("a page keeps the parameters that it knows", () => {
  expect(known({ who: "user:ana", other: "x", do: 3 }, ["who", "do"])).toEqual({ who: "user:ana" });
});
