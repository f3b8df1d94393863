import { infiniteQueryOptions } from "@tanstack/react-query";

import { api, problemOf } from "../../api/client";
import type { Word } from "../../parts/sentence";
import { policies, whom } from "./policy";

/** The filters and the sort order of the list; absent: none. */
export interface Wanted {
  q?: string;
  state?: string;
  type?: string;
  actor?: string;
  privilege?: string;
  about?: string;
  sort?: string;
}

/** A row of the list. The sentence is present if the caller may read the realm's statements. */
export interface Row {
  urn: string;
  name: string;
  words?: Word[];
  description?: string;
  isActive: boolean;
  isEditable: boolean;
  who?: string[];
}

interface Rows {
  rows: Row[];
  total: number;
}

export const PAGE = 100;
const PREFIX = "urn:li:dataHubPolicy:";

/**
 * The policies, page by page. They are statements of the realm; a caller who may manage policies
 * but not read statements sees them as DataHub lists them, without sentences and with fewer
 * filters.
 */
export function policyRows(realm: string, wanted: Wanted, readsStatements: boolean) {
  return infiniteQueryOptions({
    queryKey: ["policies", realm, wanted, readsStatements],
    queryFn: ({ pageParam, signal }) =>
      readsStatements
        ? ofStatements(realm, wanted, pageParam, signal)
        : ofDataHub(realm, wanted, pageParam, signal),
    initialPageParam: 0,
    getNextPageParam: (last: Rows, all: Rows[]) => {
      const shown = all.reduce((sum, one) => sum + one.rows.length, 0);
      return last.rows.length > 0 && shown < last.total ? shown : undefined;
    },
    placeholderData: (before) => before,
    retry: false,
  });
}

/** The query of `/statements` for a page of the list. */
function asked(wanted: Wanted, skip: number) {
  const { q, state, type, actor, privilege, about, sort } = wanted;
  return {
    id_prefix: PREFIX,
    q,
    active: state ? (state === "ACTIVE" ? ("true" as const) : ("false" as const)) : undefined,
    scope: type ? (type === "PLATFORM" ? ("system" as const) : ("entities" as const)) : undefined,
    to: actor,
    privilege,
    reaching: about,
    sort: sort === "-title" ? ("-title" as const) : ("title" as const),
    "page.limit": PAGE,
    "page.skip": skip,
  };
}

async function ofStatements(
  realm: string,
  wanted: Wanted,
  skip: number,
  signal: AbortSignal,
): Promise<Rows> {
  const { data, error } = await api.GET("/api/v1/realms/{realm}/statements", {
    params: { path: { realm }, query: asked(wanted, skip) },
    signal,
  });
  if (error) throw problemOf(error) as unknown as Error;
  const rows = data.statements.map((one) => ({
    urn: one.id,
    name: one.title || one.id,
    words: one.words,
    isActive: one.active ?? true,
    isEditable: one.editable ?? true,
  }));
  return { rows, total: data.total };
}

async function ofDataHub(
  realm: string,
  wanted: Wanted,
  skip: number,
  signal: AbortSignal,
): Promise<Rows> {
  const found = await policies(realm, wanted.q ?? "", wanted.state ?? "", skip, PAGE, signal);
  const rows = found.policies.map((one) => ({
    urn: one.urn,
    name: one.name || one.urn,
    description: one.description,
    isActive: one.state === "ACTIVE",
    isEditable: one.editable,
    who: whom(one.actors),
  }));
  return { rows, total: found.total };
}

/** How far the policies of one page reach, by URN; slower than the page itself. */
export async function reachOf(
  realm: string,
  wanted: Wanted,
  skip: number,
  signal: AbortSignal,
): Promise<Map<string, { users: number; entities: number }>> {
  const { data, error } = await api.GET("/api/v1/realms/{realm}/statements", {
    params: { path: { realm }, query: { ...asked(wanted, skip), fields: "reach" } },
    signal,
  });
  if (error) throw problemOf(error) as unknown as Error;
  return new Map(data.statements.flatMap((one) => (one.reach ? [[one.id, one.reach]] : [])));
}
