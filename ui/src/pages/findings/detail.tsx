import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useRef, useState } from "react";

import { $api, api, problemOf, type Problem, type Schemas } from "../../api/client";
import { useKeys } from "../../parts/keys";
import { Button } from "../../parts/button";
import { EffectCard, useEffectOf } from "../../parts/effect";
import { TextField } from "../../parts/fields";
import { MessageText } from "../../parts/message-text";
import { Name } from "../../parts/name";
import { ProblemView } from "../../parts/states";
import { say } from "../../parts/toast";
import { dayOf, moment, startOf, t } from "../../words";
import styles from "./findings.module.css";

const DAY = 86_400_000;

/** One finding: its text, the effect of its fix, and dismissing it for a time. */
export function Detail({
  realm,
  finding,
  canRemove,
  canDismiss,
  onDone,
}: {
  realm: string;
  finding: Schemas["FindingResponse"];
  canRemove: boolean;
  canDismiss: boolean;
  onDone: () => void;
}) {
  const [fixing, setFixing] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const queries = useQueryClient();
  const removed = finding.edit?.remove ?? [];
  const box = useRef<HTMLDivElement>(null);
  useKeys(
    {
      f: () => {
        if (removed.length > 0) setFixing(true);
      },
      z: (event) => {
        event.preventDefault();
        box.current?.querySelector<HTMLInputElement>("form input")?.focus();
      },
    },
    "dialog",
  );
  const effect = useEffectOf(realm, fixing ? { remove: removed } : null, 0);
  const done = async (said: string) => {
    await queries.invalidateQueries();
    say(said);
    onDone();
  };
  const remove = async () => {
    for (const id of removed) {
      const { error } = await api.DELETE("/api/v1/realms/{realm}/statements/{id}", {
        params: { path: { realm, id } },
      });
      // A statement that is gone already was removed before another one could not be.
      if (error && problemOf(error).status !== 404) {
        setProblem(problemOf(error));
        return;
      }
    }
    await done(t("Statement removed"));
  };
  return (
    <div className={styles.stack} ref={box}>
      <p>
        {finding.kind === "statement" ? (
          <Link to="/r/$realm/statement" params={{ realm }} search={{ id: finding.name }}>
            <Name text={finding.name} />
          </Link>
        ) : (
          <Name text={`${finding.kind} ${finding.name}`} />
        )}{" "}
        <MessageText text={finding.says} />.
      </p>
      <p>
        <MessageText text={t("How to fix it: {fix}.", { fix: finding.fix })} />
      </p>
      <FirstSeen realm={realm} finding={finding} />
      {problem && <ProblemView problem={problem} />}
      {removed.length > 0 && !fixing && (
        <p>
          <Button
            onClick={() => {
              setFixing(true);
            }}
          >
            {t("Preview the fix")}
          </Button>
        </p>
      )}
      {fixing && (
        <>
          <EffectCard realm={realm} effect={effect} />
          {canRemove && (
            <p>
              <Button look="danger" disabled={!effect.isSeen} onClick={() => void remove()}>
                {t("Remove the statement")}
              </Button>
            </p>
          )}
        </>
      )}
      {finding.dismissed ? (
        <Dismissed realm={realm} finding={finding} canDismiss={canDismiss} onDone={done} />
      ) : (
        canDismiss && <Dismiss realm={realm} finding={finding} onDone={done} />
      )}
    </div>
  );
}

/** The change that caused the finding, if the server still knows it. */
function FirstSeen({ realm, finding }: { realm: string; finding: Schemas["FindingResponse"] }) {
  const { rule, kind, name } = finding;
  const found = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/lint",
    { params: { path: { realm }, query: { rule, kind, name, fields: "first_seen" } } },
    { retry: false },
  );
  const seen = found.data?.findings.find((one) => one.fingerprint === finding.fingerprint);
  if (!seen?.first_seen) return null;
  const { revision, at } = seen.first_seen;
  return (
    <p>
      {at
        ? t("Since revision {revision}, {at}.", { revision, at: moment(at) })
        : t("Since revision {revision}.", { revision })}
    </p>
  );
}

function Dismissed({
  realm,
  finding,
  canDismiss,
  onDone,
}: {
  realm: string;
  finding: Schemas["FindingResponse"];
  canDismiss: boolean;
  onDone: (said: string) => Promise<void>;
}) {
  const [problem, setProblem] = useState<Problem | null>(null);
  const end = async () => {
    const { error } = await api.DELETE("/api/v1/realms/{realm}/lint/dismissals/{fingerprint}", {
      params: { path: { realm, fingerprint: finding.fingerprint } },
    });
    if (error) setProblem(problemOf(error));
    else await onDone(t("The finding is open again"));
  };
  return (
    <>
      <p>
        {t("Dismissed by {by} until {until}: {reason}", {
          by: finding.dismissed?.by,
          until: moment(finding.dismissed?.until ?? 0),
          reason: finding.dismissed?.reason,
        })}
      </p>
      {problem && <ProblemView problem={problem} />}
      {canDismiss && (
        <p>
          <Button onClick={() => void end()}>{t("Open it again")}</Button>
        </p>
      )}
    </>
  );
}

function Dismiss({
  realm,
  finding,
  onDone,
}: {
  realm: string;
  finding: Schemas["FindingResponse"];
  onDone: (said: string) => Promise<void>;
}) {
  const [reason, setReason] = useState("");
  const [until, setUntil] = useState(() => dayOf(Date.now() + 30 * DAY));
  const [problem, setProblem] = useState<Problem | null>(null);
  const dismiss = async () => {
    const { error } = await api.PUT("/api/v1/realms/{realm}/lint/dismissals/{fingerprint}", {
      params: { path: { realm, fingerprint: finding.fingerprint } },
      body: { reason, until: startOf(until) ?? "" },
    });
    if (error) setProblem(problemOf(error));
    else await onDone(t("Finding dismissed"));
  };
  return (
    <form
      className={styles.stack}
      onSubmit={(event) => {
        event.preventDefault();
        void dismiss();
      }}
    >
      <h3>{t("Leave it for a time")}</h3>
      <TextField
        label={t("Why")}
        value={reason}
        required
        onChange={(event) => {
          setReason(event.target.value);
        }}
      />
      <TextField
        label={t("Until")}
        type="date"
        value={until}
        required
        onChange={(event) => {
          setUntil(event.target.value);
        }}
      />
      {problem && <ProblemView problem={problem} />}
      <p>
        <Button type="submit" disabled={!reason.trim()}>
          {t("Dismiss")}
        </Button>
      </p>
    </form>
  );
}
