import { expect, test, vi } from "vitest";

test("ids of new policies are random UUIDs, also where there is no randomUUID", async () => {
  vi.stubGlobal("location", { origin: "http://here", pathname: "/ui/", search: "", hash: "" });
  const { newId } = await import("./policy");
  const ids = Array.from({ length: 50 }, newId);
  expect(new Set(ids).size).toBe(50);
  for (const id of ids)
    expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
});
