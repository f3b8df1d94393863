import { Link } from "@tanstack/react-router";

import { problemOf } from "../../api/client";
import { useRealms, type Realm } from "../../api/server";
import { Card } from "../../parts/page";
import { Loading, ProblemView } from "../../parts/states";
import { Table } from "../../parts/table";
import { count, t } from "../../words";
import { RealmsFrame } from "./frame";

/** The realms that the caller may know of. */
export default function Realms() {
  const realms = useRealms();
  return (
    <RealmsFrame>
      {realms.isPending && <Loading />}
      {realms.error && (
        <ProblemView problem={problemOf(realms.error)} onRetry={() => void realms.refetch()} />
      )}
      {realms.data && (
        <Card pad={false}>
          <Table
            label={t("Realms")}
            rows={realms.data.realms}
            total={realms.data.realms.length}
            rowKey={(realm) => realm.name}
            columns={[
              {
                key: "name",
                title: t("Realm"),
                cell: (realm) => (
                  <Link to="/realm" search={{ name: realm.name }}>
                    {realm.name}
                  </Link>
                ),
              },
              { key: "system", title: t("System"), cell: (realm) => realm.title },
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
                cell: (realm) => figure(realm.entities),
              },
              {
                key: "statements",
                title: t("Statements"),
                number: true,
                cell: (realm) => figure(realm.statements),
              },
              {
                key: "settings",
                title: t("Settings"),
                minor: true,
                cell: (realm) => <code>{chosen(realm)}</code>,
              },
            ]}
          />
        </Card>
      )}
    </RealmsFrame>
  );
}

function figure(number: number | null | undefined): string {
  return number == null ? "–" : count(number);
}

function chosen(realm: Realm): string {
  return Object.entries(realm.settings)
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
}
