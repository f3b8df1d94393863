import { getRouteApi } from "@tanstack/react-router";

import { $api, problemOf, type Schemas } from "../../api/client";
import { Filters, TextField } from "../../parts/fields";
import { Glyph } from "../../parts/glyph";
import { Card } from "../../parts/page";
import { MessageText } from "../../parts/message-text";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { Table } from "../../parts/table";
import { asSentence, t } from "../../words";
import { SettingsFrame } from "./frame";
import styles from "./settings.module.css";

type Setting = Schemas["SettingResponse"];

const route = getRouteApi("/settings/server");

/** The settings in force: what each means, its value, and where the value comes from. */
export default function Server() {
  const { q = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const read = $api.useQuery("get", "/api/v1/server/settings", {}, { retry: false });
  const wanted = q.toLowerCase();
  const rows = (read.data?.settings ?? []).filter((one) =>
    `${one.name} ${one.meaning}`.toLowerCase().includes(wanted),
  );
  const set = rows.filter((one) => one.source !== "default");
  const unset = rows.filter((one) => one.source === "default");
  return (
    <SettingsFrame title={t("Server")}>
      {read.isPending && <Loading rows={10} />}
      {read.error && (
        <ProblemView problem={problemOf(read.error)} onRetry={() => void read.refetch()} />
      )}
      {read.data && (
        <>
          <Weakened
            title={t("Protection is weakened")}
            sentences={read.data.weakened}
            none={t("No setting weakens protection.")}
          />
          {read.data.without_effect.length > 0 && (
            <Weakened title={t("Set without effect")} sentences={read.data.without_effect} />
          )}
          <Filters>
            <TextField
              label={t("Name or meaning contains")}
              value={q}
              onChange={(event) => {
                void navigate({ search: { q: event.target.value }, replace: true });
              }}
            />
          </Filters>
          <div className={styles.stack}>
            <Listed title={t("Set")} rows={set} sources />
            <Listed title={t("Defaults")} rows={unset} />
            {rows.length === 0 && <Empty title={t("No setting has such a name or meaning.")} />}
          </div>
        </>
      )}
    </SettingsFrame>
  );
}

function Listed({
  title,
  rows,
  sources = false,
}: {
  title: string;
  rows: Setting[];
  sources?: boolean;
}) {
  if (rows.length === 0) return null;
  return (
    <Card title={title} pad={false}>
      <Table
        label={title}
        rows={rows}
        total={rows.length}
        rowKey={(one) => one.name}
        columns={[
          { key: "name", title: t("Setting"), cell: (one) => <Named of={one} /> },
          { key: "value", title: t("Value"), cell: (one) => <Value of={one} /> },
          ...(sources
            ? [{ key: "source", title: t("Source"), cell: (one: Setting) => <Source of={one} /> }]
            : []),
        ]}
      />
    </Card>
  );
}

function Named({ of: { name, meaning } }: { of: Setting }) {
  return (
    <>
      <code className={styles.name}>{name}</code>
      <p className={styles.meaning}>
        <MessageText text={meaning} />
      </p>
    </>
  );
}

function Weakened({
  title,
  sentences,
  none = "",
}: {
  title: string;
  sentences: string[];
  none?: string;
}) {
  return (
    <div className={styles.weak} data-weak={sentences.length > 0}>
      <Glyph state={sentences.length > 0 ? "partial" : "allow"} size={20} />
      {sentences.length === 0 ? (
        <p>{none}</p>
      ) : (
        <div>
          <h2>{title}</h2>
          <ul>
            {sentences.map((one) => (
              <li key={one}>
                <MessageText text={asSentence(one)} />
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}

function Value({ of: { value, secret } }: { of: Setting }) {
  if (value === true) return t("on");
  if (value === false) return t("off");
  const text = shown(value);
  if (text === "") return <span className={styles.none}>{t("none")}</span>;
  return (
    <>
      <code>{text}</code>
      {secret && <span className="visually-hidden"> {t("secret, not shown")}</span>}
    </>
  );
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.map(shown).join(", ");
  if (typeof value === "object")
    return Object.entries(value)
      .map(([name, one]) => `${name} = ${shown(one)}`)
      .join(", ");
  return String(value as string | number);
}

function Source({ of: { source, where } }: { of: Setting }) {
  return (
    <>
      {t(SOURCES[source] ?? source)} {where && <code>{where}</code>}
    </>
  );
}

const SOURCES: Record<string, string> = {
  option: "command line",
  variable: "variable",
  file: "file",
  store: "database",
};
