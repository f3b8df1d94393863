import { afterEach, expect, test } from "vitest";

import { dayOf, startOf } from "./words";

const zone = process.env.TZ;
afterEach(() => {
  process.env.TZ = zone;
});

test("a day begins where the reader is, also where clocks change", () => {
  process.env.TZ = "America/New_York";
  expect(startOf("2026-03-08")).toBe("2026-03-08T05:00:00.000Z");
  expect(startOf("2026-03-08", 1)).toBe("2026-03-09T04:00:00.000Z");
  expect(dayOf(Date.parse("2026-03-09T03:59:59Z"))).toBe("2026-03-08");
});

test.each(["", "2026-02-31", "2026-13-01", "0000-00-00", "24.11.2026", "2026-11-24T00:00:00Z"])(
  "%j is no day",
  (text) => {
    expect(startOf(text)).toBeUndefined();
  },
);
