import { getRouteApi, Link } from "@tanstack/react-router";

import { $api, problemOf } from "../../api/client";
import { governed, useRealms } from "../../api/server";
import { buttonClass } from "../../parts/button";
import { bare, kindOf, Name } from "../../parts/name";
import { Beside, Card, Page, Tag } from "../../parts/page";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { Tabs } from "../../parts/tabs";
import { t } from "../../words";
import { StatementRows } from "../statements/rows";
import styles from "./principal.module.css";

const route = getRouteApi("/principal");

/** A person, group or role in one realm: what it belongs to, and what is said about it. */
export default function Principal() {
  const { realm, p } = route.useSearch();
  const realms = governed(useRealms().data?.realms);
  const here = realm ?? realms[0]?.name;
  if (!here || !p)
    return (
      <Page title={t("Person")}>
        <Empty title={t("The address names nobody.")}>
          <Link to="/people">{t("All people")}</Link>
        </Empty>
      </Page>
    );
  return (
    <Page
      title={bare(p)}
      heading={<Name text={bare(p)} />}
      where={<Link to="/people">{t("People")}</Link>}
      tags={<Tag>{kindOf(p)}</Tag>}
      acts={
        <Link className={buttonClass()} to="/ask/what" search={{ realm: here, who: p }}>
          {t("What may {name} do?", { name: bare(p) })}
        </Link>
      }
    >
      <Tabs label={t("Realms")}>
        {realms.map((one) => (
          <Link
            key={one.name}
            to="/principal"
            search={{ realm: one.name, p }}
            activeOptions={{ exact: true, includeSearch: true }}
          >
            {one.title || one.name}
          </Link>
        ))}
      </Tabs>
      <Beside side={<Memberships realm={here} principal={p} />}>
        <Card title={t("Statements that name {name}", { name: bare(p) })} pad={false}>
          <StatementRows key={`${here} ${p}`} realm={here} to={p} />
        </Card>
      </Beside>
    </Page>
  );
}

function Memberships({ realm, principal }: { realm: string; principal: string }) {
  const rows = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/memberships",
    { params: { path: { realm }, query: { "page.limit": 1000 } } },
    { retry: false },
  );
  if (rows.isPending) return <Loading />;
  if (rows.error) return <ProblemView problem={problemOf(rows.error)} />;
  const of = rows.data.memberships.filter((row) => row.member === principal);
  const members = rows.data.memberships.filter((row) => row.of === principal);
  return (
    <>
      <Card title={t("Belongs to")}>
        <Names realm={realm} names={of.map((row) => row.of)} none={t("Belongs to nothing yet.")} />
      </Card>
      {kindOf(principal) !== "user" && (
        <Card title={t("Members")} note={String(members.length)}>
          <Names realm={realm} names={members.map((row) => row.member)} none={t("Nobody yet.")} />
        </Card>
      )}
    </>
  );
}

function Names({ realm, names, none }: { realm: string; names: string[]; none: string }) {
  if (names.length === 0) return <p className={styles.none}>{none}</p>;
  return (
    <ul className={styles.names}>
      {names.map((name) => (
        <li key={name}>
          <Link to="/principal" search={{ realm, p: name }}>
            <Name text={bare(name)} />
          </Link>{" "}
          <span className={styles.none}>{kindOf(name)}</span>
        </li>
      ))}
    </ul>
  );
}
