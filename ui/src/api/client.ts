import createFetchClient from "openapi-fetch";
import createQueryClient from "openapi-react-query";

import { rememberFragment } from "../parts/fragment";
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];
type Told = Pick<Schemas["Problem"], "type" | "title" | "status" | "detail">;
export type Problem = Told & Partial<Schemas["Problem"]>;

let csrf = "";
let revision = 0;
let noticedAt = 0;
const revisionListeners = new Set<() => void>();

/** The token that every change carries; it comes with the session. */
export function rememberCsrf(token: string): void {
  csrf = token;
}

/** The newest revision that any answer named. */
export const newestRevision = {
  get: (): number => revision,
  /** When an answer named it for the first time, in milliseconds since the epoch. */
  noticedAt: (): number => noticedAt,
  subscribe(listener: () => void): () => void {
    revisionListeners.add(listener);
    return () => revisionListeners.delete(listener);
  },
};

/** Whoever reads the session anew when the server no longer takes its token. */
export const staleSession = {
  listeners: new Set<() => void>(),
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  },
};

/** A refusal that is about the token, not about rights: another tab has signed in meanwhile. */
async function noteStaleSession(response: Response): Promise<void> {
  if (response.status !== 403) return;
  const told = await response.clone().text();
  if (told.toLowerCase().includes("lakewarden-csrf"))
    staleSession.listeners.forEach((listener) => {
      listener();
    });
}

function noteRevision(response: Response): void {
  const named = Number(response.headers.get("Lakewarden-Revision"));
  if (named > revision) {
    revision = named;
    noticedAt = Date.now();
    revisionListeners.forEach((listener) => {
      listener();
    });
  }
}

/** Calls of `/api/v1`, typed by the server's own description. */
export const api = createFetchClient<paths>({
  baseUrl: location.origin,
  fetch: (request) => fetch(request),
});
api.use({
  onRequest({ request }) {
    if (request.method !== "GET") request.headers.set("Lakewarden-CSRF", csrf);
    return request;
  },
  async onResponse({ response, request }) {
    noteRevision(response);
    await noteStaleSession(response);
    if (response.status === 401 && !request.url.endsWith("/api/v1/session")) goToLogin();
    return worded(response);
  },
  onError({ error }) {
    return isUnreachable(error) ? failed(0) : undefined;
  },
});

/**
 * A failure that is no problem of the server as one: without a body it would be read as done, and
 * the page of a proxy is no sentence.
 */
async function worded(response: Response): Promise<Response | undefined> {
  if (response.ok) return isPage(response) ? failed(0) : undefined;
  const text = isPage(response) ? "" : await response.clone().text();
  const isOurs = text !== "" && /\bjson\b/.test(response.headers.get("Content-Type") ?? "");
  return isOurs ? undefined : failed(response.status, text);
}

/** What went wrong, as the server would say it; status 0: nothing of it answered. */
function failed(status: number, text = ""): Response {
  const problem = JSON.stringify(problemOf(text, status));
  const headers = { "Content-Type": "application/problem+json" };
  return new Response(problem, { status: status || 503, headers });
}

function isPage(response: Response): boolean {
  return /\bhtml\b/.test(response.headers.get("Content-Type") ?? "");
}

/** The same calls as queries and mutations. */
export const $api = createQueryClient(api);

/** Opens the log-in page; it leads back here. The server never sees the fragment: this tab keeps it. */
export function goToLogin(): void {
  const here = location.pathname + location.search;
  rememberFragment(here, location.hash);
  location.assign(`/ui/login?to=${encodeURIComponent(here)}`);
}

/**
 * One call of a dialect below `/r/REALM`, as its own clients make it.
 * Throws a `Problem` that holds the dialect's own sentence.
 */
export async function callDialect<T>(
  realm: string,
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<T> {
  const response = await fetch(`/r/${encodeURIComponent(realm)}${path}`, {
    method,
    headers: {
      "Lakewarden-CSRF": csrf,
      Accept: "application/json",
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal,
  });
  noteRevision(response);
  await noteStaleSession(response);
  const text = await response.text();
  // Systems answer in plain text, too; a page is that of a proxy.
  const answer: unknown = text && !isPage(response) ? parsed(text) : undefined;
  if (response.status === 401) goToLogin();
  if (!response.ok) throw problemOf(answer, response.status);
  return answer as T;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Any failure as a problem: a server's own, a dialect's, or that nothing answered. */
export function problemOf(failure: unknown, status = 0): Problem {
  if (isRecord(failure) && typeof failure.detail === "string" && typeof failure.status === "number")
    return failure as unknown as Problem;
  if (isUnreachable(failure)) failure = undefined;
  const detail =
    (isRecord(failure) && (text(failure.message) ?? text(failure.error))) ||
    (typeof failure === "string" && failure) ||
    (status ? `the server answered ${String(status)}` : "the server cannot be reached now");
  return { type: "about:blank", title: detail, status, detail };
}

/** Whether nothing answered: each browser has words of its own for it. */
function isUnreachable(failure: unknown): boolean {
  return (
    failure instanceof TypeError &&
    /failed to fetch|networkerror|load failed|network error/i.test(failure.message)
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value ? value : undefined;
}
