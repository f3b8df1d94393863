import { api, problemOf, type Schemas } from "./client";
import type { paths } from "./schema";

type Query = paths["/api/v1/realms/{realm}/statements"]["get"]["parameters"]["query"];

/** All statements that a query finds, page by page; throws the problem of a failed page. */
export async function everyStatement(
  realm: string,
  query: Query,
  signal: AbortSignal,
): Promise<Schemas["StatementRow"][]> {
  const found: Schemas["StatementRow"][] = [];
  let token: string | undefined;
  do {
    const { data, error } = await api.GET("/api/v1/realms/{realm}/statements", {
      params: { path: { realm }, query: { ...query, "page.limit": 1000, "page.token": token } },
      signal,
    });
    if (error) throw problemOf(error) as unknown as Error;
    found.push(...data.statements);
    token = data.page?.next_token || undefined;
  } while (token);
  return found;
}
