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

test("a text that packs badly has no link, however long", async () => {
  const bytes = crypto.getRandomValues(new Uint8Array(65_536));
  const text = Array.from({ length: 8 }, () => String.fromCharCode(...bytes)).join("");
  expect(await packed(text)).toBeNull();
});

test("a link of a few letters does not unfold to more than the server runs", async () => {
  const part = await packed("a".repeat(5_000_000));
  expect(await unpacked(part ?? "")).toBeNull();
});

test.each(["%%%", "AAAA", "undefined"])("%s is no scenario", async (part) => {
  expect(await unpacked(part)).toBeNull();
});
