import { queryOptions, useQueries, useQuery } from "@tanstack/react-query";

import { useMe } from "../app/session";
import { $api, callDialect } from "./client";
import { governed, useRealms } from "./server";
import { FRAME } from "./unread";

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

/**
 * Whether the caller may read the statements of a realm. Those of lakewarden itself take a right of
 * their own.
 */
export function useReadsStatements(): (realm: string) => boolean {
  const isServerReader = useRights().may("grant.list");
  const realms = governed(useRealms().data?.realms).map((one) => one.name);
  const may = useRightsIn(realms);
  return (realm) => (realm === "_server" ? isServerReader : may(realm, "statement.list"));
}

function rightsOn(realm?: string) {
  const entity = realm === undefined ? SERVER : `realm:${realm}`;
  return $api.queryOptions(
    "post",
    "/api/v1/realms/{realm}/privileges",
    { params: { path: { realm: "_server" } }, body: { entity } },
    { staleTime: 60_000, enabled: realm !== "", meta: FRAME },
  );
}

/** The operations that the caller may use on an entity by the rules of its own realm. */
export function useOwnOperations(realm: string, entity: string) {
  return $api.useQuery(
    "post",
    "/api/v1/realms/{realm}/privileges",
    { params: { path: { realm } }, body: { entity } },
    { staleTime: 60_000, enabled: entity !== "", meta: FRAME },
  );
}

/** What the caller may do on an entity by the rules of its own realm, as an owner or delegate. */
export function useHeld(realm: string, entity: string): (operation: string) => boolean {
  const operations = new Set(useOwnOperations(realm, entity).data?.operations ?? []);
  return (operation) => operations.has(operation);
}

const MOST = 1_000;

/**
 * On which entities of a realm the caller may do an operation by the rules of the realm, for pages
 * that offer it before an entity is chosen.
 */
export function useMayOn(realm: string, operation: string) {
  const principal = useMe();
  const listed = $api.useQuery(
    "post",
    "/api/v1/realms/{realm}/list",
    { params: { path: { realm } }, body: { principal, operation, page: { limit: MOST } } },
    { staleTime: 60_000, meta: FRAME },
  );
  const entities = listed.data?.entities.map(({ type, name }) => `${type}:${name}`) ?? [];
  return { entities, isCut: entities.length < (listed.data?.total ?? 0) };
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
    meta: FRAME,
  });
}

/** Whether the server has a path of its API; the pages hide what it lacks. */
export function useOffered(path: string, method = "get"): boolean {
  const described = $api.useQuery("get", "/openapi.json" as never, {} as never, {
    staleTime: Infinity,
    meta: FRAME,
  });
  const paths = (described.data as { paths?: Record<string, Record<string, unknown>> } | undefined)
    ?.paths;
  return Boolean(paths?.[`/api/v1${path}`]?.[method]);
}
