import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";

import { $api, problemOf, type Problem, type Schemas } from "../../api/client";
import { useHeld, useMayOn } from "../../api/rights";
import { useVocabulary } from "../../api/server";
import { suggest } from "../../api/suggest";
import { Button } from "../../parts/button";
import { forgetDraft, keepDraft, keptDraft } from "../../parts/draft";
import { Confirm } from "../../parts/drawer";
import { EffectCard, useEffectOf, type Draft } from "../../parts/effect";
import { bare, kindOf, Name, principalOf } from "../../parts/name";
import { Beside, Card, Page, Tag } from "../../parts/page";
import { Picker } from "../../parts/picker";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { say } from "../../parts/toast";
import { Versions, type VersionRow } from "../../parts/versions";
import { count, t } from "../../words";
import { assign, deleteRole, roleParts, store, type Condition, type Held } from "./gravitino";
import styles from "./role.module.css";

const route = getRouteApi("/r/$realm/role");
type Statement = Schemas["StatementRow"];
type Grid = Record<string, Held>;

/** One role as a grid: objects by privileges, each ALLOW, DENY or neither. */
export default function RolePage() {
  const { realm } = route.useParams();
  const { name = "" } = route.useSearch();
  const role = `role:${name}`;
  const stored = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/statements",
    { params: { path: { realm }, query: { to: role, fields: "reach", "page.limit": 1000 } } },
    { enabled: name !== "", retry: false },
  );
  const vocabulary = useVocabulary(realm);
  const where = (
    <Link to="/r/$realm/roles" params={{ realm }}>
      {t("Roles of {realm}", { realm })}
    </Link>
  );
  if (!name)
    return (
      <Page title={t("Role")} where={where}>
        <Empty title={t("The address names no role.")} />
      </Page>
    );
  if (!stored.data || !vocabulary.data) {
    const failure = stored.error ?? vocabulary.error;
    return (
      <Page title={roleParts(role).name} where={where}>
        {failure ? (
          <ProblemView problem={problemOf(failure)} onRetry={() => void stored.refetch()} />
        ) : (
          <Loading rows={6} />
        )}
      </Page>
    );
  }
  return (
    <Editor
      key={`${realm} ${role}`}
      realm={realm}
      role={role}
      where={where}
      stored={stored.data.statements}
      total={stored.data.total}
      onReload={async () => {
        const read = await stored.refetch({ throwOnError: true });
        return read.data?.statements ?? [];
      }}
      privileges={vocabulary.data.privileges}
    />
  );
}

/** An unsaved edit: the new state, and the state that it started from. */
interface Kept {
  base: Grid;
  mine: Grid;
}

/** The statements of a role, by entity. */
function gridOf(stored: Statement[]): Grid {
  const grid: Grid = {};
  for (const one of stored) {
    if (!one.on) continue;
    const held = (grid[one.on] ??= {});
    for (const privilege of one.privileges)
      held[privilege] = one.effect === "deny" ? "DENY" : "ALLOW";
  }
  return grid;
}

/** The statements in which the grid differs from the stored ones, as a draft. */
function draftOf(role: string, stored: Statement[], now: Grid): Draft {
  const put: NonNullable<Draft["put"]> = [];
  const remove: string[] = [];
  const { metalake, name } = roleParts(role);
  for (const entity of Object.keys(now)) {
    for (const condition of ["ALLOW", "DENY"] as const) {
      const effect = condition === "DENY" ? "deny" : "allow";
      const known = stored.find(
        (one) => one.on === entity && (one.effect ?? "allow") === effect && one.to.includes(role),
      );
      const privileges = Object.entries(now[entity] ?? {})
        .filter(([, one]) => one === condition)
        .map(([privilege]) => privilege)
        .sort();
      if (privileges.join() === [...(known?.privileges ?? [])].sort().join()) continue;
      const id = known?.id ?? `${metalake}:${name}/${kindOf(entity)}:${bare(entity)}/${effect}`;
      if (privileges.length === 0) remove.push(id);
      else put.push({ ...empty, id, effect, privileges, to: [role], on: entity, title: name });
    }
  }
  return { put, remove };
}

const empty = { active: true, mark: "" } as const;

