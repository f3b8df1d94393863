import type { Schemas } from "../../api/client";
import { Button } from "../../parts/button";
import { Name } from "../../parts/name";
import { Card } from "../../parts/page";
import { Empty } from "../../parts/states";
import { Table } from "../../parts/table";
import { t } from "../../words";
import { Place, Users } from "./plan";
import styles from "./targets.module.css";

type Drift = Schemas["DriftResponse"];
type Difference = Schemas["DifferenceResponse"];

/** What others changed in a target, and access of the realm's users that is not from the realm. */
export function DriftCards({ drift, onAdopt }: { drift: Drift; onAdopt?: () => void }) {
  const none = !drift.difference_count && !drift.foreign_count;
  return (
    <>
      {none && <Empty title={t("It is as it was pushed.")} />}
      {Object.keys(drift.pending).length > 0 && (
        <p className={styles.hint}>{t("The realm changed since the last push: plan a push.")}</p>
      )}
      {drift.differences.length > 0 && (
        <Card title={t("Changed by others")} note={t("the next push repairs it")} pad={false}>
          <Table
            label={t("Changed by others")}
            rows={drift.differences}
            total={drift.difference_count}
            rowKey={(one) => JSON.stringify(one)}
            columns={[
              { key: "kind", title: t("What happened"), cell: (one) => one.kind },
              { key: "what", title: t("What"), cell: (one) => <What of={one} /> },
              { key: "role", title: t("Role"), cell: (one) => <Name text={one.role} /> },
            ]}
          />
        </Card>
      )}
      {drift.foreign.length > 0 && (
        <Card
          title={t("Held by grants of others")}
          note={onAdopt && <Button onClick={onAdopt}>{t("Propose statements")}</Button>}
          pad={false}
        >
          <Table
            label={t("Held by grants of others")}
            rows={drift.foreign}
            total={drift.foreign_count}
            rowKey={(one) => JSON.stringify(one)}
            columns={[
              { key: "to", title: t("Granted to"), cell: (one) => <Name text={one.grantee} /> },
              { key: "what", title: t("Privilege"), cell: (one) => <code>{one.privilege}</code> },
              { key: "on", title: t("Object"), cell: (one) => <Place path={one.path} /> },
              {
                key: "users",
                title: t("Users"),
                minor: true,
                cell: (one) => <Users names={one.users} total={one.user_count} />,
              },
              {
                key: "denied",
                title: t("Denied by the realm"),
                cell: (one) => <Users names={one.denied} total={one.denied_count} />,
              },
            ]}
          />
        </Card>
      )}
    </>
  );
}

function What({ of }: { of: Difference }) {
  if (of.member) return t("the member {name}", { name: of.member });
  if (of.privilege)
    return (
      <>
        <code>{of.privilege}</code> <Place path={of.path} />
      </>
    );
  if (of.condition)
    return (
      <>
        {t("the row policy on")} <Place path={of.path} />
      </>
    );
  if (of.path.length)
    return (
      <>
        {t("the masking view of")} <Place path={of.path} />
      </>
    );
  return t("the role itself");
}
