import { useQuery } from "@tanstack/react-query";

import { $api, type Schemas } from "./client";
import { FRAME } from "./unread";

export type Realm = Schemas["RealmResponse"];

/** The realms that the caller may know of. */
export function useRealms() {
  return $api.useQuery("get", "/api/v1/realms", {}, { staleTime: 60_000, meta: FRAME });
}

/** The words of a realm's model: its operations, privileges and settings. */
export function useVocabulary(realm: string) {
  return $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/operations",
    { params: { path: { realm } } },
    { staleTime: 300_000, enabled: realm !== "", meta: FRAME },
  );
}

/** A realm by its name, if the caller may know of it. */
export function useRealm(name: string | undefined): Realm | undefined {
  return useRealms().data?.realms.find((realm) => realm.name === name);
}

type Named = Pick<Realm, "name" | "title">;

/** The title of a realm among others: its system, with its name if several have that system. */
export function titleOf(realm: Named, realms: Named[]): string {
  if (!realm.title) return realm.name;
  const isAlone = realms.every((one) => one.name === realm.name || one.title !== realm.title);
  return isAlone ? realm.title : `${realm.title} (${realm.name})`;
}

/** The realms as the choices of a field. */
export function choicesOf(realms: Realm[]): [string, string][] {
  return realms.map((one) => [one.name, titleOf(one, realms)]);
}

/** The title of a realm by its name, if the caller may know of it. */
export function useTitleOf(): (name: string) => string {
  const realms = useRealms().data?.realms ?? [];
  return (name) => {
    const found = realms.find((one) => one.name === name);
    return found ? titleOf(found, realms) : name;
  };
}

/** Realms that hold metadata: all but lakewarden's own. */
export function governed(realms: Realm[] | undefined): Realm[] {
  return (realms ?? []).filter((realm) => realm.name !== "_server");
}

interface Ready {
  status?: string;
  warnings?: string[];
}

const DOWN: Record<string, string> = {
  starting: "The server is starting: it answers nothing yet.",
  "store unavailable": "The server cannot reach its database: changes fail, answers may be old.",
  "writes fail": "Changes fail now: the database cannot be written.",
};

/** What is down, by the response of `/readyz`; empty if nothing is. */
export function downBy(isReady: boolean, status = ""): string {
  if (isReady) return "";
  return DOWN[status] ?? "The server is not ready.";
}

/** What `/readyz` says: how security is weakened, and what is down. */
export function useReadiness(): { weak: string[]; down: string } {
  const ready = useQuery({
    queryKey: ["readyz"],
    queryFn: async ({ signal }) => {
      const response = await fetch("/readyz", { signal, headers: { Accept: "application/json" } });
      const ready = (await response.json()) as Ready;
      return { ...ready, down: downBy(response.ok, ready.status) };
    },
    refetchInterval: 30_000,
    retry: false,
  });
  const weak = ready.data?.warnings ?? [];
  const down = ready.isError ? "The server cannot be reached now." : (ready.data?.down ?? "");
  return { weak, down };
}
