import { expect, test } from "vitest";

import { runs } from "./runs";

test("a row is drawn in runs of the same letter", () => {
  expect(runs("aa.?")).toEqual([
    { letter: "a", from: 0, to: 1 },
    { letter: ".", from: 2, to: 2 },
    { letter: "?", from: 3, to: 3 },
  ]);
  expect(runs("")).toEqual([]);
});
