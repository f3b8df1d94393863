import { beforeEach, expect, test, vi } from "vitest";

import { claimDrafts, forgetDraft, keepDraft, keptDraft } from "./draft";

class Storage {
  private items = new Map<string, string>();
  constructor(private room: number) {}
  getItem(key: string) {
    return this.items.get(key) ?? null;
  }
  setItem(key: string, value: string) {
    if (value.length > this.room) throw new Error("QuotaExceededError");
    this.items.set(key, value);
  }
  removeItem(key: string) {
    this.items.delete(key);
  }
  clear() {
    this.items.clear();
  }
}

beforeEach(() => {
  vi.stubGlobal("sessionStorage", new Storage(100));
});

test("a draft is there until it is forgotten", () => {
  const draft = { name: "Kept", values: ["ж", null] };
  keepDraft("policy a", draft);
  expect(keptDraft("policy a")).toEqual(draft);
  expect(keptDraft("policy b")).toBeNull();
  forgetDraft("policy a");
  expect(keptDraft("policy a")).toBeNull();
});

test("what is stored and no draft is as nothing", () => {
  sessionStorage.setItem("policy a", "{not json");
  expect(keptDraft("policy a")).toBeNull();
});

test("a draft without room leaves no older one behind", () => {
  keepDraft("plan", "short");
  keepDraft("plan", "x".repeat(200));
  expect(keptDraft("plan")).toBeNull();
});

test("what somebody wrote is not there for the next one on the tab", () => {
  keepDraft("plan a", "of an older release");
  claimDrafts("ana");
  expect(keptDraft("plan a")).toBe("of an older release");
  expect(keptDraft("drafts of")).toBeNull();
  keepDraft("plan a", "of ana");
  claimDrafts("ana");
  expect(keptDraft("plan a")).toBe("of ana");
  claimDrafts("ben");
  expect(keptDraft("plan a")).toBeNull();
});
