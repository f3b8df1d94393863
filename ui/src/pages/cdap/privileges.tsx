import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";

import { $api, callDialect, problemOf, type Problem, type Schemas } from "../../api/client";
import { useHeld, useMayOn } from "../../api/rights";
import { useRealm, useVocabulary } from "../../api/server";
import { everyStatement } from "../../api/statements";
import { suggest } from "../../api/suggest";
import { Button } from "../../parts/button";
import { Drawer } from "../../parts/drawer";
import { EffectCard, useEffectOf } from "../../parts/effect";
import { Check, Filters } from "../../parts/fields";
import { Glyph } from "../../parts/glyph";
import { bare, kindOf, Name, principalOf } from "../../parts/name";
import { Card, Page } from "../../parts/page";
import { PickedFilter, Picker } from "../../parts/picker";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { Table } from "../../parts/table";
import { useSettled } from "../../parts/settled";
import { say } from "../../parts/toast";
import { count, t } from "../../words";
import { draftOf } from "./draft";
import styles from "./privileges.module.css";

const route = getRouteApi("/r/$realm/privileges");
const BASE = "/v3/security/authorization/privileges";
const PAUSE = 300;
const INSTANCE = "instance:cdap";

type Statement = Schemas["StatementRow"];

interface Row {
  principal: string;
  anchor: string;
  held: string[];
  stored: Statement[];
  fixed: boolean;
}

/** CDAP's privileges: who holds which actions on which entity or pattern of names. */
export default function Privileges() {
  const { realm } = route.useParams();
  const { on = "", to = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const known = useRealm(realm);
  const [open, setOpen] = useState<Row | null>(null);
  const grantable = useGrantable(realm);
  const stored = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/statements",
    {
      params: {
        path: { realm },
        query: { on: on || undefined, to: to || undefined, "page.limit": 1000 },
      },
    },
    { retry: false, placeholderData: (before) => before },
  );
  const vocabulary = useVocabulary(realm);
  const actions = (vocabulary.data?.privileges ?? [])
    .filter((one) => one.grantable)
    .map((one) => one.name);
  const rows = rowsOf(stored.data?.statements ?? []);
  return (
    <Page
      title={t("Privileges")}
      acts={
        grantable.somewhere && (
          <Button
            look="main"
            aria-keyshortcuts="n"
            onClick={() => {
              setOpen({ principal: to, anchor: on, held: [], stored: [], fixed: false });
            }}
          >
            {t("New grant")}
          </Button>
        )
      }
    >
      <p role="note" className={styles.note}>
        {known?.model === "cdap_parent_write"
          ? t("In this generation WRITE on the parent creates; what is granted is not inherited.")
          : t(
              "Nothing is inherited here: what is granted on a namespace says nothing about what is inside.",
            )}
      </p>
      <Filters>
        <PickedFilter
          label={t("On")}
          placeholder={t("on which entity")}
          value={on}
          onChange={(entity) => {
            void navigate({ search: { on: entity, to: to || undefined } });
          }}
          suggest={suggest("entity", realm)}
          source={`entities ${realm}`}
        />
        <PickedFilter
          label={t("To whom")}
          placeholder={t("anybody")}
          value={to}
          onChange={(person) => {
            void navigate({ search: { on: on || undefined, to: person } });
          }}
          suggest={suggest("user,group,role", realm)}
          source={`people ${realm}`}
        />
      </Filters>
      {stored.isPending && <Loading rows={8} />}
      {stored.error && (
        <ProblemView problem={problemOf(stored.error)} onRetry={() => void stored.refetch()} />
      )}
      {stored.data && rows.length === 0 && (
        <Empty
          title={
            grantable.somewhere
              ? t("Nobody holds anything here: grant it.")
              : t("Nobody holds anything here.")
          }
        />
      )}
      {rows.length > 0 && (
        <Card pad={false}>
          {stored.data && stored.data.statements.length < stored.data.total && (
            <p role="note" className={styles.note}>
              {t("Of the first {n} of {total} statements: name an entity or somebody for others.", {
                n: count(stored.data.statements.length),
                total: count(stored.data.total),
              })}
            </p>
          )}
          <Table
            label={t("Privileges")}
            rows={rows}
            total={rows.length}
            rowKey={(row) => `${row.principal} ${row.anchor}`}
            onOpen={(row) => {
              if (!row.fixed && grantable.on(row.anchor)) setOpen(row);
            }}
            columns={[
              {
                key: "who",
                title: t("Who"),
                cell: (row) => (
                  <Link to="/principal" search={{ realm, p: row.principal }}>
                    <Name text={bare(row.principal)} />
                  </Link>
                ),
              },
              {
                key: "on",
                title: t("On"),
                cell: (row) => (
                  <>
                    <small>{kindOf(row.anchor)}</small> <Name text={bare(row.anchor)} cut={60} />
                    {isPattern(row.anchor) && <small> {t("a pattern")}</small>}
                  </>
                ),
              },
              ...actions.map((action) => ({
                key: action,
                title: action,
                minor: actions.length > 5,
                cell: (row: Row) =>
                  row.held.includes(action) ? (
                    <Glyph state="allow" size={14} label={t("held")} />
                  ) : (
                    <Glyph state="none" size={14} label={t("not held")} />
                  ),
              })),
              {
                key: "change",
                title: grantable.somewhere ? t("Change") : "",
                label: grantable.somewhere ? undefined : t("Source"),
                cell: (row: Row) =>
                  row.fixed
                    ? t("comes with CDAP")
                    : grantable.on(row.anchor) && (
                        <Button
                          look="quiet"
                          onClick={() => {
                            setOpen(row);
                          }}
                        >
                          {t("Change…")}
                        </Button>
                      ),
              },
            ]}
          />
        </Card>
      )}
      <Drawer
        open={open !== null}
        onClose={() => {
          setOpen(null);
        }}
        title={open?.stored.length ? t("Change a grant") : t("New grant")}
      >
        {open && (
          <Grant
            key={`${open.principal} ${open.anchor}`}
            realm={realm}
            row={open}
            actions={actions}
            onDone={() => {
              setOpen(null);
            }}
          />
        )}
      </Drawer>
    </Page>
  );
}

