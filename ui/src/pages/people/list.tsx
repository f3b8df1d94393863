import { getRouteApi, Link } from "@tanstack/react-router";

import { $api, problemOf } from "../../api/client";
import { governed, useRealms } from "../../api/server";
import { Filters, SelectField, TextField } from "../../parts/fields";
import { Name } from "../../parts/name";
import { Card, Page } from "../../parts/page";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { Table } from "../../parts/table";
import { t } from "../../words";

const route = getRouteApi("/people");
const MOST = 100;

/** People, groups and roles by name, as far as one may know of them. */
export default function People() {
  const { kind = "user,group,role", q = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const first = governed(useRealms().data?.realms)[0]?.name;
  const found = $api.useQuery(
    "get",
    "/api/v1/search",
    { params: { query: { q, kinds: kind, "page.limit": MOST } } },
    { placeholderData: (before) => before },
  );
  return (
    <Page title={t("People")}>
      <Filters>
        <TextField
          label={t("Name holds")}
          value={q}
          onChange={(event) => {
            void navigate({ search: { kind, q: event.target.value }, replace: true });
          }}
        />
        <SelectField
          label={t("Kind")}
          value={kind}
          options={[
            ["user,group,role", t("All")],
            ["user", t("Users")],
            ["group", t("Groups")],
            ["role", t("Roles")],
          ]}
          onChange={(event) => {
            void navigate({ search: { kind: event.target.value, q } });
          }}
        />
      </Filters>
      {found.isPending && <Loading rows={8} />}
      {found.error && (
        <ProblemView problem={problemOf(found.error)} onRetry={() => void found.refetch()} />
      )}
      {found.data?.total === 0 && <Empty title={t("Nobody that you may see has such a name.")} />}
      {!!found.data?.total && (
        <Card pad={false}>
          <Table
            label={t("People")}
            rows={found.data.results}
            total={found.data.total}
            rowKey={(one) => `${one.realm} ${one.name}`}
            columns={[
              {
                key: "name",
                title: t("Name"),
                cell: (one) => (
                  <Link to="/principal" search={{ realm: one.realm || first, p: one.name }}>
                    <Name text={one.label} />
                  </Link>
                ),
              },
              { key: "kind", title: t("Kind"), cell: (one) => one.kind },
              {
                key: "realm",
                title: t("Known in"),
                minor: true,
                cell: (one) => (one.kind === "role" ? one.realm : t("the directory")),
              },
            ]}
          />
        </Card>
      )}
    </Page>
  );
}
