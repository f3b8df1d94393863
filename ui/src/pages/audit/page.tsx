import { useState } from "react";

import { $api, api, problemOf, type Schemas } from "../../api/client";
import { getRouteApi } from "@tanstack/react-router";
import { isComposing, useKeys } from "../../parts/keys";
import { useRights } from "../../api/rights";
import { choicesOf, useRealms } from "../../api/server";
import { Button } from "../../parts/button";
import { Drawer } from "../../parts/drawer";
import { Check, Filters, SelectField, TextField } from "../../parts/fields";
import { Glyph } from "../../parts/glyph";
import { Name } from "../../parts/name";
import { Card, Page } from "../../parts/page";
import { Sentence } from "../../parts/sentence";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { Table } from "../../parts/table";
import { say } from "../../parts/toast";
import { count, exactMoment, startOf, t, zoneName } from "../../words";
import styles from "./audit.module.css";

const route = getRouteApi("/audit");
const STEP = 100;
const MOST = 1_000;
type Row = Schemas["AuditRowResponse"];

/** Who did what, the newest first. */
export default function Audit() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const realms = useRealms().data?.realms ?? [];
  const [size, setSize] = useState(STEP);
  const [live, setLive] = useState(false);
  const [open, setOpen] = useState<Row | null>(null);
  const { from, until, outcome, ...texts } = search;
  const trail = $api.useQuery(
    "get",
    "/api/v1/audit",
    {
      params: {
        query: {
          ...texts,
          outcome: OUTCOMES.find((one) => one === outcome),
          from: from && startOf(from),
          // The last day of a range is part of it.
          until: until && startOf(until, 1),
          order: "newest",
          "page.limit": size,
        },
      },
    },
    { retry: false, placeholderData: (before) => before, refetchInterval: live ? 3_000 : false },
  );
  useKeys({
    ".": () => {
      setLive((before) => !before);
    },
  });
  const rows = trail.data?.rows ?? [];
  const set = (part: keyof typeof search) => (value: string) => {
    setSize(STEP);
    void navigate({ search: { ...search, [part]: value || undefined } });
  };
  const field = (part: "actor" | "operation" | "target" | "q", label: string) => (
    <Settled
      key={`${part} ${search[part] ?? ""}`}
      label={label}
      value={search[part] ?? ""}
      onSettle={set(part)}
    />
  );
  return (
    <Page title={t("Audit")} acts={<Verify />}>
      <Filters>
        <SelectField
          label={t("Realm")}
          value={search.realm ?? ""}
          options={[["", t("All")], ...choicesOf(realms)]}
          onChange={(event) => {
            set("realm")(event.target.value);
          }}
        />
        {field("actor", t("Who"))}
        {field("operation", t("Operation starts with"))}
        {field("target", t("Target starts with"))}
        <SelectField
          label={t("Outcome")}
          value={outcome ?? ""}
          options={[["", t("Any")], ...OUTCOMES.map((one) => [one, one] as const)]}
          onChange={(event) => {
            set("outcome")(event.target.value);
          }}
        />
        <TextField
          label={t("From")}
          type="date"
          value={from ?? ""}
          onChange={(event) => {
            set("from")(event.target.value);
          }}
        />
        <TextField
          label={t("Until")}
          type="date"
          value={until ?? ""}
          onChange={(event) => {
            set("until")(event.target.value);
          }}
        />
        {field("q", t("Any field contains"))}
        <Check
          label={t("Live")}
          checked={live}
          onChange={(event) => {
            setLive(event.target.checked);
          }}
        />
      </Filters>
      {trail.isPending && <Loading rows={10} />}
      {trail.error && (
        <ProblemView problem={problemOf(trail.error)} onRetry={() => void trail.refetch()} />
      )}
      {trail.data && rows.length === 0 && (
        <Empty title={t("No row matches the filters.")}>
          <Button
            onClick={() => {
              void navigate({ search: {} });
            }}
          >
            {t("Clear the filters")}
          </Button>
        </Empty>
      )}
      {rows.length > 0 && (
        <Card pad={false}>
          <Table
            label={t("Audit trail")}
            rows={rows}
            rowKey={(row) => String(row.seq)}
            onEnd={() => {
              if (rows.length === size) setSize((now) => Math.min(now + STEP, MOST));
            }}
            columns={[
              {
                key: "when",
                title: t("When ({zone})", { zone: zoneName() }),
                cell: (row) => (
                  <button
                    type="button"
                    className={styles.open}
                    onClick={() => {
                      setOpen(row);
                    }}
                  >
                    {exactMoment(Number(told(row).time))}
                  </button>
                ),
              },
              { key: "who", title: t("Who"), cell: (row) => <Name text={said(row, "actor")} /> },
              { key: "did", title: t("Operation"), cell: (row) => <Act row={row} /> },
              {
                key: "on",
                title: t("On"),
                cell: (row) => (
                  <span className={styles.target}>
                    <Name text={said(row, "target")} cut={56} />
                  </span>
                ),
              },
              {
                key: "outcome",
                title: t("Outcome"),
                cell: (row) => (
                  <>
                    <Glyph state={said(row, "outcome") === "allow" ? "allow" : "deny"} size={14} />{" "}
                    {said(row, "outcome")}
                  </>
                ),
              },
              { key: "realm", title: t("Realm"), minor: true, cell: (row) => said(row, "realm") },
              {
                key: "revision",
                title: t("Revision"),
                minor: true,
                number: true,
                cell: (row) => row.revision,
              },
            ]}
          />
          {rows.length === MOST && trail.data?.page.next_token && (
            <p className={styles.most}>
              {t("These are the newest {n} rows that fit: name an earlier last day for others.", {
                n: count(MOST),
              })}
            </p>
          )}
        </Card>
      )}
      <Drawer
        open={open !== null}
        onClose={() => {
          setOpen(null);
        }}
        title={open && <Act row={open} />}
      >
        {open && (
          <p>
            <Sentence words={open.words} large />
          </p>
        )}
        {open && <pre className={styles.event}>{JSON.stringify(open, null, 2)}</pre>}
      </Drawer>
    </Page>
  );
}

