import { queryOptions, useQueries, useQuery } from "@tanstack/react-query";

import { $api, callDialect } from "./client";
import { governed, useRealms } from "./server";

const SERVER = "server:lakewarden";

/**
 * The operations of lakewarden that the caller may use on a realm, or on the server. The server
 * enforces them: this only hides buttons that would return 403.
 */
export function useRights(realm?: string): { may: (operation: string) => boolean; known: boolean } {
  const held = useQuery(rightsOn(realm));
  const operations = new Set(held.data?.operations ?? []);
  return { may: (operation) => operations.has(operation), known: held.isSuccess };
}

/** The same for several realms. */
export function useRightsIn(realms: string[]): (realm: string, operation: string) => boolean {
  const held = useQueries({ queries: realms.map(rightsOn) });
  const operations = new Map(
    realms.map((realm, place) => [realm, new Set(held[place]?.data?.operations ?? [])]),
  );
  return (realm, operation) => operations.get(realm)?.has(operation) ?? false;
}

/** Whether the caller may use an operation in any realm. */
export function useRightsAnywhere(): (operation: string) => boolean {
  const realms = governed(useRealms().data?.realms).map((one) => one.name);
  const may = useRightsIn(realms);
  return (operation) => realms.some((realm) => may(realm, operation));
}

function rightsOn(realm?: string) {
  const entity = realm === undefined ? SERVER : `realm:${realm}`;
  return $api.queryOptions(
    "post",
    "/api/v1/realms/{realm}/privileges",
    { params: { path: { realm: "_server" } }, body: { entity } },
    { staleTime: 60_000, retry: false, enabled: realm !== "" },
  );
}

/** The operations that the caller may use on an entity by the rules of its own realm. */
export function useOwnOperations(realm: string, entity: string) {
  return $api.useQuery(
    "post",
    "/api/v1/realms/{realm}/privileges",
    { params: { path: { realm } }, body: { entity } },
    { staleTime: 60_000, retry: false, enabled: entity !== "" },
  );
}

/** What the caller may do on an entity by the rules of its own realm, as an owner or delegate. */
export function useHeld(realm: string, entity: string): (operation: string) => boolean {
  const operations = new Set(useOwnOperations(realm, entity).data?.operations ?? []);
  return (operation) => operations.has(operation);
}

interface Me {
  data?: { me?: { platformPrivileges?: { managePolicies?: boolean } } };
}

/** Whether the caller may manage the policies of a realm of DataHub, as its own frontend asks. */
export function managesPolicies(realm: string) {
  return queryOptions({
    queryKey: ["manages policies", realm],
    queryFn: async ({ signal }) => {
      const query = "{ me { platformPrivileges { managePolicies } } }";
      const answer = await callDialect<Me>(realm, "POST", "/api/graphql", { query }, signal);
      return answer.data?.me?.platformPrivileges?.managePolicies ?? false;
    },
    staleTime: 60_000,
    retry: false,
  });
}

/** Whether the server has a path of its API; the pages hide what it lacks. */
export function useOffered(path: string, method = "get"): boolean {
  const described = $api.useQuery("get", "/openapi.json" as never, {} as never, {
    staleTime: Infinity,
  });
  const paths = (described.data as { paths?: Record<string, Record<string, unknown>> } | undefined)
    ?.paths;
  return Boolean(paths?.[`/api/v1${path}`]?.[method]);
}
