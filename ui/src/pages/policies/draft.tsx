import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useBlocker, useNavigate } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";

import { $api, problemOf, type Problem } from "../../api/client";
import { managesPolicies } from "../../api/rights";
import { useRealm, useTitleOf } from "../../api/server";
import { Button } from "../../parts/button";
import { forgetDraft, keepDraft, keptDraft } from "../../parts/draft";
import { TextButton } from "../../parts/copy";
import { Confirm } from "../../parts/drawer";
import { edited } from "../../parts/edited";
import { EffectCard, useEffectOf } from "../../parts/effect";
import { History } from "../../parts/history";
import { Name } from "../../parts/name";
import { Card, Page, Tag } from "../../parts/page";
import { Sentence, type Word } from "../../parts/sentence";
import { ProblemView } from "../../parts/states";
import { say } from "../../parts/toast";
import { count, t } from "../../words";
import { Conflict } from "./conflict";
import { Editor, type Met } from "./editor";
import styles from "./policies.module.css";
import { asFile, drafted, policy, save, type PolicyInfo, type Stored } from "./policy";
import { Switches } from "./switches";

/** An unsaved edit: the new state, and the state that it started from. */
interface Kept {
  base: Stored;
  mine: PolicyInfo;
}

/** The status of a write over a version that is no longer stored. */
const OUTDATED = 412;

