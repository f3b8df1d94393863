import { expect, test } from "vitest";

import { PAGE, pagesOf } from "./paged";

test("rows within one page need one request", () => {
  expect(pagesOf(0, PAGE - 1)).toEqual([0]);
  expect(pagesOf(90_000, 90_025)).toEqual([900]);
});

test("rows of neighbouring pages need both", () => {
  expect(pagesOf(PAGE - 1, PAGE)).toEqual([0, 1]);
});
