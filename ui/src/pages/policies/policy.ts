import { queryOptions } from "@tanstack/react-query";

import { api, callDialect, problemOf, type Problem } from "../../api/client";
import type { Draft } from "../../parts/effect";
import { urnLabel } from "../../parts/name";

/** A criterion of a filter, as DataHub stores it; unnamed members are kept. */
export interface Criterion {
  field: string;
  condition?: string;
  values: string[];
  [other: string]: unknown;
}

/** Criteria joined by *and*. */
export interface Match {
  criteria?: Criterion[];
  [other: string]: unknown;
}

export interface Actors {
  users?: string[];
  groups?: string[];
  roles?: string[];
  allUsers?: boolean;
  allGroups?: boolean;
  resourceOwners?: boolean;
  resourceOwnersTypes?: string[] | null;
  [other: string]: unknown;
}

export interface Resources {
  type?: string | null;
  resources?: string[] | null;
  allResources?: boolean;
  filter?: Match | null;
  privilegeConstraints?: Match | null;
  [other: string]: unknown;
}

/**
 * The aspect `dataHubPolicyInfo`. The editor changes members of the stored value, so a save keeps
 * the members that it does not show.
 */
export interface PolicyInfo {
  displayName: string;
  description?: string;
  type: string;
  state: string;
  privileges: string[];
  actors?: Actors;
  resources?: Resources | null;
  editable?: boolean;
  [other: string]: unknown;
}

/** A row of the list. */
export interface Listed {
  urn: string;
  name: string;
  description?: string;
  type: string;
  state: string;
  editable: boolean;
  privileges: string[];
  actors: Actors;
}

export const CONDITIONS = ["EQUALS", "NOT_EQUALS", "STARTS_WITH"] as const;

/** The kinds of actors, and DataHub's spelling of them. */
export const ACTOR_URNS = {
  users: "urn:li:corpuser:",
  groups: "urn:li:corpGroup:",
  roles: "urn:li:dataHubRole:",
} as const;

export const EMPTY: PolicyInfo = {
  displayName: "",
  description: "",
  type: "METADATA",
  state: "INACTIVE",
  privileges: [],
  actors: {
    users: [],
    groups: [],
    roles: [],
    allUsers: false,
    allGroups: false,
    resourceOwners: false,
  },
  resources: { allResources: true },
  editable: true,
};

interface Answer<Data> {
  data?: Data | null;
  errors?: { message: string; extensions?: { code?: number } }[];
}

/** Sends a GraphQL document to the realm's DataHub endpoint. Throws a `Problem`. */
export async function graphql<Data>(
  realm: string,
  query: string,
  variables: Record<string, unknown>,
  signal?: AbortSignal,
): Promise<Data> {
  const body = { query, variables };
  const answer = await callDialect<Answer<Data>>(realm, "POST", "/api/graphql", body, signal);
  const failure = answer.errors?.[0];
  if (failure || !answer.data) {
    const detail = failure?.message ?? "the server gave no answer";
    const status = failure?.extensions?.code ?? 0;
    throw { type: "about:blank", title: detail, status, detail } satisfies Problem;
  }
  return answer.data;
}

const LIST = `query ($input: ListPoliciesInput!) {
  listPolicies(input: $input) {
    total
    policies {
      urn name description type state editable privileges
      actors { users groups roles allUsers allGroups resourceOwners resourceOwnersTypes }
    }
  }
}`;

/** A page of the policies with these words in name or description, and in this state. */
export async function policies(
  realm: string,
  q: string,
  state: string,
  start: number,
  size: number,
  signal: AbortSignal,
): Promise<{ total: number; policies: Listed[] }> {
  const orFilters = state ? [{ and: [{ field: "state", values: [state] }] }] : undefined;
  const input = { start, count: size, query: q || undefined, orFilters };
  const data = await graphql<{ listPolicies: { total: number; policies: Listed[] } }>(
    realm,
    LIST,
    { input },
    signal,
  );
  return data.listPolicies;
}

/** A policy as it was read. The version shows whether it has been changed since. */
export interface Stored {
  info: PolicyInfo;
  version: string;
}

/** The version of a policy that is not stored. */
export const NO_VERSION = "-1";

const path = (urn: string) => `/openapi/v3/entity/dataHubPolicy/${encodeURIComponent(urn)}`;

/** A whole policy. Throws a `Problem`, with 404 if there is none. */
export async function read(realm: string, urn: string, signal?: AbortSignal): Promise<Stored> {
  const { data, error } = await api.GET("/api/v1/realms/{realm}/statements/{id}/document", {
    params: { path: { realm, id: urn } },
    signal,
  });
  if (error) throw problemOf(error) as unknown as Error;
  return { info: data.value as unknown as PolicyInfo, version: data.version };
}

/** A query for a whole policy. */
export function policy(realm: string, urn: string) {
  return queryOptions({
    queryKey: ["policy", realm, urn],
    queryFn: ({ signal }) => read(realm, urn, signal),
    enabled: urn !== "",
    retry: false,
    staleTime: 0,
  });
}

/**
 * Stores a policy over the version that was read; a new one gets a URN, which is returned. Throws a
 * `Problem`, with 412 if the policy has been changed since.
 */
export async function save(
  realm: string,
  urn: string,
  info: PolicyInfo,
  version: string,
): Promise<string> {
  const to = urn || `urn:li:dataHubPolicy:${newId()}`;
  const value = { ...info, lastUpdatedTimestamp: Date.now() };
  const at = `${path(to)}/dataHubPolicyInfo?createIfNotExists=false`;
  await callDialect<unknown>(realm, "POST", at, {
    value,
    headers: { "If-Version-Match": version },
  });
  return to;
}

/** A random UUID; `crypto.randomUUID` is missing over plain HTTP. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const text = Array.from(bytes, (one) => one.toString(16).padStart(2, "0")).join("");
  return text.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** Removes a policy; one that came with the system does not come back. */
export async function remove(realm: string, urn: string): Promise<void> {
  await graphql(realm, "mutation ($urn: String!) { deletePolicy(urn: $urn) }", { urn });
}

/** The numbers of the actors, or that it is all of them. */
export function whom(actors: Actors | undefined): string[] {
  if (!actors) return [];
  const named = (["users", "groups", "roles"] as const).flatMap((kind) => actors[kind] ?? []);
  return [
    ...(actors.allUsers ? ["all users"] : []),
    ...(actors.allGroups ? ["all groups"] : []),
    ...(actors.resourceOwners ? ["owners"] : []),
    ...named.map(urnLabel),
  ];
}

/** The resources with another filter; removing one that never existed adds no null. */
export function withMatch(
  resources: Resources,
  key: "filter" | "privilegeConstraints",
  match: Match | null,
  base: Resources,
): Resources {
  const leaves = match === null && base[key] === undefined;
  return { ...resources, [key]: leaves ? undefined : match };
}

/** A policy as a DataHub metadata file: one change proposal. */
export function asFile(urn: string, info: PolicyInfo): string {
  const proposal = {
    entityType: "dataHubPolicy",
    entityUrn: urn || "urn:li:dataHubPolicy:new",
    changeType: "UPSERT",
    aspectName: "dataHubPolicyInfo",
    aspect: { json: info },
  };
  return JSON.stringify([proposal], null, 2);
}

/** A policy as a draft that the server tries. */
export function drafted(urn: string, info: PolicyInfo): Draft {
  return { policies: { put: [{ name: urn || "urn:li:dataHubPolicy:new", value: info }] } };
}
