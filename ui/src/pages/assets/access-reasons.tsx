import { Link } from "@tanstack/react-router";

import { $api, problemOf, type Schemas } from "../../api/client";
import { Glyph } from "../../parts/glyph";
import { bare, Name } from "../../parts/name";
import { Loading, ProblemView } from "../../parts/states";
import { count, t } from "../../words";
import styles from "./access.module.css";
import type { Column, Row } from "./access-table";

type Granted = Schemas["GrantedPath"];
interface Reason {
  by: Granted;
  people: string[];
}

const PEOPLE = 100;

/** Who in a row may, and why: people with the same reasons are grouped. */
export function AccessReasons({
  realm,
  entity,
  row,
  column,
  may,
}: {
  realm: string;
  entity: string;
  row: Row;
  column: Column;
  may: number;
}) {
  const { way, operation } = column;
  const asked = $api.useQuery(
    "post",
    "/api/v1/estate/access",
    {
      body: {
        asset: entity,
        realm,
        realms: [column.realm],
        ...(way ? { ways: [way as "see" | "read" | "change"] } : { operations: [operation] }),
        row: row.key,
        limit: PEOPLE,
        token: "",
      },
    },
    { retry: false, enabled: may > 0 },
  );
  const first = row.sample[0];
  if (may === 0)
    return (
      <div className={styles.because}>
        <p>{t("Nobody of this row may.")}</p>
        {first && <Explain person={first} column={column} text={t("Why not?")} />}
      </div>
    );
  if (asked.isPending) return <Loading rows={4} />;
  if (asked.error)
    return <ProblemView problem={problemOf(asked.error)} onRetry={() => void asked.refetch()} />;
  const { people, total } = asked.data;
  const reasons = byReason(people, column);
  return (
    <>
      <p className={styles.quiet}>
        {may === row.people
          ? t("{n, plural, one {# person} other {# people: all of the row}}", { n: may })
          : t("{may} of {people} people", { may: count(may), people: count(row.people) })}
      </p>
      {reasons.map((one) => (
        <section key={one.people[0]} className={styles.because}>
          <p className={styles.people}>
            {one.people.map((person) => (
              <Explain key={person} person={person} column={column} text={person} />
            ))}
          </p>
          <Because by={one.by} />
        </section>
      ))}
      {people.length < total && (
        <p className={styles.quiet}>
          {t("The first {n} of {total} by name.", { n: people.length, total: count(total) })}
        </p>
      )}
      <p>
        <Link to="/ask/who" search={{ realm: column.realm, do: operation, on: column.entity }}>
          {t("Everybody who may")}
        </Link>
      </p>
    </>
  );
}

function Explain({ person, column, text }: { person: string; column: Column; text: string }) {
  return (
    <Link
      to="/ask"
      search={{
        realm: column.realm,
        who: `user:${person}`,
        do: column.operation,
        on: column.entity,
      }}
    >
      <Name text={text} />
    </Link>
  );
}

function Because({ by }: { by: Granted }) {
  if (!by.told) return <p>{t("You may not see why; auditors of this realm can.")}</p>;
  return (
    <ul className={styles.steps} aria-label={t("Because of")}>
      {by.statements.map((one) => (
        <li key={one.id}>
          <Glyph state="allow" size={15} />
          <div>
            <Link to="/r/$realm/statement" params={{ realm: by.realm }} search={{ id: one.id }}>
              <Name text={one.title || one.id} />
            </Link>{" "}
            <code>{one.privileges.join(", ")}</code>
            <Over names={by.reaching.find((path) => path.statement === one.id)?.over} />
          </div>
        </li>
      ))}
      {by.facts.map((fact) => (
        <li key={fact}>
          <Glyph state="allow" size={15} />
          <code>{fact}</code>
        </li>
      ))}
    </ul>
  );
}

/** The groups and roles through which a statement reaches a person. */
function Over({ names }: { names?: string[] }) {
  if (!names) return <p className={styles.quiet}>{t("as the owner")}</p>;
  if (names.length === 0) return null;
  return (
    <p className={styles.quiet}>
      <Name text={names.map(bare).join(" → ")} cut={120} />
    </p>
  );
}

/** The people of a path, grouped by the same statements through the same groups. */
function byReason(people: Schemas["PersonWithAccess"][], column: Column): Reason[] {
  const reasons = new Map<string, Reason>();
  for (const one of people) {
    const by = one.by.find((path) => path.entity === column.entity);
    if (!by) continue;
    const key = JSON.stringify([by.statements.map((s) => s.id), by.reaching, by.facts]);
    const reason = reasons.get(key);
    if (reason) reason.people.push(one.person);
    else reasons.set(key, { by, people: [one.person] });
  }
  return [...reasons.values()].sort((a, b) => b.people.length - a.people.length);
}
