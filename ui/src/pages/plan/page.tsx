import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useRef, useState } from "react";

import { api, problemOf, type Problem, type Schemas } from "../../api/client";
import { useRights } from "../../api/rights";
import { choicesOf, governed, useRealms } from "../../api/server";
import { Button } from "../../parts/button";
import { CommandButton } from "../../parts/copy";
import { keepDraft, keptDraft } from "../../parts/draft";
import { Confirm } from "../../parts/drawer";
import { AccessChange } from "../../parts/effect";
import { Check, Field, Filters, SelectField, TextField } from "../../parts/fields";
import { Name } from "../../parts/name";
import { Card, Page } from "../../parts/page";
import { Empty, NoRight, ProblemView } from "../../parts/states";
import { keepPlanned, PLANNED } from "../../parts/planned";
import { say } from "../../parts/toast";
import { count, t } from "../../words";
import { quoted } from "../ask/shell-word";
import styles from "./plan.module.css";

const route = getRouteApi("/r/$realm/plan");
type Plan = Schemas["PlanResponse"];

interface Draft {
  name: string;
  text: string;
  keeper: string;
  adopts: boolean;
}

const NEW: Draft = { name: "policy.toml", text: "", keeper: "policy", adopts: false };

/** A policy file compared with the realm: what it would change, and applying it. */
export default function PlanPage() {
  const { realm } = route.useParams();
  const rights = useRights(realm);
  if (rights.known && !rights.may("realm.plan"))
    return (
      <Page title={t("Plan")} where={<Name text={realm} />}>
        <NoRight title={t("You may not plan changes of this realm.")} />
      </Page>
    );
  return <Editor key={realm} realm={realm} />;
}

function Editor({ realm }: { realm: string }) {
  const key = `plan ${realm}`;
  const navigate = route.useNavigate();
  const queries = useQueryClient();
  const realms = governed(useRealms().data?.realms);
  const rights = useRights(realm);
  const [draft, setDraft] = useState<Draft>(() => ({ ...NEW, ...keptDraft<Draft>(key) }));
  const [plan, setPlan] = useState<Plan | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const [asking, setAsking] = useState(false);
  /** How often the draft was changed. */
  const edits = useRef(0);
  const change = (part: Partial<Draft>) => {
    const next = { ...draft, ...part };
    edits.current += 1;
    setDraft(next);
    setPlan(null);
    keepDraft(key, next);
  };
  const run = async (task: () => Promise<void>) => {
    setBusy(true);
    setProblem(null);
    try {
      await task();
    } catch (failure) {
      setProblem(problemOf(failure));
    } finally {
      setBusy(false);
    }
  };
  const files = {
    files: [{ name: draft.name, text: draft.text }],
    keeper: draft.keeper,
    adopts: draft.adopts,
  };
  const make = () =>
    run(async () => {
      const before = edits.current;
      const { data, error } = await api.POST("/api/v1/realms/{realm}/plan", {
        params: { path: { realm } },
        body: files,
      });
      // An edit during planning has no plan yet, and no errors.
      if (edits.current !== before) return;
      if (error) throw problemOf(error) as unknown as Error;
      setPlan(data as Plan);
      keepPlanned(realm, data as Plan);
    });
  const apply = () =>
    run(async () => {
      if (!plan) return;
      setAsking(false);
      const { data, error } = await api.POST("/api/v1/realms/{realm}/apply", {
        params: { path: { realm } },
        body: { ...files, revision: plan.revision, digest: plan.digest },
      });
      if (error) throw problemOf(error) as unknown as Error;
      setPlan(null);
      await queries.invalidateQueries();
      say(t("Applied at revision {revision}", { revision: data.applied }));
    });
  const open = (file: File) => {
    void file.text().then((text) => {
      change({ name: file.name, text });
    });
  };
  const start = () =>
    run(async () => {
      const { data, error } = await api.GET("/api/v1/realms/{realm}/policy", {
        params: { path: { realm } },
      });
      if (error) throw problemOf(error) as unknown as Error;
      change({ name: "policy.yaml", text: JSON.stringify(data, null, 2) });
    });
  const line = lineOf(problem);
  const words = ["lakewarden", "plan", draft.name, "--realm", realm, "--name", draft.keeper];
  const command = [...words, ...(draft.adopts ? ["--adopt"] : [])].map(quoted).join(" ");
  return (
    <Page
      title={t("Plan")}
      acts={
        <>
          <CommandButton command={command} />
          <Button look="main" disabled={busy || !draft.text.trim()} onClick={() => void make()}>
            {t("Plan")}
          </Button>
        </>
      }
    >
      <Filters>
        <SelectField
          label={t("Realm")}
          value={realm}
          options={choicesOf(realms)}
          onChange={(event) => {
            void navigate({ to: "/r/$realm/plan", params: { realm: event.target.value } });
          }}
        />
        <TextField
          label={t("File")}
          value={draft.name}
          onChange={(event) => {
            change({ name: event.target.value });
          }}
        />
        <TextField
          label={t("Kept by")}
          value={draft.keeper}
          onChange={(event) => {
            change({ keeper: event.target.value });
          }}
        />
        <Check
          label={t("Adopt statements without a keeper")}
          checked={draft.adopts}
          onChange={(event) => {
            change({ adopts: event.target.checked });
          }}
        />
      </Filters>
      {problem && <ProblemView problem={problem} />}
      <div
        className={styles.drop}
        onDragOver={(event) => {
          event.preventDefault();
        }}
        onDrop={(event) => {
          event.preventDefault();
          const file = event.dataTransfer.files[0];
          if (file) open(file);
        }}
      >
        <Field label={t("Policy file: paste it, or drop a file here")}>
          {(ids) => (
            <textarea
              {...ids}
              className={styles.text}
              value={draft.text}
              spellCheck={false}
              rows={Math.min(28, Math.max(10, draft.text.split("\n").length + 1))}
              onChange={(event) => {
                change({ text: event.target.value });
              }}
              onKeyDown={(event) => {
                if (event.key === "Enter" && event.ctrlKey && !busy && draft.text.trim())
                  void make();
              }}
            />
          )}
        </Field>
        {line !== null && (
          <pre className={styles.line} aria-label={t("Line {line}", { line })}>
            <b>{line}</b> {draft.text.split("\n")[line - 1] ?? ""}
          </pre>
        )}
        {!draft.text && (
          <Button disabled={busy} onClick={() => void start()}>
            {t("Start from the realm’s statements")}
          </Button>
        )}
      </div>
      {plan && (
        <Shown
          realm={realm}
          plan={plan}
          canApply={rights.may("realm.apply")}
          busy={busy}
          onApply={() => {
            setAsking(true);
          }}
        />
      )}
      <Confirm
        open={asking}
        title={t("Apply this plan?")}
        act={t("Apply plan")}
        onAct={() => void apply()}
        onClose={() => {
          setAsking(false);
        }}
      >
        <p>
          {t("It does exactly what is shown, and is refused where the realm has changed since.")}
        </p>
      </Confirm>
    </Page>
  );
}

