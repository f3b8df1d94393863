import { expect, test } from "vitest";

import { packed, unpacked } from "./link";

test.each(["", "# only this\n", "ж😀\u0000", "a".repeat(100_000)])(
  "a scenario comes back from its link (%#)",
  async (text) => {
    const part = await packed(text);
    expect(part).toMatch(/^[\w-]+$/);
    expect(await unpacked(part ?? "")).toBe(text);
  },
);

test("what does not fit an address has no link", async () => {
  const bytes = crypto.getRandomValues(new Uint8Array(60_000));
  expect(await packed(Array.from(bytes, (one) => one.toString(36)).join(""))).toBeNull();
});

test.each(["%%%", "AAAA", "undefined"])("%s is no scenario", async (part) => {
  expect(await unpacked(part)).toBeNull();
});
