import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { $api, api, problemOf, type Problem, type Schemas } from "../../api/client";
import { useRights } from "../../api/rights";
import { Button } from "../../parts/button";
import { Confirm } from "../../parts/drawer";
import { Field, TextField } from "../../parts/fields";
import { Name } from "../../parts/name";
import { Card } from "../../parts/page";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { Table } from "../../parts/table";
import { say } from "../../parts/toast";
import { ago, count, t } from "../../words";
import { columnsOf, rowsOf, textOfColumns, textOfRows } from "./lookup-text";
import styles from "./realms.module.css";

type Row = Schemas["LookupRow"];
type Event = { actor: string; time: number; details?: { lookup?: string } };
type Draft = { name: string; columns: string; rows: string };

const NEW: Draft = { name: "", columns: "", rows: "" };

/** The lookup tables of a realm, which its row filters and column masks compare with. */
export function LookupTables({ realm }: { realm: Schemas["RealmResponse"] }) {
  const rights = useRights(realm.name);
  const path = { realm: realm.name };
  const found = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/lookups",
    { params: { path } },
    { retry: false },
  );
  const [draft, setDraft] = useState<Draft | null>(null);
  const [removed, setRemoved] = useState<Row | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const declared = useDeclared(realm.name, rights.may("audit.read"));
  const edit = async (name: string) => {
    const { data, error } = await api.GET("/api/v1/realms/{realm}/lookups/{name}", {
      params: { path: { ...path, name } },
    });
    setProblem(error ? problemOf(error) : null);
    if (data) setDraft({ name, columns: textOfColumns(data.columns), rows: textOfRows(data.rows) });
  };
  const remove = async () => {
    if (!removed) return;
    const { error } = await api.DELETE("/api/v1/realms/{realm}/lookups/{name}", {
      params: { path: { ...path, name: removed.name } },
    });
    setRemoved(null);
    setProblem(error ? problemOf(error) : null);
    if (error) return;
    say(t("Lookup table {name} removed", { name: removed.name }));
    void found.refetch();
  };
  return (
    <div className={styles.stack}>
      {problem && <ProblemView problem={problem} />}
      {found.isPending && <Loading rows={4} />}
      {found.error && (
        <ProblemView problem={problemOf(found.error)} onRetry={() => void found.refetch()} />
      )}
      {found.data?.lookups.length === 0 && <Empty title={t("This realm has no lookup tables.")} />}
      {!!found.data?.lookups.length && (
        <Card pad={false}>
          <Table
            label={t("Lookup tables")}
            rows={found.data.lookups}
            total={found.data.lookups.length}
            rowKey={(one) => one.name}
            columns={[
              { key: "name", title: t("Name"), cell: (one) => <code>{one.name}</code> },
              {
                key: "columns",
                title: t("Columns"),
                cell: (one) => textOfColumns(one.columns),
                minor: true,
              },
              { key: "rows", title: t("Rows"), cell: (one) => count(one.rows) },
              {
                key: "used",
                title: t("Used by"),
                cell: (one) => <Users realm={realm.name} ids={one.used_by} />,
              },
              {
                key: "declared",
                title: t("Declared"),
                minor: true,
                cell: (one) => declared.get(one.name) ?? "",
              },
              ...(rights.may("lookup.put")
                ? [
                    {
                      key: "acts",
                      title: "",
                      label: t("Acts"),
                      cell: (one: Row) => (
                        <>
                          <Button onClick={() => void edit(one.name)}>{t("Edit")}</Button>{" "}
                          <Button
                            onClick={() => {
                              setRemoved(one);
                            }}
                          >
                            {t("Remove")}
                          </Button>
                        </>
                      ),
                    },
                  ]
                : []),
            ]}
          />
        </Card>
      )}
      {rights.may("lookup.put") && (
        <LookupForm
          key={draft?.name ?? ""}
          realm={realm.name}
          draft={draft ?? NEW}
          onDone={() => {
            setDraft(null);
            void found.refetch();
          }}
        />
      )}
      <Confirm
        open={removed !== null}
        title={t("Remove the lookup table {name}?", { name: removed?.name ?? "" })}
        act={t("Remove")}
        onAct={remove}
        onClose={() => {
          setRemoved(null);
        }}
      >
        <p>{t("The server refuses it while a row filter or a column mask uses it.")}</p>
      </Confirm>
    </div>
  );
}

function Users({ realm, ids }: { realm: string; ids: string[] }) {
  if (ids.length === 0) return <>{t("nothing")}</>;
  return (
    <>
      {ids.map((id, place) => (
        <span key={id}>
          {place > 0 && ", "}
          <Link to="/r/$realm/statement" params={{ realm }} search={{ id }}>
            <Name text={id} cut={40} />
          </Link>
        </span>
      ))}
    </>
  );
}

/** Who last declared each table, and when, for readers of the audit trail. */
function useDeclared(realm: string, may: boolean): Map<string, string> {
  const trail = $api.useQuery(
    "get",
    "/api/v1/audit",
    {
      params: {
        query: {
          realm,
          operation: "lookup.put",
          outcome: "allow",
          order: "newest",
          "page.limit": 200,
        },
      },
    },
    { enabled: may, retry: false },
  );
  const latest = new Map<string, string>();
  for (const row of trail.data?.rows ?? []) {
    const event = row.event as Event;
    const name = event.details?.lookup;
    if (name !== undefined && !latest.has(name))
      latest.set(name, t("by {who}, {when}", { who: event.actor, when: ago(event.time) }));
  }
  return latest;
}

function LookupForm({
  realm,
  draft: given,
  onDone,
}: {
  realm: string;
  draft: Draft;
  onDone: () => void;
}) {
  const [draft, setDraft] = useState(given);
  const [problem, setProblem] = useState<Problem | null>(null);
  const queries = useQueryClient();
  const columns = columnsOf(draft.columns);
  const rows = rowsOf(draft.rows, columns);
  const save = async () => {
    const { error } = await api.PUT("/api/v1/realms/{realm}/lookups/{name}", {
      params: { path: { realm, name: draft.name } },
      body: { columns, rows },
    });
    setProblem(error ? problemOf(error) : null);
    if (error) return;
    say(t("Lookup table {name} saved", { name: draft.name }));
    setDraft(NEW);
    await queries.invalidateQueries();
    onDone();
  };
  const set = (part: keyof Draft) => (event: { target: { value: string } }) => {
    setDraft((before) => ({ ...before, [part]: event.target.value }));
  };
  return (
    <Card title={given.name ? t("Replace {name}", { name: given.name }) : t("New lookup table")}>
      <form
        className={styles.settings}
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <TextField
          label={t("Name")}
          value={draft.name}
          readOnly={given.name !== ""}
          spellCheck={false}
          onChange={set("name")}
        />
        <TextField
          label={t("Columns and types")}
          hint={t("such as: email, since date")}
          value={draft.columns}
          spellCheck={false}
          onChange={set("columns")}
        />
        <Field label={t("Values")} hint={t("A row in each line, its values separated by commas")}>
          {(ids) => (
            <textarea
              {...ids}
              className={styles.values}
              rows={6}
              value={draft.rows}
              spellCheck={false}
              onChange={set("rows")}
            />
          )}
        </Field>
        {problem && <ProblemView problem={problem} />}
        <footer>
          <Button look="main" type="submit" disabled={!draft.name || columns.length === 0}>
            {t("Save {n, plural, one {# row} other {# rows}}", { n: rows.length })}
          </Button>
        </footer>
      </form>
    </Card>
  );
}
