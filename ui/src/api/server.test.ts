import { expect, test, vi } from "vitest";

test("realms of one system are told apart by their names", async () => {
  vi.stubGlobal("location", { origin: "http://here", pathname: "/ui/", search: "", hash: "" });
  const { titleOf } = await import("./server");
  const realm = (name: string, title: string) => ({ name, title });
  const all = [realm("lake", "Apache Gravitino"), realm("hub", "DataHub"), realm("own", "")];
  expect(all.map((one) => titleOf(one, all))).toEqual(["Apache Gravitino", "DataHub", "own"]);
  const more = [...all, realm("sea", "Apache Gravitino")];
  expect(more.map((one) => titleOf(one, more))).toEqual([
    "Apache Gravitino (lake)",
    "DataHub",
    "own",
    "Apache Gravitino (sea)",
  ]);
});