/**
 * What the caller may grant on: everything, also by patterns and names that are not stored, or
 * single entities.
 */
function useGrantable(realm: string) {
  const isAdmin = useHeld(realm, INSTANCE)("privilege.grant_ahead");
  const { entities, isCut } = useMayOn(realm, "privilege.grant");
  return {
    somewhere: isAdmin || entities.length > 0,
    on: (anchor: string) => isAdmin || isCut || entities.includes(anchor),
  };
}

/** One row for each principal and entity or pattern; patterns last. */
function rowsOf(statements: Statement[]): Row[] {
  const rows = new Map<string, Row>();
  for (const one of statements) {
    const anchor = one.on ?? one.matching;
    if (!anchor) continue;
    for (const principal of one.to) {
      const key = `${principal} ${anchor}`;
      const row = rows.get(key) ?? {
        principal,
        anchor,
        held: [],
        stored: [],
        fixed: false,
      };
      rows.set(key, {
        ...row,
        held: [...new Set([...row.held, ...one.privileges])],
        stored: [...row.stored, one],
        fixed: row.fixed || one.editable === false,
      });
    }
  }
  return [...rows.values()].sort(
    (one, other) =>
      Number(isPattern(one.anchor)) - Number(isPattern(other.anchor)) ||
      one.anchor.localeCompare(other.anchor) ||
      one.principal.localeCompare(other.principal),
  );
}

/** Whether an anchor is a pattern for names of entities. */
function isPattern(anchor: string): boolean {
  return /[*?]/.test(anchor);
}

interface Stored {
  /** Undefined until it is known. */
  row?: Row;
  problem: Problem | null;
  retry: () => void;
}

/** The stored grants of a principal on an entity or pattern, or why they are not known. */
function useStored(realm: string, principal: string, anchor: string): Stored {
  const asked = useSettled(JSON.stringify([principal, anchor]), PAUSE);
  const [to, on] = JSON.parse(asked) as [string, string];
  const isNamed = bare(to) !== "" && kindOf(on) !== "";
  const found = useQuery({
    queryKey: ["grants", realm, to, on],
    // A pattern cannot be queried: it is looked for among all statements that name the person.
    queryFn: ({ signal }) =>
      everyStatement(realm, { to, on: isPattern(on) ? undefined : on }, signal),
    retry: false,
    enabled: isNamed,
  });
  const problem = found.error ? problemOf(found.error) : null;
  const retry = () => void found.refetch();
  if (!found.data || to !== principal || on !== anchor) return { problem, retry };
  const none = { principal, anchor, held: [], stored: [], fixed: false };
  const own = rowsOf(found.data).find(
    (row) => row.principal === principal && row.anchor === anchor,
  );
  return { row: own ?? none, problem, retry };
}

