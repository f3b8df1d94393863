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

/** The CSRF token for every write; it comes with the session. */
export function rememberCsrf(token: string): void {
  csrf = token;
}

/** The newest revision that any response named. */
export const newestRevision = {
  get: (): number => revision,
  /** When a response first named it, in milliseconds since the epoch. */
  noticedAt: (): number => noticedAt,
  subscribe(listener: () => void): () => void {
    revisionListeners.add(listener);
    return () => revisionListeners.delete(listener);
  },
};

/** Listeners that reread the session when the server no longer accepts its token. */
export const staleSession = {
  listeners: new Set<() => void>(),
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  },
};

/** A 403 because of the token, not of rights: another tab has signed in meanwhile. */
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
 * Replaces a failure that is not a problem document of the server: without a body it would be read
 * as success, and an HTML page of a proxy is not a message.
 */
async function worded(response: Response): Promise<Response | undefined> {
  if (response.ok) return isPage(response) ? failed(0) : undefined;
  const text = isPage(response) ? "" : await response.clone().text();
  const isOurs = text !== "" && /\bjson\b/.test(response.headers.get("Content-Type") ?? "");
  return isOurs ? undefined : failed(response.status, text);
}

/** The problem as the server would word it; status 0 means no response. */
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

/**
 * Opens the login page, which leads back here. This tab keeps the fragment, which the server never
 * sees.
 */
export function goToLogin(): void {
  const here = location.pathname + location.search;
  rememberFragment(here, location.hash);
  location.assign(`/ui/login?to=${encodeURIComponent(here)}`);
}

/**
 * One call of a dialect below `/r/REALM`, as the dialect's own clients make it. Throws a `Problem`
 * with the dialect's own message.
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
  // Systems also answer in plain text; an HTML page comes from a proxy.
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

/** Any failure as a problem: the server's own, a dialect's, or no response. */
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

/** Whether there was no response: each browser words this differently. */
function isUnreachable(failure: unknown): boolean {
  return (
    failure instanceof TypeError &&
    /failed to fetch|networkerror|load failed|network error/i.test(failure.message)
  );
}

/** Whether the same request may succeed later: nothing is wrong with the request itself. */
export function mayPass({ status }: Problem): boolean {
  return status === 0 || status === 408 || status === 429 || status >= 500;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value ? value : undefined;
}
