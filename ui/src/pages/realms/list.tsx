import { Link } from "@tanstack/react-router";

import { $api, problemOf } from "../../api/client";
import { useRights } from "../../api/rights";
import { useRealms } from "../../api/server";
import { Name } from "../../parts/name";
import { Card, Page } from "../../parts/page";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { Table } from "../../parts/table";
import { count, t } from "../../words";

/** The realms, their settings, and what is linked between them. */
export default function Realms() {
  const realms = useRealms();
  return (
    <Page title={t("Realms and links")}>
      {realms.isPending && <Loading />}
      {realms.error && <ProblemView problem={problemOf(realms.error)} />}
      {realms.data && (
        <Card pad={false}>
          <Table
            label={t("Realms")}
            rows={realms.data.realms}
            rowKey={(realm) => realm.name}
            columns={[
              {
                key: "name",
                title: t("Realm"),
                cell: (realm) => (
                  <Link to="/r/$realm/statements" params={{ realm: realm.name }}>
                    {realm.name}
                  </Link>
                ),
              },
              { key: "system", title: t("System"), cell: (realm) => realm.title },
              {
                key: "model",
                title: t("Model"),
                minor: true,
                cell: (realm) => <code>{realm.model}</code>,
              },
              {
                key: "people",
                title: t("Directory"),
                minor: true,
                cell: (realm) => realm.directory,
              },
              {
                key: "entities",
                title: t("Entities"),
                number: true,
                cell: (realm) => (realm.entities == null ? "–" : count(realm.entities)),
              },
              {
                key: "statements",
                title: t("Statements"),
                number: true,
                cell: (realm) => (realm.statements == null ? "–" : count(realm.statements)),
              },
              {
                key: "settings",
                title: t("Settings"),
                minor: true,
                cell: (realm) => (
                  <code>
                    {Object.entries(realm.settings)
                      .filter(([, value]) => value !== "")
                      .map(([name, value]) => `${name}=${value}`)
                      .join(" ")}
                  </code>
                ),
              },
            ]}
          />
        </Card>
      )}
      <Links />
    </Page>
  );
}

function Links() {
  const rights = useRights();
  const links = $api.useQuery(
    "get",
    "/api/v1/links",
    { params: { query: { "page.limit": 200 } } },
    { retry: false, enabled: rights.known },
  );
  if (links.error) return <ProblemView problem={problemOf(links.error)} />;
  if (!links.data) return null;
  return (
    <Card title={t("Links")} note={t("what is the same in two realms")} pad={false}>
      {links.data.links.length === 0 ? (
        <Empty title={t("Nothing is linked yet.")}>
          <code>{"lakewarden pipeline link --help"}</code>
        </Empty>
      ) : (
        <Table
          label={t("Links")}
          rows={links.data.links}
          total={links.data.total}
          rowKey={(one) => JSON.stringify(one)}
          columns={[
            { key: "one", title: t("One"), cell: (one) => <End end={one.one} /> },
            { key: "other", title: t("Other"), cell: (one) => <End end={one.other} /> },
            { key: "keeper", title: t("Kept by"), minor: true, cell: (one) => one.keeper },
          ]}
        />
      )}
    </Card>
  );
}

function End({ end }: { end: { realm: string; entity: string } }) {
  return (
    <Link to="/asset" search={{ realm: end.realm, e: end.entity }}>
      {end.realm} <Name text={end.entity} cut={64} />
    </Link>
  );
}