function Grant({
  realm,
  row: given,
  actions,
  onDone,
}: {
  realm: string;
  row: Row;
  actions: string[];
  onDone: () => void;
}) {
  const queries = useQueryClient();
  const [principal, setPrincipal] = useState(given.principal);
  const [anchor, setAnchor] = useState(given.anchor);
  const [changes, setChanges] = useState<Partial<Record<string, boolean>>>({});
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isBusy, setBusy] = useState(false);
  const whole = principalOf(principal);
  // Existing actions of the person on the entity are not part of a new grant, and are not lost by
  // it.
  const known = useStored(realm, whole, anchor);
  const row = known.row ?? given;
  const held = [...new Set([...row.held, ...actions])].filter(
    (one) => changes[one] ?? row.held.includes(one),
  );
  // A row of the list may lack statements that did not fit; nothing is changed from it alone.
  const ready =
    bare(whole) !== "" && kindOf(anchor) !== "" && known.row !== undefined && !row.fixed;
  const isChanged = [...held].sort().join() !== [...row.held].sort().join();
  const scope = isPattern(anchor) ? { matching: anchor } : { on: anchor };
  const effect = useEffectOf(
    realm,
    ready && isChanged ? draftOf(row.stored, whole, held, scope) : null,
  );
  const save = async () => {
    const [kind, ...name] = whole.split(":");
    const body = {
      principal: { name: name.join(":"), type: (kind ?? "").toUpperCase() },
      ...anchorOf(anchor),
    };
    const less = row.held.filter((one) => !held.includes(one));
    const more = held.filter((one) => !row.held.includes(one));
    setBusy(true);
    try {
      // One action at a time: a request without a list means all.
      for (const action of less)
        await callDialect(realm, "POST", `${BASE}/revoke`, { ...body, actions: [action] });
      for (const action of more)
        await callDialect(realm, "POST", `${BASE}/grant`, { ...body, actions: [action] });
    } catch (failure) {
      setProblem(problemOf(failure));
      return;
    } finally {
      await queries.invalidateQueries();
      setBusy(false);
    }
    say(t("Privileges saved"));
    onDone();
  };
  return (
    <form
      className={styles.grant}
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      {given.stored.length > 0 ? (
        <p>
          <Name text={whole} /> {t("on")} <Name text={anchor} />
        </p>
      ) : (
        <>
          <Picker
            label={t("Who")}
            placeholder={t("user:, group: or role:")}
            value={principal}
            onChange={setPrincipal}
            suggest={suggest("user,group,role", realm)}
            source={`people ${realm}`}
          />
          <Picker
            label={t("On")}
            placeholder={t("type:name; * and ? stand for any")}
            value={anchor}
            onChange={setAnchor}
            suggest={suggest("entity", realm)}
            source={`entities ${realm}`}
          />
        </>
      )}
      <fieldset className={styles.actions}>
        <legend>{t("Actions")}</legend>
        {actions.map((action) => (
          <Check
            key={action}
            label={action}
            checked={held.includes(action)}
            onChange={(event) => {
              setChanges({ ...changes, [action]: event.target.checked });
            }}
          />
        ))}
      </fieldset>
      {ready && isChanged && <EffectCard realm={realm} effect={effect} />}
      {problem && <ProblemView problem={problem} />}
      {known.problem && <ProblemView problem={known.problem} onRetry={known.retry} />}
      <p>
        <Button
          look="main"
          type="submit"
          disabled={isBusy || !ready || !isChanged || !effect.isSeen}
        >
          {held.length === 0 ? t("Revoke") : t("Save grant")}
        </Button>
      </p>
    </form>
  );
}

const PARTS: Record<string, string[]> = {
  instance: ["INSTANCE"],
  namespace: ["NAMESPACE"],
  kerberosprincipal: ["KERBEROSPRINCIPAL"],
  system_service: ["SYSTEM_SERVICE"],
  program: ["NAMESPACE", "APPLICATION", "PROGRAM"],
};

/** An entity or pattern as CDAP's calls name it; the last part gets the rest of the name. */
function anchorOf(anchor: string): { authorizable: object } {
  const type = kindOf(anchor);
  const keys = PARTS[type] ?? ["NAMESPACE", type.toUpperCase()];
  const parts = bare(anchor).split(".");
  const values = [...parts.slice(0, keys.length - 1), parts.slice(keys.length - 1).join(".")];
  const entityParts = Object.fromEntries(keys.map((key, place) => [key, values[place] ?? ""]));
  return { authorizable: { entityType: type.toUpperCase(), entityParts } };
}