function Editor({
  realm,
  role,
  where,
  stored,
  total,
  onReload,
  privileges,
}: {
  realm: string;
  role: string;
  where: React.ReactNode;
  stored: Statement[];
  /** How many statements the role has, shown or not. */
  total: number;
  /** Rereads the statements: another user may have changed them. */
  onReload: () => Promise<Statement[]>;
  privileges: Schemas["PrivilegeResponse"][];
}) {
  const queries = useQueryClient();
  const was = useMemo(() => gridOf(stored), [stored]);
  const key = `role ${realm} ${role}`;
  const [kept, setKept] = useState(() => keptDraft<Kept>(key));
  const [theirs, setTheirs] = useState<Grid | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const now = kept?.mine ?? was;
  const base = kept?.base ?? was;
  const changed = draftOf(role, stored, now);
  const dirty = (changed.put?.length ?? 0) + (changed.remove?.length ?? 0) > 0;
  const effect = useEffectOf(realm, dirty ? changed : null);
  const mayGrant = useMayOn(realm, "privilege.grant").entities.length > 0;
  const set = (entity: string, privilege: string, condition: Condition | null) => {
    const held = Object.fromEntries(
      Object.entries(now[entity] ?? {}).filter(([one]) => one !== privilege),
    );
    edit({ ...now, [entity]: condition ? { ...held, [privilege]: condition } : held });
  };
  const keep = (next: Kept) => {
    setKept(next);
    // An edit that changes nothing yet is not worth keeping.
    if (alike(next.base, next.mine)) forgetDraft(key);
    else keepDraft(key, next);
  };
  const edit = (mine: Grid) => {
    keep({ base, mine });
  };
  const discard = () => {
    setKept(null);
    forgetDraft(key);
    setTheirs(null);
  };
  const save = async (seen: Grid) => {
    setBusy(true);
    setProblem(null);
    try {
      const fresh = gridOf(await onReload());
      if (!alike(fresh, seen)) {
        setTheirs(fresh);
        return;
      }
      for (const entity of Object.keys(now))
        await store(realm, role, entity, fresh[entity] ?? {}, now[entity] ?? {});
      discard();
      say(t("Role saved"));
    } catch (failure) {
      setProblem(problemOf(failure));
      // The part that was stored before the failure is the user's own: it is no other version.
      const fresh = await onReload().catch(() => null);
      if (fresh) keep({ base: gridOf(fresh), mine: now });
    } finally {
      await queries.invalidateQueries();
      setBusy(false);
    }
  };
  const { isSeen } = effect;
  const title = roleParts(role).name;
  return (
    <Page
      title={title}
      heading={<Name text={title} />}
      where={where}
      tags={
        <>
          <Tag>{roleParts(role).metalake}</Tag>
          {dirty && <Tag state="partial">{t("not saved yet")}</Tag>}
        </>
      }
      acts={
        <>
          <Remove realm={realm} role={role} stored={stored} />
          {dirty && (
            <Button disabled={busy} onClick={discard}>
              {t("Discard changes")}
            </Button>
          )}
          {(mayGrant || dirty) && (
            <Button
              look="main"
              disabled={!dirty || busy || !isSeen}
              onClick={() => void save(theirs ?? base)}
            >
              {t("Save role")}
            </Button>
          )}
        </>
      }
    >
      {problem && <ProblemView problem={problem} />}
      {stored.length < total && (
        <p role="note">
          {t("Only the first {n} of {total} statements of this role are shown and previewed.", {
            n: count(stored.length),
            total: count(total),
          })}
        </p>
      )}
      {theirs && (
        <Versions
          title={t("Somebody else has changed this role")}
          rows={versionsOf(base, theirs, now)}
          busy={busy || !isSeen}
          onTheirs={discard}
          onMine={() => void save(theirs)}
        />
      )}
      <Beside
        side={
          <>
            {dirty && <EffectCard realm={realm} effect={effect} />}
            <Members realm={realm} role={role} />
          </>
        }
      >
        {Object.keys(now).length === 0 && (
          <Empty
            title={
              mayGrant
                ? t("The role says nothing yet: name an object it is about.")
                : t("The role has no privileges yet.")
            }
          />
        )}
        {Object.entries(now).map(([entity, held]) => (
          <ObjectCard
            key={entity}
            realm={realm}
            entity={entity}
            held={held}
            stored={stored.filter((one) => one.on === entity)}
            privileges={privileges.filter(
              (one) => one.grantable && (one.on.includes(kindOf(entity)) || one.on.includes("any")),
            )}
            onSet={(privilege, condition) => {
              set(entity, privilege, condition);
            }}
          />
        ))}
        {mayGrant && (
          <AddObject
            realm={realm}
            metalake={roleParts(role).metalake}
            onAdd={(entity) => {
              edit({ ...now, [entity]: now[entity] ?? {} });
            }}
          />
        )}
      </Beside>
    </Page>
  );
}

