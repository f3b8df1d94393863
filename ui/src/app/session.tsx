import { useQueryClient } from "@tanstack/react-query";
import { createContext, useContext, useEffect, type ReactNode } from "react";

import { $api, api, goToLogin, problemOf, rememberCsrf, type Schemas } from "../api/client";
import { Loading, ProblemView } from "../parts/states";

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

/** Shows the pages to whoever is signed in, and the log-in page to others. */
export function SessionGate({ children }: { children: ReactNode }) {
  const session = $api.useQuery("get", "/api/v1/session", {}, { retry: false, staleTime: 300_000 });
  const problem = session.error ? problemOf(session.error) : null;
  useEffect(() => {
    if (problem?.status === 401) goToLogin();
  }, [problem?.status]);
  if (session.data) {
    rememberCsrf(session.data.csrf);
    return <Context value={session.data}>{children}</Context>;
  }
  if (problem && problem.status !== 401)
    return <ProblemView problem={problem} onRetry={() => void session.refetch()} />;
  return <Loading />;
}

/** Ends the session and opens the log-in page. */
export function useLogout(): () => void {
  const client = useQueryClient();
  return () => {
    void api.DELETE("/api/v1/session").then(() => {
      client.clear();
      location.assign("/ui/login");
    });
  };
}
