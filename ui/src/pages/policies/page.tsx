import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useBlocker, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { $api, problemOf, type Problem } from "../../api/client";
import { Button, buttonClass } from "../../parts/button";
import { forgetDraft, keepDraft, keptDraft } from "../../parts/draft";
import { Confirm } from "../../parts/drawer";
import { EffectCard, useEffectOf, type Draft as EffectDraft } from "../../parts/effect";
import { History } from "../../parts/history";
import { Name } from "../../parts/name";
import { Beside, Card, Page, Tag } from "../../parts/page";
import { Sentence } from "../../parts/sentence";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { say } from "../../parts/toast";
import { t } from "../../words";
import { Editor } from "./editor";
import { EMPTY, policy, remove, save, type PolicyInfo } from "./policy";

const one = getRouteApi("/r/$realm/policy");
const fresh = getRouteApi("/r/$realm/policy/new");

/** A policy that is stored. */
export default function PolicyPage() {
  const { realm } = one.useParams();
  const { urn = "" } = one.useSearch();
  const stored = useQuery(policy(realm, urn));
  if (!urn)
    return <Frame realm={realm} title={t("Policy")} fault={t("The address names no policy.")} />;
  if (stored.error)
    return <Frame realm={realm} title={t("Policy")} problem={problemOf(stored.error)} />;
  if (!stored.data) return <Frame realm={realm} title={t("Policy")} />;
  return <Draft key={urn} realm={realm} urn={urn} stored={stored.data} />;
}

/** A policy that is being written, empty or as a copy. */
export function NewPolicy() {
  const { realm } = fresh.useParams();
  const { from = "" } = fresh.useSearch();
  const stored = useQuery(policy(realm, from));
  if (from && stored.error)
    return <Frame realm={realm} title={t("New policy")} problem={problemOf(stored.error)} />;
  if (from && !stored.data) return <Frame realm={realm} title={t("New policy")} />;
  const base = stored.data ? copied(stored.data) : EMPTY;
  return <Draft key={from} realm={realm} urn="" stored={base} />;
}

function copied(info: PolicyInfo): PolicyInfo {
  const name = t("Copy of {name}", { name: info.displayName });
  return { ...info, displayName: name, state: "INACTIVE", editable: true };
}

function Frame({
  realm,
  title,
  problem,
  fault,
}: {
  realm: string;
  title: string;
  problem?: Problem;
  fault?: string;
}) {
  return (
    <Page title={title} where={<Back realm={realm} />}>
      {problem ? (
        <ProblemView problem={problem} />
      ) : fault ? (
        <Empty title={fault} />
      ) : (
        <Loading rows={8} />
      )}
    </Page>
  );
}

function Back({ realm }: { realm: string }) {
  return (
    <Link to="/r/$realm/policies" params={{ realm }}>
      {t("Policies of {realm}", { realm })}
    </Link>
  );
}

function Draft({ realm, urn, stored }: { realm: string; urn: string; stored: PolicyInfo }) {
  const key = `policy ${realm} ${urn}`;
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [draft, setDraft] = useState(() => keptDraft<PolicyInfo>(key));
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const locked = stored.editable === false;
  const info = draft ?? stored;
  const dirty = draft !== null && JSON.stringify(draft) !== JSON.stringify(stored);
  const change = (next: PolicyInfo) => {
    setDraft(next);
    keepDraft(key, next);
  };
  const discard = () => {
    setDraft(null);
    setProblem(null);
    forgetDraft(key);
  };
  const store = async (next: PolicyInfo, said: string) => {
    setBusy(true);
    setProblem(null);
    try {
      const to = await save(realm, urn, next);
      forgetDraft(key);
      await queries.invalidateQueries();
      say(said);
      if (urn) setDraft(null);
      else
        await navigate({
          to: "/r/$realm/policy",
          params: { realm },
          search: { urn: to },
          ignoreBlocker: true,
        });
    } catch (failure) {
      setProblem(problemOf(failure));
    } finally {
      setBusy(false);
    }
  };
  const leave = useBlocker({
    shouldBlockFn: () => dirty && !locked,
    enableBeforeUnload: false,
    withResolver: true,
  });
  const effect = useEffectOf(
    realm,
    dirty || !urn ? drafted(urn, { ...info, state: "ACTIVE" }) : null,
  );
  const isSeen = effect.isCurrent && (effect.shown !== undefined || effect.isDenied);
  const title = info.displayName || (urn ? urn : t("New policy"));
  const isActive = stored.state === "ACTIVE";
  return (
    <Page
      title={title}
      heading={<Name text={title} />}
      where={<Back realm={realm} />}
      tags={
        <>
          <Tag state={isActive ? "allow" : undefined}>{isActive ? t("Active") : t("Inactive")}</Tag>
          {locked && <Tag>{t("locked")}</Tag>}
          {dirty && <Tag state="partial">{t("not saved yet")}</Tag>}
        </>
      }
      acts={
        <>
          {urn && (
            <Switches realm={realm} urn={urn} stored={stored} busy={busy || dirty} store={store} />
          )}
          {!locked && (
            <>
              {dirty && urn && (
                <Button disabled={busy} onClick={discard}>
                  {t("Discard changes")}
                </Button>
              )}
              <Button
                look="main"
                disabled={busy || !info.displayName.trim() || (!dirty && urn !== "") || !isSeen}
                onClick={() => void store(info, t("Policy saved"))}
              >
                {urn ? t("Save") : t("Save as inactive policy")}
              </Button>
            </>
          )}
        </>
      }
    >
      {locked && (
        <p role="note">
          {t(
            "This policy comes with DataHub and is locked, so that nobody locks themselves out. Copy it to change the copy.",
          )}
        </p>
      )}
      {problem && <ProblemView problem={problem} />}
      <Beside
        side={
          dirty || !urn ? (
            <EffectCard
              realm={realm}
              effect={effect}
              title={info.state === "ACTIVE" ? undefined : t("Once it is active")}
            />
          ) : (
            <>
              <InWords realm={realm} urn={urn} />
              <History realm={realm} about={{ statement: urn }} />
            </>
          )
        }
      >
        <Editor
          realm={realm}
          info={info}
          isNew={!urn}
          onChange={change}
          disabled={locked || busy}
        />
      </Beside>
      <Confirm
        open={leave.status === "blocked"}
        title={t("Leave without saving?")}
        act={t("Leave")}
        onAct={() => {
          leave.proceed?.();
        }}
        onClose={() => {
          leave.reset?.();
        }}
      >
        <p>{t("What you changed stays in this tab, and is there when you come back.")}</p>
      </Confirm>
    </Page>
  );
}

