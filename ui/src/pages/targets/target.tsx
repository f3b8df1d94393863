import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { $api, api, problemOf, type Problem, type Schemas } from "../../api/client";
import { useRights } from "../../api/rights";
import { Button } from "../../parts/button";
import { CommandButton } from "../../parts/copy";
import { keepDraft } from "../../parts/draft";
import { Confirm } from "../../parts/drawer";
import { Card, Page, Tag } from "../../parts/page";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { say } from "../../parts/toast";
import { ago, count, t } from "../../words";
import { DriftCards } from "./drift";
import { following, Pushed, State, type Target } from "./list";
import { PlanCards } from "./plan";
import styles from "./targets.module.css";

const route = getRouteApi("/target");

/** The last result that was requested from the target. */
interface Shown {
  plan?: Schemas["PushPlanResponse"];
  drift?: Schemas["DriftResponse"];
  account?: Schemas["TargetDoctorResponse"];
}

/** One target: what a push would change, what others changed, and applying or resetting it. */
export default function TargetPage() {
  const { realm = "", name = "" } = route.useSearch();
  const targets = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/targets",
    { params: { path: { realm } } },
    { enabled: realm !== "", retry: false },
  );
  const target = targets.data?.targets.find((one) => one.name === name);
  return (
    <>
      {target && <Known key={`${realm} ${name}`} target={target} />}
      {!target && (
        <Page title={name || t("Target")} where={<Link to="/targets">{t("Targets")}</Link>}>
          {targets.isLoading && <Loading rows={6} />}
          {targets.error && (
            <ProblemView
              problem={problemOf(targets.error)}
              onRetry={() => void targets.refetch()}
            />
          )}
          {!targets.isLoading && !targets.error && (
            <Empty title={t("There is no target of this name.")}>
              <Link to="/targets">{t("All targets")}</Link>
            </Empty>
          )}
        </Page>
      )}
    </>
  );
}

function Known({ target }: { target: Target }) {
  const { realm, name } = target;
  const rights = useRights(realm);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [shown, setShown] = useState<Shown>({});
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const [asking, setAsking] = useState<"apply" | "reset" | "remove" | null>(null);
  const at = { params: { path: { realm, target: name } } };
  const run = async (task: () => Promise<void>) => {
    setBusy(true);
    setProblem(null);
    setAsking(null);
    try {
      await task();
    } catch (failure) {
      setProblem(problemOf(failure));
    } finally {
      setBusy(false);
    }
  };
  const plan = () =>
    run(async () => {
      const made = answer(await api.POST("/api/v1/realms/{realm}/targets/{target}/plan", at));
      setShown({ plan: made });
    });
  const drift = () =>
    run(async () => {
      const found = answer(await api.POST("/api/v1/realms/{realm}/targets/{target}/drift", at));
      setShown({ drift: found });
    });
  const check = () =>
    run(async () => {
      const found = answer(await api.POST("/api/v1/realms/{realm}/targets/{target}/doctor", at));
      setShown({ account: found });
    });
  const apply = () =>
    run(async () => {
      const digest = shown.plan?.digest ?? "";
      const path = "/api/v1/realms/{realm}/targets/{target}/apply";
      const done = answer(await api.POST(path, { ...at, body: { digest } }));
      setShown({});
      await queries.invalidateQueries();
      say(t("Pushed: {n} statements", { n: count(done.statements) }));
    });
  const reset = () =>
    run(async () => {
      const done = answer(await api.POST("/api/v1/realms/{realm}/targets/{target}/reset", at));
      setShown({});
      await queries.invalidateQueries();
      say(t("Taken back: {n} statements", { n: count(done.statements) }));
    });
  const remove = () =>
    run(async () => {
      const { error } = await api.DELETE("/api/v1/realms/{realm}/targets/{target}", at);
      if (error) throw problemOf(error) as unknown as Error;
      await navigate({ to: "/targets", search: { realm } });
      await queries.invalidateQueries();
      say(t("Target {name} removed", { name }));
    });
  const adopt = () =>
    run(async () => {
      const made = answer(await api.POST("/api/v1/realms/{realm}/targets/{target}/adopt", at));
      const file = { name: `adopted-${name}.toml`, text: made.text };
      keepDraft(`plan ${realm}`, { ...file, keeper: `adopted-${name}`, adopts: false });
      await navigate({ to: "/r/$realm/plan", params: { realm } });
      say(
        t("{n} statements proposed, {left} grants left out", {
          n: count(made.statements),
          left: count(made.left_count),
        }),
      );
    });
  return (
    <Page
      title={name}
      where={
        <Link to="/targets" search={{ realm }}>
          {t("Targets")}
        </Link>
      }
      tags={
        <>
          <Tag>{target.kind}</Tag>
          <State target={target} />
        </>
      }
      acts={
        <>
          <CommandButton command={`lakewarden push plan ${name}`} />
          <Button disabled={busy} onClick={() => void check()}>
            {t("Check the account")}
          </Button>
          <Button disabled={busy} onClick={() => void drift()}>
            {t("Look for drift")}
          </Button>
          <Button look="main" disabled={busy} onClick={() => void plan()}>
            {t("Plan a push")}
          </Button>
        </>
      }
    >
      <div className={styles.stack} aria-busy={busy}>
        <Facts target={target} />
        {problem && <ProblemView problem={problem} />}
        {busy && <Loading rows={4} />}
        {!busy && shown.plan && (
          <PlanCards
            plan={shown.plan}
            canApply={rights.may("push.apply")}
            onApply={() => {
              setAsking("apply");
            }}
          />
        )}
        {!busy && shown.drift && (
          <DriftCards
            drift={shown.drift}
            onAdopt={rights.may("realm.plan") ? () => void adopt() : undefined}
          />
        )}
        {!busy && shown.account && <Account {...shown.account} />}
        <footer className={styles.acts}>
          {rights.may("push.apply") && (
            <Button
              look="danger"
              disabled={busy}
              onClick={() => {
                setAsking("reset");
              }}
            >
              {t("Take everything back…")}
            </Button>
          )}
          {rights.may("push_target.remove") && (
            <Button
              look="danger"
              disabled={busy}
              onClick={() => {
                setAsking("remove");
              }}
            >
              {t("Remove the target…")}
            </Button>
          )}
        </footer>
      </div>
      <Confirm
        open={asking === "apply"}
        title={t("Push to {name}?", { name })}
        act={t("Push")}
        onAct={() => void apply()}
        onClose={() => {
          setAsking(null);
        }}
      >
        <p>
          {t(
            "It does exactly what is shown, and is refused where the realm or the target has changed since.",
          )}
        </p>
      </Confirm>
      <Confirm
        open={asking === "reset"}
        title={t("Take everything back from {name}?", { name })}
        act={t("Take back")}
        onAct={() => void reset()}
        onClose={() => {
          setAsking(null);
        }}
      >
        <p>
          {t("All roles, grants and row policies of lakewarden go; those of others stay.")}{" "}
          {t("{n} roles", { n: count(target.roles) })}
        </p>
      </Confirm>
      <Confirm
        open={asking === "remove"}
        title={t("Remove the target {name}?", { name })}
        act={t("Remove")}
        onAct={() => void remove()}
        onClose={() => {
          setAsking(null);
        }}
      >
        <p>{t("Its address is forgotten. What was pushed stays there; take it back first.")}</p>
      </Confirm>
    </Page>
  );
}

