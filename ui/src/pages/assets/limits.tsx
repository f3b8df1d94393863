import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { $api, problemOf, type Schemas } from "../../api/client";
import { suggest } from "../../api/suggest";
import { bare, Name, principalOf } from "../../parts/name";
import { Card } from "../../parts/page";
import { Picker } from "../../parts/picker";
import { Sentence } from "../../parts/sentence";
import { useSettled } from "../../parts/settled";
import { Loading, ProblemView } from "../../parts/states";
import { Table } from "../../parts/table";
import { t } from "../../words";
import styles from "./rules.module.css";

type Sight = Schemas["SightResponse"];

/** The row filters and column masks of a table, for the caller or as another user sees it. */
export function Limits({ realm, entity }: { realm: string; entity: string }) {
  const [who, setWho] = useState("");
  const asked = useSettled(who.trim(), 300);
  const principal = principalOf(asked) || null;
  const seen = $api.useQuery(
    "post",
    "/api/v1/realms/{realm}/see",
    { params: { path: { realm } }, body: { entity, principal } },
    { retry: false, placeholderData: (before) => before },
  );
  const problem = seen.error ? problemOf(seen.error) : null;
  // An entity without rows has no limits either; a failure without a response does not say so.
  const isRefused = problem !== null && problem.status >= 400 && problem.status < 500;
  if (asked === "" && (isRefused || seen.isPending)) return null;
  return (
    <Card title={t("Rows and values")} label={t("Rows and values")}>
      <div className={styles.limits}>
        <Picker
          label={t("See as")}
          shown
          placeholder={t("yourself")}
          value={who}
          onChange={setWho}
          suggest={suggest("user", realm)}
          source={`people ${realm}`}
        />
        {problem ? (
          <ProblemView problem={problem} onRetry={() => void seen.refetch()} />
        ) : seen.data ? (
          <Seen realm={realm} seen={seen.data} />
        ) : (
          <Loading rows={2} />
        )}
      </div>
    </Card>
  );
}

function Seen({ realm, seen }: { realm: string; seen: Sight }) {
  if (!seen.may_read) return <p role="status">{t("No read access.")}</p>;
  if (seen.filters.length === 0 && seen.columns.length === 0)
    return <p role="status">{t("All rows and values are visible.")}</p>;
  return (
    <>
      {seen.filters.length > 0 && (
        <ul className={styles.rules} aria-label={t("Row filters")}>
          {seen.filters.map((one) => (
            <li key={one.id}>
              {one.words.length > 0 ? (
                <Sentence words={one.words} />
              ) : (
                t("only rows where {expression}", { expression: one.expression })
              )}{" "}
              <Statement realm={realm} id={one.id} />
            </li>
          ))}
        </ul>
      )}
      {seen.columns.length > 0 && (
        <Table
          label={t("Masked columns")}
          rows={seen.columns}
          rowKey={(one) => one.column}
          columns={[
            {
              key: "column",
              title: t("Column"),
              cell: (one) => <Name text={bare(one.column)} />,
            },
            { key: "shows", title: t("Shows"), cell: (one) => one.expression },
            {
              key: "because",
              title: t("Because of"),
              cell: (one) => <Statement realm={realm} id={one.mask} />,
            },
          ]}
        />
      )}
    </>
  );
}

function Statement({ realm, id }: { realm: string; id: string }) {
  return (
    <Link to="/r/$realm/statement" params={{ realm }} search={{ id }}>
      <Name text={id} cut={60} />
    </Link>
  );
}