function alike(one: Grid, other: Grid): boolean {
  return versionsOf(one, other, one).every(({ was, theirs }) => was.join() === theirs.join());
}

/** What each version of a role says about an object, one privilege per line. */
function versionsOf(base: Grid, theirs: Grid, mine: Grid): VersionRow[] {
  const entities = new Set([base, theirs, mine].flatMap((grid) => Object.keys(grid)));
  return [...entities].sort().map((entity) => {
    const [was, them, me] = [base, theirs, mine].map((grid) =>
      Object.entries(grid[entity] ?? {})
        .map(([privilege, condition]) => `${condition} ${privilege}`)
        .sort(),
    ) as [string[], string[], string[]];
    return { title: bare(entity), was, theirs: them, mine: me };
  });
}

const NEXT: Record<string, Condition | null> = { "": "ALLOW", ALLOW: "DENY", DENY: null };

function ObjectCard({
  realm,
  entity,
  held,
  stored,
  privileges,
  onSet,
}: {
  realm: string;
  entity: string;
  held: Held;
  stored: Statement[];
  privileges: Schemas["PrivilegeResponse"][];
  onSet: (privilege: string, condition: Condition | null) => void;
}) {
  const may = useHeld(realm, entity);
  const fixed = !may("privilege.grant") || !may("privilege.revoke");
  const reach = Math.max(0, ...stored.map((one) => one.reach?.entities ?? 0));
  return (
    <Card
      label={bare(entity)}
      title={
        <Link to="/asset" search={{ realm, e: entity }}>
          {kindOf(entity)} <Name text={bare(entity)} cut={70} />
        </Link>
      }
      note={
        reach > 0
          ? t("{n, plural, one {# entity} other {# entities}} below", { n: reach })
          : undefined
      }
    >
      <ul className={styles.cells}>
        {privileges.map((one, place) => {
          const condition = held[one.name] ?? null;
          return (
            <li key={one.name}>
              <button
                type="button"
                className={styles.cell}
                data-condition={condition ?? "none"}
                aria-keyshortcuts={place === 0 ? "e" : undefined}
                disabled={fixed}
                onClick={() => {
                  onSet(one.name, NEXT[condition ?? ""] ?? null);
                }}
                onKeyDown={(event) => {
                  if (event.ctrlKey || event.metaKey || event.altKey) return;
                  if (event.key === "a") onSet(one.name, "ALLOW");
                  else if (event.key === "d") onSet(one.name, "DENY");
                  else if (event.key === "Delete") onSet(one.name, null);
                }}
              >
                <b>{condition ?? "–"}</b> <code>{one.name}</code>
              </button>
            </li>
          );
        })}
      </ul>
      <p className={styles.hint}>
        {fixed
          ? t(
              "You may not grant or revoke here: that is for whoever holds MANAGE_GRANTS, or owns it.",
            )
          : t("Press a cell for ALLOW, DENY, neither; or a, d and Delete on the keyboard.")}
      </p>
    </Card>
  );
}

function AddObject({
  realm,
  metalake,
  onAdd,
}: {
  realm: string;
  metalake: string;
  onAdd: (entity: string) => void;
}) {
  const [entity, setEntity] = useState("");
  const isWhole = entity.split(":")[1] === metalake;
  return (
    <Card title={t("Another object")}>
      <form
        className={styles.add}
        onSubmit={(event) => {
          event.preventDefault();
          onAdd(entity);
          setEntity("");
        }}
      >
        <Picker
          label={t("Object")}
          placeholder={t("type:{metalake}:name", { metalake })}
          value={entity}
          onChange={setEntity}
          suggest={suggest("entity", realm)}
          source={`entities ${realm}`}
        />
        <Button type="submit" disabled={!isWhole}>
          {t("Add object")}
        </Button>
      </form>
    </Card>
  );
}

