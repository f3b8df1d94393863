import { $api } from "./client";

const SERVER = "server:lakewarden";

/**
 * The operations of lakewarden that the caller may use on a realm, or on the server.
 * The server stays the guard: this only spares buttons that would answer 403.
 */
export function useRights(realm?: string): { may: (operation: string) => boolean; known: boolean } {
  const entity = realm === undefined ? SERVER : `realm:${realm}`;
  const held = $api.useQuery(
    "post",
    "/api/v1/realms/{realm}/privileges",
    { params: { path: { realm: "_server" } }, body: { entity } },
    { staleTime: 60_000, retry: false, enabled: realm !== "" },
  );
  const operations = new Set(held.data?.operations ?? []);
  return { may: (operation) => operations.has(operation), known: held.isSuccess };
}

/** Whether the server offers a path of its API; the pages hide what it does not. */
export function useOffered(path: string, method = "get"): boolean {
  const described = $api.useQuery("get", "/openapi.json" as never, {} as never, {
    staleTime: Infinity,
  });
  const paths = (described.data as { paths?: Record<string, Record<string, unknown>> } | undefined)
    ?.paths;
  return Boolean(paths?.[`/api/v1${path}`]?.[method]);
}
