import type { Choice } from "../parts/picker";
import { bare } from "../parts/name";
import { api, type Schemas } from "./client";

const MOST = 12;

/** Suggests people and groups, or entities (of some types), whose name contains the text. */
export function suggest(
  kinds: "user,group,role" | "user,group" | "user" | "entity",
  realm?: string,
  types: string[] = [],
) {
  return async (text: string, signal?: AbortSignal): Promise<Choice[]> => {
    const query = { q: bare(text) || text, kinds, realm, types: types.join(",") || undefined };
    const { data } = await api.GET("/api/v1/search", {
      params: { query: { ...query, "page.limit": MOST } },
      signal,
    });
    return (data?.results ?? []).map((one) => ({
      value: one.name,
      label: one.label || bare(one.name),
      note: [one.type, one.in].filter(Boolean).join(", "),
    }));
  };
}

/** Suggests operations of a realm's model by their name or title. */
export function suggestOperation(vocabulary: Schemas["Vocabulary"] | undefined) {
  return (text: string): Promise<Choice[]> => {
    const wanted = text.toLowerCase();
    const found = (vocabulary?.operations ?? []).filter(
      (one) => one.name.includes(wanted) || one.title.toLowerCase().includes(wanted),
    );
    return Promise.resolve(
      found.slice(0, 40).map((one) => ({ value: one.name, label: one.title, note: one.name })),
    );
  };
}