/** The line that an error of a file names: `… (at line 7, column 3)`, `policy.yaml: line 7`. */
function lineOf(problem: Problem | null): number | null {
  const found = /line (\d+)/.exec(problem?.detail ?? "");
  return found?.[1] ? Number(found[1]) : null;
}

function Shown({
  realm,
  plan,
  canApply,
  busy,
  onApply,
}: {
  realm: string;
  plan: Plan;
  canApply: boolean;
  busy: boolean;
  onApply: () => void;
}) {
  const { access, statements, roles, members } = plan;
  if (!plan.pending)
    return <Empty title={t("The realm holds what the file says: nothing is pending.")} />;
  const download = URL.createObjectURL(
    new Blob([JSON.stringify(plan, null, 2)], { type: "application/json" }),
  );
  return (
    <>
      <Card
        title={t("What it changes")}
        note={
          <span className={styles.acts}>
            <Link to="/r/$realm/matrix" params={{ realm }} search={{ against: PLANNED }}>
              {t("Show in the matrix")}
            </Link>
            <a href={download} download="plan.json">
              {t("Download plan.json")}
            </a>
            {canApply && (
              <Button look="main" disabled={busy} onClick={onApply}>
                {t("Apply")}
              </Button>
            )}
          </span>
        }
      >
        <p className={styles.sum}>
          {t("{new} new, {changed} changed, {gone} removed; {foreign} of others are left alone.", {
            new: statements.filter((one) => one.was === null).length,
            changed: statements.filter((one) => one.was !== null && one.now !== null).length,
            gone: statements.filter((one) => one.now === null).length,
            foreign: count(plan.foreign),
          })}
        </p>
        <ul className={styles.rows}>
          {statements.map((one) => (
            <li key={one.id}>
              <b data-sign={sign(one)}>{sign(one)}</b>{" "}
              {one.was === null ? (
                <Name text={one.id} />
              ) : (
                <Link to="/r/$realm/statement" params={{ realm }} search={{ id: one.id }}>
                  <Name text={one.id} />
                </Link>
              )}
            </li>
          ))}
          {roles.new.map((name) => (
            <li key={`+${name}`}>
              <b data-sign="+">+</b> {t("role")} <Name text={name} />
            </li>
          ))}
          {roles.gone.map((name) => (
            <li key={`-${name}`}>
              <b data-sign="−">−</b> {t("role")} <Name text={name} />
            </li>
          ))}
          {members.new.map(([member, of]) => (
            <li key={`+${String(member)} ${String(of)}`}>
              <b data-sign="+">+</b> <Name text={String(member)} /> {t("in")}{" "}
              <Name text={String(of)} />
            </li>
          ))}
          {members.gone.map(([member, of]) => (
            <li key={`-${String(member)} ${String(of)}`}>
              <b data-sign="−">−</b> <Name text={String(member)} /> {t("in")}{" "}
              <Name text={String(of)} />
            </li>
          ))}
        </ul>
      </Card>
      <Card
        title={t("Access gained and lost")}
        note={t("{gained} gained, {lost} lost; {users} people, {entities} entities", {
          gained: count(access.gained),
          lost: count(access.lost),
          users: count(access.users),
          entities: count(access.entities),
        })}
        pad={false}
      >
        <AccessChange access={access} />
      </Card>
    </>
  );
}

function sign(one: Plan["statements"][number]): string {
  if (one.was === null) return "+";
  return one.now === null ? "−" : "~";
}
