import { beforeAll, expect, test, vi } from "vitest";

type Client = typeof import("./client");
type Server = typeof import("./server");

let client: Client;
let downBy: Server["downBy"];
const answers: (Response | Error)[] = [];

beforeAll(async () => {
  vi.stubGlobal("location", { origin: "http://here", pathname: "/ui/", search: "", hash: "" });
  vi.stubGlobal("fetch", () => {
    const next = answers.shift();
    return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
  });
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

test.each([
  [502, "", { "Content-Length": "0" }, "the server answered 502"],
  [502, "<html>Bad gateway</html>", { "Content-Type": "text/html" }, "the server answered 502"],
  [413, "too large", { "Content-Type": "text/plain" }, "too large"],
  [200, "<html>Log in</html>", { "Content-Type": "text/html" }, "the server cannot be reached now"],
])("what is no answer of the server is no success (%i %s)", async (status, body, headers, says) => {
  answers.push(new Response(body || null, { status, headers: { ...headers } }));
  const { data, error } = await client.api.DELETE("/api/v1/session");
  expect(data).toBeUndefined();
  expect(client.problemOf(error).detail).toBe(says);
});

test("that nothing answers is a problem of a change, too", async () => {
  answers.push(new TypeError("Failed to fetch"));
  const { error } = await client.api.DELETE("/api/v1/session");
  expect(client.problemOf(error)).toMatchObject({
    status: 0,
    detail: "the server cannot be reached now",
  });
  answers.push(new DOMException("given up", "AbortError"));
  await expect(client.api.DELETE("/api/v1/session")).rejects.toThrow("given up");
  answers.push(new Response("<html>", { status: 502, headers: { "Content-Type": "text/html" } }));
  await expect(client.callDialect("lake", "GET", "/x")).rejects.toMatchObject({
    detail: "the server answered 502",
  });
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
