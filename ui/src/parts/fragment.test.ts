import { beforeEach, expect, test, vi } from "vitest";

import { rememberFragment, takeFragment } from "./fragment";

beforeEach(() => {
  const items = new Map<string, string>();
  vi.stubGlobal("sessionStorage", {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => items.set(key, value),
    removeItem: (key: string) => items.delete(key),
  });
});

test("a fragment outlives the way over the login page, once", () => {
  rememberFragment("/ui/playground", "#s=abc");
  expect(takeFragment("/ui/playground")).toBe("#s=abc");
  expect(takeFragment("/ui/playground")).toBe("");
});

test("a fragment belongs to its address alone", () => {
  rememberFragment("/ui/playground", "#s=abc");
  expect(takeFragment("/ui/")).toBe("");
  rememberFragment("/ui/playground", "#s=abc");
  rememberFragment("/ui/", "");
  expect(takeFragment("/ui/playground")).toBe("");
});
