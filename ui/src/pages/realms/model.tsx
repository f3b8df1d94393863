import { useState } from "react";

import type { Schemas } from "../../api/client";
import { Filters, SelectField, TextField } from "../../parts/fields";
import { Glyph } from "../../parts/glyph";
import { Card } from "../../parts/page";
import { Empty } from "../../parts/states";
import { Table } from "../../parts/table";
import { t } from "../../words";
import styles from "./realms.module.css";

type Vocabulary = Schemas["Vocabulary"];

/** Every operation of a model with the rule that decides it, by the type that it applies to. */
export function Operations({ vocabulary }: { vocabulary: Vocabulary }) {
  const [text, setText] = useState("");
  const [group, setGroup] = useState("");
  const wanted = text.toLowerCase();
  const groups = [...new Set(vocabulary.operations.map((one) => one.group))].sort();
  const rows = vocabulary.operations.filter(
    (one) =>
      (group === "" || one.group === group) &&
      `${one.name} ${one.title}`.toLowerCase().includes(wanted),
  );
  return (
    <>
      <Filters>
        <TextField
          label={t("Name or title contains")}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
          }}
        />
        <SelectField
          label={t("About")}
          value={group}
          options={[["", t("All")], ...groups.map((one) => [one, one] as const)]}
          onChange={(event) => {
            setGroup(event.target.value);
          }}
        />
      </Filters>
      <Card pad={false}>
        {rows.length === 0 ? (
          <Empty title={t("No operation matches these filters.")} />
        ) : (
          <Table
            label={t("Operations")}
            rows={rows}
            total={rows.length}
            rowKey={(one) => one.name}
            columns={[
              {
                key: "name",
                title: t("Operation"),
                cell: (one) => (
                  <>
                    <code>{one.name}</code>
                    <p className={styles.hint}>{one.title}</p>
                  </>
                ),
              },
              { key: "kind", title: t("Kind"), minor: true, cell: (one) => t(KINDS[one.kind]) },
              {
                key: "rule",
                title: t("Rule, by type"),
                cell: (one) => (
                  <dl className={styles.rule}>
                    {Object.entries(one.rules).map(([type, rule]) => (
                      <div key={type}>
                        <dt>{type === "none" ? t("no object") : type}</dt>
                        <dd>
                          <code>{rule}</code>
                        </dd>
                      </div>
                    ))}
                  </dl>
                ),
              },
            ]}
          />
        )}
      </Card>
    </>
  );
}

const KINDS = { read: "reads", change: "changes", administer: "administers access" } as const;

/** Which privilege may be granted on which type. */
export function Privileges({ vocabulary }: { vocabulary: Vocabulary }) {
  const privileges = vocabulary.privileges.filter((one) => one.grantable);
  const types = [...new Set(privileges.flatMap((one) => one.on))].sort();
  return (
    <Card
      title={t("What can be granted")}
      note={t("{privileges} privileges, {types} types", {
        privileges: privileges.length,
        types: types.length,
      })}
      pad={false}
    >
      <Table
        label={t("Privileges by type")}
        rows={privileges}
        rowKey={(one) => one.name}
        columns={[
          {
            key: "name",
            title: t("Privilege"),
            cell: (one) => (
              <>
                <code>{one.name}</code>
                <p className={styles.hint}>{one.title}</p>
              </>
            ),
          },
          ...types.map((type) => ({
            key: `on ${type}`,
            title: type,
            cell: (one: Vocabulary["privileges"][number]) =>
              one.on.includes(type) ? (
                <Glyph state="allow" label={t("grantable")} />
              ) : (
                <Glyph state="none" />
              ),
          })),
        ]}
      />
    </Card>
  );
}
