import type { Schemas } from "../../api/client";
import { Button } from "../../parts/button";
import { Name } from "../../parts/name";
import { Card } from "../../parts/page";
import { Empty } from "../../parts/states";
import { Table } from "../../parts/table";
import { count, t } from "../../words";
import styles from "./targets.module.css";

type Plan = Schemas["PushPlanResponse"];
type Change = Schemas["AccessChangeResponse"];

/** What a push would do, whose access it changes, and what it leaves out. */
export function PlanCards({
  plan,
  canApply,
  onApply,
}: {
  plan: Plan;
  canApply: boolean;
  onApply: () => void;
}) {
  const steps = Object.entries(plan.steps);
  return (
    <>
      {steps.length === 0 && (
        <Empty title={t("The target holds what the realm allows: nothing is pending.")} />
      )}
      {steps.length > 0 && (
        <Card
          title={t("What a push does")}
          note={canApply && <Button onClick={onApply}>{t("Push…")}</Button>}
        >
          <ul className={styles.steps}>
            {steps.map(([act, number]) => (
              <li key={act}>
                {act} <b>{count(number)}</b>
              </li>
            ))}
          </ul>
        </Card>
      )}
      {plan.access.length > 0 && (
        <Card title={t("Whose access changes")} pad={false}>
          <Table
            label={t("Access changes")}
            rows={plan.access}
            total={plan.access_count}
            rowKey={(one) => JSON.stringify(one)}
            columns={[
              {
                key: "sign",
                title: "",
                label: t("Change"),
                width: "3rem",
                cell: (one) => <Sign change={one} />,
              },
              {
                key: "users",
                title: t("Users"),
                cell: (one) => <Users names={one.users} total={one.user_count} />,
              },
              { key: "what", title: t("Privilege"), cell: (one) => <code>{one.privilege}</code> },
              { key: "on", title: t("Objects"), number: true, cell: (one) => count(one.objects) },
              {
                key: "example",
                title: t("Such as"),
                minor: true,
                cell: (one) => <Place path={one.example} />,
              },
            ]}
          />
        </Card>
      )}
      {plan.script.length > 0 && <Script plan={plan} />}
      {plan.residue.length > 0 && (
        <Card title={t("What is left out")} pad={false}>
          <Table
            label={t("What is left out")}
            rows={plan.residue}
            total={plan.residue_count}
            rowKey={(one) => JSON.stringify(one)}
            columns={[
              { key: "why", title: t("Why"), cell: (one) => one.why },
              { key: "who", title: t("Principal"), cell: (one) => <Name text={one.principal} /> },
              {
                key: "what",
                title: t("Privilege"),
                minor: true,
                cell: (one) => <code>{one.access}</code>,
              },
              { key: "on", title: t("Object"), cell: (one) => <Name text={one.entity} /> },
            ]}
          />
        </Card>
      )}
    </>
  );
}

const MOST_STATEMENTS = 200;

/** The statements or requests as they are sent, as many as a person would read. */
function Script({ plan }: { plan: Plan }) {
  const shown = plan.script.slice(0, MOST_STATEMENTS);
  const more = plan.script_count - shown.length;
  return (
    <Card title={t("What is sent, in this order")}>
      <ol className={styles.rows} aria-label={t("Statements")}>
        {shown.map((one, place) => (
          <li key={place}>
            <Sent statement={one} />
          </li>
        ))}
      </ol>
      {more > 0 && <p>{t("and {n} more", { n: count(more) })}</p>}
    </Card>
  );
}

function Sent({ statement }: { statement: Schemas["ScriptedStatement"] }) {
  const text = [statement.text, statement.name].filter(Boolean).join(" ");
  const rest = statement.characters - statement.text.length;
  return (
    <code>
      <Name text={text} cut={Infinity} />
      {rest > 0 && <> {t("… and {n} more characters", { n: count(rest) })}</>}
    </code>
  );
}

function Sign({ change }: { change: Change }) {
  const sign = change.gained ? "+" : "−";
  return (
    <b className={styles.sign} data-sign={sign}>
      <span aria-hidden="true">{sign}</span>
      <span className="visually-hidden">{change.gained ? t("gained") : t("lost")}</span>
    </b>
  );
}

/** Some users, and how many more there are. */
export function Users({ names, total }: { names: string[]; total: number }) {
  const some = names.slice(0, 4);
  return (
    <>
      {some.map((name, place) => (
        <span key={name}>
          {place > 0 && ", "}
          <Name text={name} />
        </span>
      ))}
      {total > some.length && <> {t("and {n} more", { n: count(total - some.length) })}</>}
    </>
  );
}

/** The location of an object in the database. */
export function Place({ path }: { path: string[] }) {
  return path.length ? <Name text={path.join(".")} /> : <>{t("the database")}</>;
}
