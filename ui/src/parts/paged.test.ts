import { expect, test } from "vitest";

import { partsOf, STEP } from "./paged";

test("what fits a screen is one part, wherever it begins", () => {
  expect(partsOf(0, 30)).toEqual([0]);
  expect(partsOf(STEP - 5, STEP + 20)).toEqual([0]);
  expect(partsOf(89_995, 90_020)).toEqual([899]);
  expect(partsOf(90_000, 90_025)).toEqual([900]);
});

test("more rows than a part holds need further ones", () => {
  expect(partsOf(2 * STEP, 5 * STEP)).toEqual([2, 4]);
});