function Members({ realm, role }: { realm: string; role: string }) {
  const queries = useQueryClient();
  const may = useHeld(realm, `metalake:${roleParts(role).metalake}`);
  const [who, setWho] = useState("");
  const [change, setChange] = useState<{ member: string; verb: "grant" | "revoke" } | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const found = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/memberships",
    { params: { path: { realm }, query: { of: role, "page.limit": 1000 } } },
    { retry: false },
  );
  const row = change ? { member: change.member, of: role } : null;
  const effect = useEffectOf(
    realm,
    row && change
      ? {
          members:
            change.verb === "grant" ? { add: [row], remove: [] } : { add: [], remove: [row] },
        }
      : null,
    0,
  );
  const act = async () => {
    if (!change) return;
    try {
      await assign(realm, role, change.member, change.verb);
    } catch (failure) {
      setProblem(problemOf(failure));
      return;
    }
    say(change.verb === "grant" ? t("Role assigned") : t("Role taken back"));
    setChange(null);
    setWho("");
    await queries.invalidateQueries();
  };
  const ask = (member: string, verb: "grant" | "revoke") => {
    setProblem(null);
    setChange({ member: principalOf(member), verb });
  };
  return (
    <Card title={t("Held by")}>
      {found.error && (
        <ProblemView problem={problemOf(found.error)} onRetry={() => void found.refetch()} />
      )}
      {found.data?.memberships.length === 0 && <p>{t("nobody")}</p>}
      <ul className={styles.members}>
        {found.data?.memberships.map((one) => (
          <li key={one.member}>
            <Link to="/principal" search={{ realm, p: one.member }}>
              <Name text={bare(one.member)} />
            </Link>{" "}
            <small>{kindOf(one.member)}</small>
            <Button
              look="quiet"
              hidden={!may("role.revoke")}
              onClick={() => {
                ask(one.member, "revoke");
              }}
              aria-label={t("Take back from {who}", { who: bare(one.member) })}
            >
              {t("Take back")}
            </Button>
          </li>
        ))}
      </ul>
      {found.data && found.data.memberships.length < found.data.total && (
        <p>{t("and {n} more", { n: count(found.data.total - found.data.memberships.length) })}</p>
      )}
      <form
        className={styles.add}
        hidden={!may("role.grant")}
        onSubmit={(event) => {
          event.preventDefault();
          ask(who, "grant");
        }}
      >
        <Picker
          label={t("Assign to")}
          placeholder={t("a user or group")}
          value={who}
          onChange={setWho}
          suggest={suggest("user,group", realm)}
          source={`holders ${realm}`}
        />
        <Button type="submit" disabled={!who}>
          {t("Assign…")}
        </Button>
      </form>
      <Confirm
        open={change !== null}
        title={
          change?.verb === "revoke"
            ? t("Take the role back from {who}?", { who: bare(change.member) })
            : t("Assign the role to {who}?", { who: bare(change?.member ?? "") })
        }
        act={change?.verb === "revoke" ? t("Take it back") : t("Assign role")}
        disabled={!effect.isSeen}
        onAct={act}
        onClose={() => {
          setChange(null);
        }}
      >
        <EffectCard realm={realm} effect={effect} />
        {problem && <ProblemView problem={problem} />}
      </Confirm>
    </Card>
  );
}

function Remove({ realm, role, stored }: { realm: string; role: string; stored: Statement[] }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [open, setOpen] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const effect = useEffectOf(realm, open ? { remove: stored.map((one) => one.id) } : null, 0);
  const may = useHeld(realm, role);
  const act = async () => {
    try {
      await deleteRole(realm, role);
    } catch (failure) {
      setProblem(problemOf(failure));
      return;
    }
    await queries.invalidateQueries();
    say(t("Role deleted"));
    await navigate({ to: "/r/$realm/roles", params: { realm } });
  };
  if (!may("role.drop")) return null;
  return (
    <>
      <Button
        look="danger"
        onClick={() => {
          setProblem(null);
          setOpen(true);
        }}
      >
        {t("Delete")}
      </Button>
      <Confirm
        open={open}
        title={t("Delete the role {name}?", { name: roleParts(role).name })}
        act={t("Delete role")}
        disabled={!effect.isSeen}
        onAct={act}
        onClose={() => {
          setOpen(false);
        }}
      >
        <EffectCard realm={realm} effect={effect} />
        {problem && <ProblemView problem={problem} />}
      </Confirm>
    </>
  );
}
