import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { $api, api, problemOf, type Schemas } from "../../api/client";
import { useRights } from "../../api/rights";
import { Button } from "../../parts/button";
import { Glyph, type State } from "../../parts/glyph";
import { Beside, Card } from "../../parts/page";
import { MessageText } from "../../parts/message-text";
import { Loading, ProblemView } from "../../parts/states";
import { ago, count, moment, t } from "../../words";
import { SettingsFrame } from "./frame";
import styles from "./settings.module.css";

/** The server's health: its checks, how to fix each, and its figures. */
export default function Health() {
  return (
    <SettingsFrame title={t("Health")}>
      <Beside side={<Figures />}>
        <Checks />
      </Beside>
    </SettingsFrame>
  );
}

type Check = Schemas["CheckResponse"];

const STATES: Record<Check["state"], [State, string]> = {
  ok: ["allow", "OK"],
  warning: ["partial", "Protects less than it could"],
  bad: ["deny", "Failed"],
  unreachable: ["deny", "Not reachable"],
  unknown: ["unknown", "Not checked completely"],
  absent: ["unknown", "Not installed"],
};

function Checks() {
  const rights = useRights();
  const run = useQuery({
    queryKey: ["doctor"],
    queryFn: async ({ signal }) => {
      const { data, error } = await api.POST("/api/v1/server/doctor", { signal });
      if (error) throw problemOf(error) as unknown as Error;
      return { checks: data.checks, at: Date.now() };
    },
    retry: false,
    staleTime: 60_000,
  });
  const checks = run.data?.checks ?? [];
  const open = checks.filter((one) => one.state !== "ok");
  const shown = [...open, ...checks.filter((one) => one.state === "ok")];
  return (
    <Card
      title={t("Checks")}
      note={
        rights.may("server.check") && (
          <Button onClick={() => void run.refetch()} disabled={run.isFetching}>
            {run.isFetching ? t("Running") : t("Run again")}
          </Button>
        )
      }
      pad={false}
    >
      {run.isPending && <Loading rows={8} />}
      {run.error && (
        <ProblemView problem={problemOf(run.error)} onRetry={() => void run.refetch()} />
      )}
      {run.data && (
        <>
          <p className={styles.sum} role="status">
            {open.length === 0
              ? t("{n} checks, all OK.", { n: checks.length })
              : t("{open} of {n} checks need attention.", {
                  open: open.length,
                  n: checks.length,
                })}{" "}
            <span className={styles.none}>{ago(new Date(run.data.at).toISOString())}</span>
          </p>
          <ul className={styles.checks} aria-busy={run.isFetching}>
            {shown.map((one, place) => {
              const [glyph, label] = STATES[one.state];
              const isRepeated = shown[place - 1]?.name === one.name;
              return (
                <li key={place} data-state={one.state}>
                  <Glyph state={glyph} label={t(label)} />
                  <b className={isRepeated ? styles.repeated : undefined}>{one.name}</b>
                  <div>
                    <MessageText text={one.says} />
                    {one.fix && (
                      <p className={styles.fix}>
                        {t("To do:")} <MessageText text={one.fix} />
                      </p>
                    )}
                  </div>
                </li>
              );
            })}
          </ul>
        </>
      )}
    </Card>
  );
}

const OUTCOMES: Record<string, string> = {
  done: "Answered",
  denied: "Denied",
  missing: "Not found",
  conflict: "Conflicts",
  refused: "Rejected",
  unauthenticated: "Without valid credentials",
  unavailable: "Unavailable",
  failed: "Failed",
};

function Figures() {
  const read = $api.useQuery(
    "get",
    "/api/v1/server/health",
    {},
    { retry: false, refetchInterval: 10_000 },
  );
  if (read.isPending) return <Loading rows={6} />;
  if (read.error)
    return <ProblemView problem={problemOf(read.error)} onRetry={() => void read.refetch()} />;
  const { data } = read;
  return (
    <>
      <Card title={t("Server")} note={data.status === "ready" ? t("ready") : t("writes fail")}>
        <dl className={styles.figures}>
          <Figure name={t("Release")}>{data.release}</Figure>
          <Figure name={t("Revision")}>{count(data.revision)}</Figure>
          <Figure name={t("Started")}>
            <span title={moment(data.started)}>{ago(data.started)}</span>
          </Figure>
          <Figure name={t("Processes")}>{count(data.processes)}</Figure>
          <Figure name={t("Realms")}>{count(data.realms)}</Figure>
          <Figure name={t("Entities")}>{count(data.entities)}</Figure>
          <Figure name={t("Memory of this process")}>
            {data.resident_bytes == null
              ? "–"
              : t("{n} MiB", { n: count(Math.round(data.resident_bytes / 1_048_576)) })}
          </Figure>
          <Figure name={t("Database answers in")}>{duration(data.store_seconds)}</Figure>
          <Figure name={t("Open connections")}>{count(data.connections)}</Figure>
        </dl>
      </Card>
      <Card title={t("Requests")} note={t("since the start")}>
        <dl className={styles.figures}>
          {Object.entries(data.requests).map(([outcome, number]) => (
            <Figure key={outcome} name={t(OUTCOMES[outcome] ?? outcome)}>
              {count(number)}
            </Figure>
          ))}
          <Figure name={t("Over a rate limit")}>{count(data.rate_limited)}</Figure>
          <Figure name={t("Answered without the database")}>{count(data.stale_answers)}</Figure>
          <Figure name={t("Median")}>{duration(data.median_seconds)}</Figure>
          <Figure name={t("99th percentile")}>{duration(data.p99_seconds)}</Figure>
        </dl>
        <p className={styles.none}>
          {t("Times leave out bulk requests and logins. The 99th percentile needs 100 requests.")}
        </p>
      </Card>
    </>
  );
}

function Figure({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

const rounded = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });

function duration(seconds: number | null | undefined): string {
  if (seconds == null) return "–";
  return seconds < 1
    ? t("{n} ms", { n: rounded.format(seconds * 1_000) })
    : t("{n} s", { n: rounded.format(seconds) });
}
