import { beforeAll, expect, test, vi } from "vitest";

type Client = typeof import("./client");
type Server = typeof import("./server");

let client: Client;
let downBy: Server["downBy"];
const answers: Response[] = [];

beforeAll(async () => {
  vi.stubGlobal("location", { origin: "http://here", pathname: "/ui/", search: "", hash: "" });
  vi.stubGlobal("fetch", () => Promise.resolve(answers.shift()));
  client = await import("./client");
  ({ downBy } = await import("./server"));
});

function refused(detail: string): Response {
  const problem = { type: "about:blank", title: detail, status: 403, detail };
  return new Response(JSON.stringify(problem), { status: 403 });
}

test("what nothing answered is said in words of ours", () => {
  for (const said of ["Failed to fetch", "NetworkError when attempting to fetch resource."])
    expect(client.problemOf(new TypeError(said)).detail).toBe("the server cannot be reached now");
  expect(client.problemOf(new TypeError("x is undefined")).detail).toBe("x is undefined");
});

test("a token that counts no more has the session read anew; a denial has not", async () => {
  let heard = 0;
  const leave = client.staleSession.subscribe(() => (heard += 1));
  answers.push(refused("may not table.load"));
  await client.api.DELETE("/api/v1/session");
  expect(heard).toBe(0);
  answers.push(refused("expected the header `lakewarden-csrf` of this session"));
  const { error } = await client.api.DELETE("/api/v1/session");
  expect(heard).toBe(1);
  expect(client.problemOf(error).status).toBe(403);
  answers.push(refused("expected the header `lakewarden-csrf` of this session"));
  await expect(client.callDialect("lake", "POST", "/x")).rejects.toMatchObject({ status: 403 });
  expect(heard).toBe(2);
  leave();
});

test("a server that is not ready is not called healthy", () => {
  expect(downBy(true, "ready")).toBe("");
  for (const status of ["starting", "store unavailable", "writes fail", "something new"])
    expect(downBy(false, status)).not.toBe("");
});
