import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { $api, problemOf, type Schemas } from "../../api/client";
import { useRights } from "../../api/rights";
import { governed, titleOf, useRealms } from "../../api/server";
import { useKeys } from "../../parts/keys";
import { Button, buttonClass } from "../../parts/button";
import { Drawer } from "../../parts/drawer";
import { EffectCard, useEffectOf } from "../../parts/effect";
import { History } from "../../parts/history";
import { bare, kindOf, Name, shortened } from "../../parts/name";
import { Beside, Card, Page, Tag } from "../../parts/page";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { Tabs } from "../../parts/tabs";
import { count, t } from "../../words";
import { StatementRows } from "../statements/rows";
import styles from "./principal.module.css";

const route = getRouteApi("/principal");

/** A person, group or role in one realm: its memberships, and the statements about it. */
export default function Principal() {
  const { realm, p } = route.useSearch();
  const realms = governed(useRealms().data?.realms);
  const here = realm ?? realms[0]?.name;
  const navigate = useNavigate();
  useKeys({
    c: () => {
      if (here && p) void navigate({ to: "/ask/compare", search: { realm: here, a: p } });
    },
  });
  if (!here || !p)
    return (
      <Page title={t("Person")}>
        <Empty title={t("The address does not name a user.")}>
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
        <>
          <Link className={buttonClass()} to="/ask/compare" search={{ realm: here, a: p }}>
            {t("Compare")}
          </Link>
          <Link className={buttonClass()} to="/ask/what" search={{ realm: here, who: p }}>
            {t("What may {name} do?", { name: shortened(bare(p), 40) })}
          </Link>
        </>
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
            {titleOf(one, realms)}
          </Link>
        ))}
      </Tabs>
      <Summary key={`${here} ${p}`} realm={here} principal={p} />
    </Page>
  );
}

function Summary({ realm, principal }: { realm: string; principal: string }) {
  const told = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/principal",
    { params: { path: { realm }, query: { p: principal } } },
    { retry: false },
  );
  const reads = useRights(realm).may("statement.list");
  if (told.isPending) return <Loading rows={6} />;
  if (told.error)
    return <ProblemView problem={problemOf(told.error)} onRetry={() => void told.refetch()} />;
  const { data } = told;
  return (
    <Beside
      side={
        <>
          <Belongs realm={realm} summary={data} />
          <Owned realm={realm} summary={data} />
          <History realm={realm} about={{ principal: data.principal }} />
        </>
      }
    >
      <Reaches realm={realm} summary={data} />
      {reads && (
        <Card
          title={t("Statements that name {name}", { name: shortened(bare(principal), 40) })}
          note={t("{n} with its groups and roles", { n: count(data.statements.length) })}
          pad={false}
        >
          <StatementRows
            realm={realm}
            to={data.principal}
            none={t("No statement names it directly.")}
          />
        </Card>
      )}
    </Beside>
  );
}

type Told = Schemas["PrincipalSummaryResponse"];

const WAYS = ["see", "read", "change"] as const;

/** How much the principal reaches in each way, type by type, as bars. */
function Reaches({ realm, summary }: { realm: string; summary: Told }) {
  if (kindOf(summary.principal) === "role") return null;
  const most = Math.max(1, ...summary.reached.map((one) => one.entities));
  return (
    <Card
      title={
        kindOf(summary.principal) === "group" ? t("Access through this group alone") : t("Reaches")
      }
      note={summary.last_used ? t("last used {day}", { day: summary.last_used }) : undefined}
    >
      {summary.reached.length === 0 ? (
        <p className={styles.none}>{t("Nothing.")}</p>
      ) : (
        <div className={styles.reaches}>
          {WAYS.map((way) => (
            <div key={way}>
              <h3>{t(way)}</h3>
              <ul>
                {summary.reached
                  .filter((one) => one.way === way)
                  .map((one) => (
                    <li key={one.type}>
                      <Link
                        to="/ask/what"
                        search={{ realm, who: summary.principal, do: one.operation }}
                      >
                        {count(one.entities)} {one.type}
                      </Link>
                      <svg viewBox="0 0 100 6" aria-hidden="true" preserveAspectRatio="none">
                        <rect width={(100 * one.entities) / most} height="6" fill="currentColor" />
                      </svg>
                    </li>
                  ))}
              </ul>
            </div>
          ))}
        </div>
      )}
    </Card>
  );
}

function Belongs({ realm, summary }: { realm: string; summary: Told }) {
  const rights = useRights(realm);
  const [leaving, setLeaving] = useState<string | null>(null);
  const effect = useEffectOf(
    realm,
    leaving ? { members: { add: [], remove: [{ member: summary.principal, of: leaving }] } } : null,
    0,
  );
  return (
    <Card
      title={t("Belongs to")}
      note={
        kindOf(summary.principal) === "user"
          ? undefined
          : t("{n, plural, one {# member} other {# members}}", { n: summary.members })
      }
    >
      {summary.belongs.length === 0 && (
        <p className={styles.none}>{t("Belongs to nothing yet.")}</p>
      )}
      <ul className={styles.names}>
        {summary.belongs.map((one) => {
          const of = one.path.at(-1) ?? "";
          const through = one.path.slice(0, -1);
          return (
            <li key={of}>
              <Link to="/principal" search={{ realm, p: of }}>
                <Name text={bare(of)} />
              </Link>{" "}
              <span className={styles.none}>
                {kindOf(of)}
                {through.length > 0 && ` ${t("through")} ${through.map(bare).join(", ")}`}
              </span>
              {through.length === 0 && rights.may("realm.plan") && (
                <Button
                  look="quiet"
                  onClick={() => {
                    setLeaving(of);
                  }}
                  aria-label={t("What if it leaves {of}?", { of: bare(of) })}
                >
                  {t("What if it leaves")}
                </Button>
              )}
            </li>
          );
        })}
      </ul>
      <Drawer
        open={leaving !== null}
        onClose={() => {
          setLeaving(null);
        }}
        title={t("If {who} leaves {of}", {
          who: bare(summary.principal),
          of: bare(leaving ?? ""),
        })}
      >
        <EffectCard realm={realm} effect={effect} title={t("Access lost")} />
      </Drawer>
    </Card>
  );
}

function Owned({ realm, summary }: { realm: string; summary: Told }) {
  if (summary.owns === 0) return null;
  return (
    <Card title={t("Owns")} note={count(summary.owns)}>
      <ul className={styles.names}>
        {summary.owned.slice(0, 40).map((one) => (
          <li key={one}>
            <Link to="/asset" search={{ realm, e: one }}>
              <Name text={one} cut={60} />
            </Link>
          </li>
        ))}
      </ul>
      {summary.owns > 40 && <p>{t("and {n} more", { n: count(summary.owns - 40) })}</p>}
    </Card>
  );
}