const OUTCOMES = ["allow", "deny", "error"] as const;

/** A field whose text counts when it loses focus, or with Enter. */
function Settled({
  label,
  value,
  onSettle,
}: {
  label: string;
  value: string;
  onSettle: (value: string) => void;
}) {
  const [text, setText] = useState(value);
  const settle = () => {
    if (text !== value) onSettle(text);
  };
  return (
    <TextField
      label={label}
      value={text}
      onChange={(event) => {
        setText(event.target.value);
      }}
      onBlur={settle}
      onKeyDown={(event) => {
        if (event.key === "Enter" && !isComposing(event.nativeEvent)) settle();
      }}
    />
  );
}

function told(row: Row): Record<string, unknown> {
  return row.event;
}

function said(row: Row, name: string): string {
  const value = told(row)[name];
  return typeof value === "string" ? value : "";
}

/** The operation's title; its name is the tooltip. */
function Act({ row }: { row: Row }) {
  const operation = said(row, "operation");
  return row.title ? <span title={operation}>{row.title}</span> : <code>{operation}</code>;
}

function Verify() {
  const rights = useRights();
  if (!rights.may("audit.verify")) return null;
  const verify = async () => {
    const { data, error } = await api.POST("/api/v1/audit/verify");
    if (error) say(problemOf(error).detail);
    else if (data.whole) say(t("The trail is whole: {rows} rows.", { rows: data.rows }));
    else say(t("Row {row} {what}", { row: data.row ?? 0, what: data.what }));
  };
  return <Button onClick={() => void verify()}>{t("Verify the trail")}</Button>;
}