/** A policy, stored or new, and the edit of it that this tab keeps. */
export function Draft({
  realm,
  urn,
  from = "",
  stored,
}: {
  realm: string;
  urn: string;
  from?: string;
  stored: Stored;
}) {
  const key = urn ? `policy ${realm} ${urn}` : `new policy ${realm} ${from}`;
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [kept, setKept] = useState(() => keptDraft<Kept>(key));
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const isReader = useQuery(managesPolicies(realm)).data === false;
  const locked = stored.info.editable === false || isReader;
  const base = kept?.base ?? stored;
  const info = kept?.mine ?? stored.info;
  const dirty = kept !== null && JSON.stringify(info) !== JSON.stringify(base.info);
  const isOutdated = dirty && base.version !== stored.version;
  const keep = (next: Kept) => {
    setKept(next);
    keepDraft(key, next);
  };
  const forget = () => {
    setKept(null);
    setProblem(null);
    forgetDraft(key);
  };
  const takeTheirs = () => {
    const before = kept;
    forget();
    if (before)
      say(t("Their version is kept"), () => {
        keep(before);
      });
  };
  /** Rereads the stored policy; returns the reason if there is none. */
  const reread = async () => {
    const { queryKey } = policy(realm, urn);
    await queries.invalidateQueries({ queryKey });
    const failure = queries.getQueryState(queryKey)?.error;
    return failure ? gone(problemOf(failure)) : null;
  };
  const store = async (next: PolicyInfo, version: string, said: string) => {
    setBusy(true);
    setProblem(null);
    try {
      const to = await save(realm, urn, next, version);
      forget();
      await queries.invalidateQueries();
      say(said);
      if (!urn)
        await navigate({
          to: "/r/$realm/policy",
          params: { realm },
          search: { urn: to },
          ignoreBlocker: true,
        });
    } catch (failure) {
      const found = problemOf(failure);
      // Rereading brings the other user's version, which is then shown beside this one, or instead.
      setProblem(found.status === OUTDATED ? ((await reread()) ?? outdated(dirty)) : found);
    } finally {
      setBusy(false);
    }
  };
  const leave = useBlocker({
    shouldBlockFn: () => dirty && !locked,
    enableBeforeUnload: false,
    withResolver: true,
  });
  const hasEffect = (dirty && !isOutdated) || !urn;
  // A policy that nobody wrote anything in yet has no effect, and no findings.
  const isBlank = !urn && !from && !dirty;
  const isPreviewed = hasEffect && !isBlank;
  const effect = useEffectOf(
    realm,
    isPreviewed ? drafted(urn, { ...info, state: "ACTIVE" }) : null,
  );
  const { isSeen } = effect;
  const row = useRow(realm, urn);
  const change = effect.shown?.changes[0];
  const entities = useRealm(realm)?.entities ?? undefined;
  const reach = (hasEffect && change?.reach_now) || (hasEffect && !urn ? undefined : row?.reach);
  const met: Met | undefined = reach ? { assets: reach.entities, of: entities } : undefined;
  const isActive = stored.info.state === "ACTIVE";
  const title = info.displayName || (urn ? urn : t("New policy"));
  return (
    <Page
      title={title}
      heading={<Name text={title} />}
      where={<Back realm={realm} />}
      tags={
        <>
          <Tag state={isActive ? "allow" : undefined}>{isActive ? t("Active") : t("Inactive")}</Tag>
          <Tag>{info.type === "PLATFORM" ? t("Platform") : t("Metadata")}</Tag>
          {locked && <Tag>{isReader ? t("read only") : t("locked")}</Tag>}
          {dirty && <Tag state="partial">{t("not saved yet")}</Tag>}
        </>
      }
      acts={
        <>
          <TextButton
            label={t("As file")}
            title={t("The policy as a file")}
            text={asFile(urn, info)}
            done={t("File copied")}
          >
            <p>{t("A metadata file of DataHub, as it is edited here: ingestion reads it.")}</p>
          </TextButton>
          {urn && !isReader && (
            <Switches
              realm={realm}
              urn={urn}
              stored={stored}
              busy={dirty}
              store={(next, said) => store(next, stored.version, said)}
            />
          )}
        </>
      }
    >
      <div className={styles.top}>
        {isReader && <p>{t("You may read this policy, but not change it.")}</p>}
        {locked && !isReader && <Locked because={row?.immutable_because} />}
        {problem && <ProblemView problem={problem} />}
        {info.privileges.length > 0 && (
          <InWords words={hasEffect && change ? marked(change, isActive) : (row?.words ?? [])} />
        )}
        {isOutdated && (
          <Conflict
            realm={realm}
            urn={urn}
            base={base.info}
            theirs={stored.info}
            mine={info}
            busy={busy}
            onTheirs={takeTheirs}
            onMine={() => void store(info, stored.version, t("Policy saved"))}
          />
        )}
      </div>
      <div className={styles.columns}>
        <Editor
          realm={realm}
          info={info}
          base={base.info}
          isNew={!urn}
          met={info.privileges.length ? met : undefined}
          onChange={(mine) => {
            keep({ base, mine });
          }}
          disabled={locked || busy}
        />
        <div className={styles.side}>
          {hasEffect ? (
            <EffectCard
              realm={realm}
              effect={effect}
              title={isActive ? undefined : t("Once it is active")}
              hasWords={false}
              hint={isBlank ? t("Who gains and loses access is shown here as you write.") : ""}
              foot={
                <Foot
                  isActive={isActive}
                  disabled={busy || locked || !info.displayName.trim() || !isSeen}
                  onDiscard={kept ? forget : undefined}
                  onSave={(state) =>
                    void store({ ...info, state }, base.version, t("Policy saved"))
                  }
                />
              }
            />
          ) : (
            <Known realm={realm} urn={urn} reach={row?.reach ?? undefined} />
          )}
        </div>
      </div>
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

/** The message if the policy was removed meanwhile; other problems are unchanged. */
function gone(problem: Problem): Problem {
  if (problem.status !== 404) return problem;
  return conflict(t("somebody else has removed this policy: “As file” has what you wrote"));
}

/** The message if the policy was changed meanwhile; an edit is shown beside the change. */
function outdated(isEdited: boolean): Problem | null {
  if (isEdited) return null;
  return conflict(t("somebody else has changed this policy: try again with what it says now"));
}

function conflict(detail: string): Problem {
  return { type: "about:blank", title: detail, status: 409, detail };
}

/** The actions below the effect. An inactive policy is saved as such, or activated with it. */
function Foot({
  isActive,
  disabled,
  onDiscard,
  onSave,
}: {
  isActive: boolean;
  disabled: boolean;
  onDiscard?: () => void;
  onSave: (state: string) => void;
}) {
  return (
    <div className={styles.foot}>
      <span>{t("Takes effect with the next request.")}</span>
      {onDiscard && <Button onClick={onDiscard}>{t("Discard changes")}</Button>}
      {!isActive && (
        <Button
          disabled={disabled}
          onClick={() => {
            onSave("INACTIVE");
          }}
        >
          {t("Save inactive")}
        </Button>
      )}
      <Button
        look="main"
        disabled={disabled}
        onClick={() => {
          onSave("ACTIVE");
        }}
      >
        {isActive ? t("Save policy") : t("Save and activate")}
      </Button>
    </div>
  );
}

interface Change {
  words_was: Word[];
  words_now: Word[];
}

/**
 * The sentence with the edit in it. The draft is shown as active, so that is not part of the edit.
 */
function marked({ words_was: was, words_now: now }: Change, isActive: boolean): Word[] {
  if (was.length === 0) return now;
  return edited(isActive ? was : was.slice(0, -1), now);
}

function InWords({ words }: { words: Word[] }) {
  if (words.length === 0) return null;
  return (
    <Card label={t("The policy in words")} pad={false}>
      <p className={styles.sentence}>
        <Sentence words={words} />
      </p>
    </Card>
  );
}

/** Why a policy is read-only, in the server's words if the caller may read these. */
function Locked({ because }: { because?: string }) {
  return (
    <Card label={t("Why it is locked")}>
      <p role="note">
        {t("This policy is read-only: {because}. Its copy can be changed.", {
          because: because ?? t("it comes with DataHub, and nobody may change it"),
        })}
      </p>
    </Card>
  );
}

/** Facts about a stored policy: how far it reaches, and its history. */
function Known({
  realm,
  urn,
  reach,
}: {
  realm: string;
  urn: string;
  reach?: { users: number; entities: number };
}): ReactNode {
  return (
    <>
      {reach && (
        <Card title={t("Reaches")}>
          <p className={styles.reach}>
            {t(
              "{users, plural, one {# person} other {# people}} and {entities} assets, whatever else allows or denies",
              { users: reach.users, entities: count(reach.entities) },
            )}
          </p>
        </Card>
      )}
      <History realm={realm} about={{ statement: urn }} />
    </>
  );
}

/** The policy among the realm's statements; absent if the caller may not read these. */
function useRow(realm: string, urn: string) {
  const stored = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/statements/{id}",
    { params: { path: { realm, id: urn }, query: { fields: "reach" } } },
    { retry: false, enabled: urn !== "" },
  );
  return stored.data;
}

/** The link back to the list. */
export function Back({ realm }: { realm: string }) {
  const title = useTitleOf()(realm);
  return (
    <>
      <Link to="/r/$realm/policies" params={{ realm }}>
        {t("Policies")}
      </Link>
      {` / ${title}`}
    </>
  );
}
