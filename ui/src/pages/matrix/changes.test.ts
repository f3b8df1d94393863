import { expect, test } from "vitest";

import { changes } from "./changes";

test("what changed is marked, all else keeps its letter", () => {
  expect(changes(["a.oa", "?.a."], ["a.a.", "o.aa"])).toEqual(["a.-+", "~.a-"]);
});

test("without another policy the letters are those of now", () => {
  expect(changes(["a.o"], null)).toEqual(["a.o"]);
});
