import { beforeAll, expect, test, vi } from "vitest";

let everyStatement: typeof import("./statements").everyStatement;
const asked: URL[] = [];
const answers: Response[] = [];

beforeAll(async () => {
  vi.stubGlobal("location", { origin: "http://here", pathname: "/ui/", search: "", hash: "" });
  vi.stubGlobal("fetch", ({ url }: Request) => {
    asked.push(new URL(url));
    return Promise.resolve(answers.shift());
  });
  ({ everyStatement } = await import("./statements"));
});

const page = (ids: string[], next_token = "") =>
  Response.json({ statements: ids.map((id) => ({ id })), total: 3, page: { next_token } });

test("the statements of all pages are read", async () => {
  answers.push(page(["a", "b"], "more"), page(["c"]));
  const found = await everyStatement("lake", { to: "user:ana" }, new AbortController().signal);
  expect(found.map((one) => one.id)).toEqual(["a", "b", "c"]);
  const sent = asked.map(({ searchParams }) => [
    searchParams.get("to"),
    searchParams.get("page.token"),
  ]);
  expect(sent).toEqual([
    ["user:ana", null],
    ["user:ana", "more"],
  ]);
});

test("a page that does not come is no end of the list", async () => {
  answers.push(page(["a"], "more"), new Response(null, { status: 502 }));
  await expect(everyStatement("lake", {}, new AbortController().signal)).rejects.toMatchObject({
    detail: "the server answered 502",
  });
});
