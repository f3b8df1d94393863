import { useQuery } from "@tanstack/react-query";

import { $api, type Schemas } from "./client";

export type Realm = Schemas["RealmResponse"];

/** The realms that the caller may know of. */
export function useRealms() {
  return $api.useQuery("get", "/api/v1/realms", {}, { staleTime: 60_000 });
}

/** A realm by its name, of those that the caller may know of. */
export function useRealm(name: string | undefined): Realm | undefined {
  return useRealms().data?.realms.find((realm) => realm.name === name);
}

/** Realms that hold metadata: all but lakewarden's own. */
export function governed(realms: Realm[] | undefined): Realm[] {
  return (realms ?? []).filter((realm) => realm.name !== "_server");
}

interface Ready {
  status?: string;
  detail?: string;
  weak?: string[];
  warnings?: string[];
}

/** What `/readyz` says: how security is weakened, and what does not work now. */
export function useReadiness(): { weak: string[]; down: string } {
  const ready = useQuery({
    queryKey: ["readyz"],
    queryFn: async ({ signal }) => {
      const response = await fetch("/readyz", { signal, headers: { Accept: "application/json" } });
      return (await response.json()) as Ready;
    },
    refetchInterval: 30_000,
    retry: false,
  });
  const weak = ready.data?.weak ?? ready.data?.warnings ?? [];
  const down = ready.isError ? "The server cannot be reached now." : "";
  return { weak, down };
}
