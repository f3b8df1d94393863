import { getRouteApi, Link } from "@tanstack/react-router";
import { useDeferredValue } from "react";

import { $api, api, problemOf } from "../../api/client";
import { choicesOf, governed, useRealms } from "../../api/server";
import { Filters, SelectField, TextField } from "../../parts/fields";
import { bare, Name, urnLabel } from "../../parts/name";
import { Card, Page } from "../../parts/page";
import { usePagedList } from "../../parts/paged";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { PagedTable, Table } from "../../parts/table";
import { t } from "../../words";

const route = getRouteApi("/people");
const MOST = 100;

/** People, groups and roles that a realm knows, as far as the caller may know of them. */
export default function People() {
  const search = route.useSearch();
  const { kind = "", q = "" } = search;
  const navigate = route.useNavigate();
  const realms = governed(useRealms().data?.realms);
  const realm = search.realm ?? realms[0]?.name ?? "";
  return (
    <Page title={t("People")}>
      <Filters>
        <SelectField
          label={t("Known in")}
          value={realm}
          options={choicesOf(realms)}
          onChange={(event) => {
            void navigate({ search: { ...search, realm: event.target.value } });
          }}
        />
        <TextField
          label={t("Name contains")}
          type="search"
          value={q}
          onChange={(event) => {
            void navigate({ search: { ...search, q: event.target.value }, replace: true });
          }}
        />
        <SelectField
          label={t("Kind")}
          value={kind}
          options={[
            ["", t("Any")],
            ["user", t("Users")],
            ["group", t("Groups")],
            ["role", t("Roles")],
          ]}
          onChange={(event) => {
            void navigate({ search: { ...search, kind: event.target.value || undefined } });
          }}
        />
      </Filters>
      {realm && <Known key={realm} realm={realm} kind={kindOf(kind)} q={q} />}
    </Page>
  );
}

type Kind = "user" | "group" | "role";

function kindOf(text: string): Kind | undefined {
  return text === "user" || text === "group" || text === "role" ? text : undefined;
}

/** Everybody whom the realm knows, for callers who may list them; others get search results. */
function Known({ realm, kind, q }: { realm: string; kind: Kind | undefined; q: string }) {
  const text = useDeferredValue(q.trim());
  const people = usePagedList(["principals", realm, kind, text], async (skip, limit, signal) => {
    const { data, error } = await api.GET("/api/v1/realms/{realm}/principals", {
      params: {
        path: { realm },
        query: { kind, q: text || undefined, "page.skip": skip, "page.limit": limit },
      },
      signal,
    });
    if (error) throw problemOf(error);
    return { rows: data.principals, total: data.total };
  });
  if (people.isPending) return <Loading rows={8} />;
  if (people.error) {
    const problem = problemOf(people.error);
    if (problem.status === 403)
      return <Found realm={realm} kinds={kind ?? "user,group,role"} q={q} />;
    return <ProblemView problem={problem} onRetry={people.refetch} />;
  }
  if (people.total === 0) return <Empty title={t("Nobody has such a name.")} />;
  return (
    <Card pad={false}>
      <PagedTable
        label={t("People")}
        list={people}
        rowKey={(one) => one}
        columns={[
          {
            key: "name",
            title: t("Name"),
            cell: (one) => (
              <Link to="/principal" search={{ realm, p: one }}>
                <Name text={urnLabel(bare(one))} />
              </Link>
            ),
          },
          { key: "kind", title: t("Kind"), cell: (one) => one.split(":")[0] },
        ]}
      />
    </Card>
  );
}

/** The results of a search by name. */
function Found({ realm, kinds, q }: { realm: string; kinds: string; q: string }) {
  const found = $api.useQuery(
    "get",
    "/api/v1/search",
    { params: { query: { q, kinds, realm, "page.limit": MOST } } },
    { placeholderData: (before) => before },
  );
  if (found.isPending) return <Loading rows={8} />;
  if (found.error)
    return <ProblemView problem={problemOf(found.error)} onRetry={() => void found.refetch()} />;
  if (found.data.total === 0)
    return <Empty title={t("Nobody that you may see has such a name.")} />;
  return (
    <Card pad={false}>
      <Table
        label={t("People")}
        rows={found.data.results}
        total={found.data.total}
        rowKey={(one) => `${one.kind} ${one.name}`}
        columns={[
          {
            key: "name",
            title: t("Name"),
            cell: (one) => (
              <Link to="/principal" search={{ realm, p: one.name }}>
                <Name text={one.label} />
              </Link>
            ),
          },
          { key: "kind", title: t("Kind"), cell: (one) => one.kind },
        ]}
      />
    </Card>
  );
}
