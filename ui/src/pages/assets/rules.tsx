import { Link } from "@tanstack/react-router";

import { $api, problemOf, type Schemas } from "../../api/client";
import { Glyph } from "../../parts/glyph";
import { bare, kindOf, Name } from "../../parts/name";
import { Card } from "../../parts/page";
import { Sentence } from "../../parts/sentence";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { count, t } from "../../words";
import { Limits } from "./limits";
import styles from "./rules.module.css";

type Row = Schemas["StatementRow"];

const MOST = 1_000;

/** The statements that affect an asset, and the limits on its rows and values. */
export function Rules({ realm, entity }: { realm: string; entity: string }) {
  return (
    <div className={styles.groups}>
      <Limits realm={realm} entity={entity} />
      <Statements realm={realm} entity={entity} />
    </div>
  );
}

/** Statements on the asset, from above it, and by a pattern or criteria. */
function Statements({ realm, entity }: { realm: string; entity: string }) {
  const rows = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/statements",
    { params: { path: { realm }, query: { reaching: entity, "page.limit": MOST } } },
    { retry: false },
  );
  if (rows.isPending) return <Loading rows={6} />;
  if (rows.error)
    return <ProblemView problem={problemOf(rows.error)} onRetry={() => void rows.refetch()} />;
  const { statements: all, total } = rows.data;
  if (all.length === 0) return <Empty title={t("No visible statement applies to it.")} />;
  const groups: [string, Row[]][] = [
    [t("On it"), all.filter((one) => one.direct)],
    [t("From above"), all.filter((one) => !one.direct && one.source)],
    [t("By a pattern or criteria"), all.filter((one) => !one.direct && !one.source)],
  ];
  return (
    <>
      {all.length < total && (
        <p role="note">
          {t("The first {n} of {total} statements that apply to it.", {
            n: count(all.length),
            total: count(total),
          })}
        </p>
      )}
      {groups.map(
        ([title, group]) =>
          group.length > 0 && (
            <Card key={title} title={title} note={String(group.length)}>
              <ul className={styles.rules}>
                {group.map((one) => (
                  <Rule key={one.id} realm={realm} one={one} />
                ))}
              </ul>
            </Card>
          ),
      )}
    </>
  );
}

function Rule({ realm, one }: { realm: string; one: Row }) {
  const beaten = one.beaten_by ?? [];
  return (
    <li>
      <p>
        <Glyph
          state={one.effect === "deny" ? "deny" : beaten.length ? "partial" : "allow"}
          size={14}
          label={one.effect === "deny" ? t("DENY") : t("ALLOW")}
        />{" "}
        <Sentence words={one.words} />
      </p>
      <p className={styles.from}>
        {one.source && !one.direct && (
          <>
            {t("from {type}", { type: kindOf(one.source) })}{" "}
            <Link to="/asset" search={{ realm, e: one.source, tab: "rules" }}>
              <Name text={bare(one.source)} cut={60} />
            </Link>{" "}
          </>
        )}
        {beaten.length > 0 && (
          <>
            {t("overridden by a DENY, for principals of both:")}{" "}
            {beaten.map((id, place) => (
              <span key={id}>
                {place > 0 && ", "}
                <Link to="/r/$realm/statement" params={{ realm }} search={{ id }}>
                  <Name text={id} cut={60} />
                </Link>
              </span>
            ))}{" "}
          </>
        )}
        <Link to="/r/$realm/statement" params={{ realm }} search={{ id: one.id }}>
          {t("Open")}
          <span className="visually-hidden"> {one.id}</span>
        </Link>
      </p>
    </li>
  );
}
