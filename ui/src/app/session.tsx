import { useQueryClient } from "@tanstack/react-query";
import { createContext, useContext, useEffect, useState, type ReactNode } from "react";

import {
  $api,
  api,
  goToLogin,
  problemOf,
  rememberCsrf,
  staleSession,
  type Schemas,
} from "../api/client";
import { claimDrafts } from "../parts/draft";
import { Loading, ProblemView } from "../parts/states";
import { say } from "../parts/toast";
import { t } from "../words";

export type Session = Schemas["SessionResponse"];

const Context = createContext<Session | null>(null);

/** Who is signed in. Only below `SessionGate`. */
export function useSession(): Session {
  const session = useContext(Context);
  if (session === null) throw new Error("no session");
  return session;
}

/** The principal that the session's questions are about: `user:NAME`. */
export function useMe(): string {
  return `user:${useSession().user}`;
}

/**
 * Shows the pages to a user who is signed in, and the login page otherwise. If another tab signs in
 * meanwhile, its session's token is taken over; for another user the pages start anew.
 */
export function SessionGate({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const session = $api.useQuery(
    "get",
    "/api/v1/session",
    {},
    { retry: false, staleTime: 300_000, refetchOnWindowFocus: "always" },
  );
  const problem = session.error ? problemOf(session.error) : null;
  const { data, refetch } = session;
  const who = data && JSON.stringify([data.user, data.directory, data.realm]);
  const [first, setFirst] = useState<string>();
  if (first === undefined && who !== undefined) {
    claimDrafts(who);
    setFirst(who);
  }
  const isOther = first !== undefined && who !== undefined && first !== who;
  useEffect(() => {
    if (isOther) location.reload();
  }, [isOther]);
  const before = data?.csrf;
  useEffect(
    () =>
      staleSession.subscribe(() => {
        void refetch({ cancelRefetch: false }).then(({ data: now }) => {
          if (!now || now.csrf === before) return;
          rememberCsrf(now.csrf);
          void queries.invalidateQueries();
        });
      }),
    [queries, refetch, before],
  );
  useEffect(() => {
    if (problem?.status === 401) goToLogin();
  }, [problem?.status]);
  if (isOther) return <Loading />;
  if (session.data) {
    rememberCsrf(session.data.csrf);
    return <Context value={session.data}>{children}</Context>;
  }
  if (problem && problem.status !== 401)
    return <ProblemView problem={problem} onRetry={() => void session.refetch()} />;
  return <Loading />;
}

/** Ends the session and opens the login page; reports if the session could not be ended. */
export function useLogout(): () => void {
  const client = useQueryClient();
  const end = async () => {
    const { error, response } = await api.DELETE("/api/v1/session");
    if (error && response.status !== 401) throw problemOf(error) as unknown as Error;
    client.clear();
    location.assign("/ui/login");
  };
  return () => {
    void end().catch((failure: unknown) => {
      say(t("You are still signed in: {why}", { why: problemOf(failure).detail }));
    });
  };
}