/** The body of a response; throws its problem. */
function answer<T>({ data, error }: { data?: T; error?: unknown }): T {
  if (error !== undefined || data === undefined) throw problemOf(error) as unknown as Error;
  return data;
}

function Facts({ target }: { target: Target }) {
  const { drift } = target;
  return (
    <Card title={t("This target")}>
      <dl className={styles.facts}>
        <div>
          <dt>{t("Catalog")}</dt>
          <dd>
            <code>{target.catalog}</code>
          </dd>
        </div>
        <div>
          <dt>{t("Realm")}</dt>
          <dd>
            <Link to="/realm" search={{ name: target.realm }}>
              {target.realm}
            </Link>
          </dd>
        </div>
        <div>
          <dt>{t("Last push")}</dt>
          <dd>
            <Pushed target={target} />
            {target.revision > 0 && <> {t("at revision {n}", { n: count(target.revision) })}</>}
          </dd>
        </div>
        <div>
          <dt>{t("Is pushed")}</dt>
          <dd>{following(target)}</dd>
        </div>
        {target.style && (
          <div>
            <dt>{t("Style")}</dt>
            <dd>{t("as {system}’s plug-in", { system: target.style })}</dd>
          </div>
        )}
        <div>
          <dt>{t("Roles")}</dt>
          <dd>{count(target.roles)}</dd>
        </div>
        {drift && (
          <div>
            <dt>{t("Found by the watch")}</dt>
            <dd>
              {t("{missing} missing, {added} added, {denied} held though denied", {
                missing: count(drift.missing),
                added: count(drift.added),
                denied: count(drift.denied),
              })}
              , {ago(Date.parse(drift.since) / 1000)}
            </dd>
          </div>
        )}
      </dl>
    </Card>
  );
}

function Account({ missing, warnings }: Schemas["TargetDoctorResponse"]) {
  return (
    <>
      {!missing.length && <Empty title={t("The account may do everything that a push does.")} />}
      {missing.length > 0 && <Said title={t("What the account lacks")} lines={missing} />}
      {warnings.length > 0 && <Said title={t("Warnings")} lines={warnings} />}
    </>
  );
}

function Said({ title, lines }: { title: string; lines: string[] }) {
  return (
    <Card title={title}>
      <ul className={styles.rows}>
        {lines.map((one) => (
          <li key={one}>{one}</li>
        ))}
      </ul>
    </Card>
  );
}