interface SwitchesProps {
  realm: string;
  urn: string;
  stored: PolicyInfo;
  busy: boolean;
  store: (info: PolicyInfo, said: string) => Promise<void>;
}

/** What is done with a stored policy as a whole. */
function Switches({ realm, urn, stored, busy, store }: SwitchesProps) {
  return (
    <>
      <Link
        className={buttonClass()}
        to="/r/$realm/policy/new"
        params={{ realm }}
        search={{ from: urn }}
      >
        {t("Copy")}
      </Link>
      {stored.editable !== false && (
        <>
          <Switch realm={realm} urn={urn} stored={stored} busy={busy} store={store} />
          <Remove realm={realm} urn={urn} name={stored.displayName || urn} />
        </>
      )}
    </>
  );
}

/** Activates or deactivates a policy, once its effect was seen. */
function Switch({ realm, urn, stored, busy, store }: SwitchesProps) {
  const [open, setOpen] = useState(false);
  const isActive = stored.state === "ACTIVE";
  const next = { ...stored, state: isActive ? "INACTIVE" : "ACTIVE" };
  const effect = useEffectOf(realm, open ? drafted(urn, next) : null, 0);
  const act = isActive ? t("Deactivate") : t("Activate");
  return (
    <>
      <Button
        disabled={busy}
        onClick={() => {
          setOpen(true);
        }}
      >
        {act}
      </Button>
      <Confirm
        open={open}
        title={
          isActive
            ? t("Deactivate {name}?", { name: stored.displayName })
            : t("Activate {name}?", { name: stored.displayName })
        }
        act={isActive ? t("Deactivate policy") : t("Activate policy")}
        disabled={!effect.isCurrent}
        onAct={() => {
          setOpen(false);
          void store(next, isActive ? t("Policy is inactive now") : t("Policy is active now"));
        }}
        onClose={() => {
          setOpen(false);
        }}
      >
        <EffectCard realm={realm} effect={effect} />
      </Confirm>
    </>
  );
}

/** The policy as a draft that the server tries. */
function drafted(urn: string, info: PolicyInfo): EffectDraft {
  return { policies: { put: [{ name: urn || NEW, value: info }] } };
}

const NEW = "urn:li:dataHubPolicy:new";

/** The stored policy as one sentence; absent where the caller may not read statements. */
function InWords({ realm, urn }: { realm: string; urn: string }) {
  const stored = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/statements/{id}",
    { params: { path: { realm, id: urn } } },
    { retry: false },
  );
  const words = stored.data?.words;
  if (!words?.length) return null;
  return (
    <Card title={t("As it is stored")}>
      <Sentence words={words} large />
    </Card>
  );
}

function Remove({ realm, urn, name }: { realm: string; urn: string; name: string }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [open, setOpen] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const effect = useEffectOf(realm, open ? { policies: { remove: [urn] } } : null, 0);
  const act = async () => {
    try {
      await remove(realm, urn);
    } catch (failure) {
      setProblem(problemOf(failure));
      return;
    }
    forgetDraft(`policy ${realm} ${urn}`);
    await queries.invalidateQueries({ queryKey: ["policies"] });
    say(t("Policy removed"));
    await navigate({ to: "/r/$realm/policies", params: { realm }, ignoreBlocker: true });
  };
  return (
    <>
      <Button
        look="danger"
        onClick={() => {
          setProblem(null);
          setOpen(true);
        }}
      >
        {t("Remove")}
      </Button>
      <Confirm
        open={open}
        title={t("Remove {name}?", { name })}
        act={t("Remove policy")}
        disabled={!effect.isCurrent}
        onAct={() => void act()}
        onClose={() => {
          setOpen(false);
        }}
      >
        <p>
          {t(
            "What only this policy gives is lost with the next request. Deactivate it to keep it.",
          )}
        </p>
        <EffectCard realm={realm} effect={effect} />
        {problem && <ProblemView problem={problem} />}
      </Confirm>
    </>
  );
}
