import { afterEach, expect, test } from "vitest";

import { asSentence, dayOf, exactMoment, startOf, zoneName } from "./words";

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

test("events have seconds, in the zone that the page names", () => {
  process.env.TZ = "UTC";
  expect(exactMoment(Date.parse("2026-12-01T06:08:05Z") / 1_000)).toMatch(
    /^Dec 1, 2026, 6:08:05\sAM$/,
  );
  expect(zoneName()).toBe("UTC");
});

test.each([
  [
    "authentication is `simple`: callers are not authenticated",
    "Authentication is `simple`: callers are not authenticated.",
  ],
  ["Already a sentence.", "Already a sentence."],
  ["`auth` is off", "`auth` is off."],
  ["", ""],
])("the message %j becomes a sentence", (message, sentence) => {
  expect(asSentence(message)).toBe(sentence);
});

test.each(["", "2026-02-31", "2026-13-01", "0000-00-00", "24.11.2026", "2026-11-24T00:00:00Z"])(
  "%j is no day",
  (text) => {
    expect(startOf(text)).toBeUndefined();
  },
);
