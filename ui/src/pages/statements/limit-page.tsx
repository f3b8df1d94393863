import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { $api, api, problemOf, type Problem } from "../../api/client";
import { useRights } from "../../api/rights";
import { suggest } from "../../api/suggest";
import { Button } from "../../parts/button";
import { forgetDraft, keepDraft, keptDraft } from "../../parts/draft";
import { EffectCard, useEffectOf } from "../../parts/effect";
import { Check, Field, SelectField, TextField } from "../../parts/fields";
import { bare, kindOf, Name, principalOf } from "../../parts/name";
import { Beside, Card, Page, Tag } from "../../parts/page";
import { Picker } from "../../parts/picker";
import { Empty, Loading, NoRight, ProblemView } from "../../parts/states";
import { say } from "../../parts/toast";
import { Tokens } from "../../parts/tokens";
import { Versions } from "../../parts/versions";
import { t } from "../../words";
import {
  bodyOf,
  drafted,
  EMPTY,
  expressionOf,
  isWhole,
  limitOf,
  maskOf,
  isSame,
  keptEdit,
  MASKS,
  versionsOf,
  type Edit,
  type Kind,
  type Limit,
} from "./limit";
import styles from "./limit.module.css";

const route = getRouteApi("/r/$realm/limit");

/** A row filter or a column mask: a new one of a kind, or a stored one. */
export default function LimitPage() {
  const { realm } = route.useParams();
  const { id = "", kind } = route.useSearch();
  const rights = useRights(realm);
  const stored = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/statements/{id}",
    { params: { path: { realm, id } } },
    { enabled: id !== "", retry: false },
  );
  const where = (
    <Link to="/r/$realm/statements" params={{ realm }}>
      {t("Statements of {realm}", { realm })}
    </Link>
  );
  if (rights.known && !rights.may("statement.put")) {
    const title = id || (kind === "mask" ? t("New column mask") : t("New row filter"));
    return (
      <Page title={title} heading={<Name text={title} />} where={where}>
        <NoRight title={t("You may not change row filters and column masks of this realm.")}>
          {id && (
            <Link to="/r/$realm/statement" params={{ realm }} search={{ id }}>
              {t("What it says")}
            </Link>
          )}
        </NoRight>
      </Page>
    );
  }
  if (id === "") {
    const asked: Kind = kind === "mask" ? "mask" : "filter";
    const words = { realm, kind: asked, stored: EMPTY, isNew: true, where };
    return <Editor key={`${realm} ${asked}`} {...words} />;
  }
  const effect = stored.data?.effect;
  if (stored.data && (effect === "filter" || effect === "mask"))
    return (
      <Editor
        key={`${realm} ${id}`}
        realm={realm}
        kind={effect}
        stored={limitOf(stored.data)}
        isNew={false}
        where={where}
      />
    );
  return (
    <Page title={id} heading={<Name text={id} />} where={where}>
      {stored.error ? (
        <ProblemView problem={problemOf(stored.error)} onRetry={() => void stored.refetch()} />
      ) : stored.data ? (
        <Empty title={t("This statement is no row filter and no column mask.")} />
      ) : (
        <Loading rows={6} />
      )}
    </Page>
  );
}

function Editor({
  realm,
  kind,
  stored,
  isNew,
  where,
}: {
  realm: string;
  kind: Kind;
  stored: Limit;
  isNew: boolean;
  where: React.ReactNode;
}) {
  const key = `limit ${realm} ${isNew ? `new ${kind}` : stored.id}`;
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [kept, setKept] = useState(() => keptEdit(keptDraft<Edit>(key)));
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const limit = kept?.mine ?? stored;
  const base = kept?.base ?? stored;
  const dirty = kept !== null && !isSame(limit, stored);
  const isOutdated = dirty && !isSame(base, stored);
  const effect = useEffectOf(realm, dirty && isWhole(limit) ? drafted(kind, limit) : null);
  const { isSeen } = effect;
  const edit = (change: Partial<Limit>) => {
    const next = { base, mine: { ...limit, ...change } };
    setKept(next);
    keepDraft(key, next);
  };
  const forget = () => {
    setKept(null);
    setProblem(null);
    forgetDraft(key);
  };
  const store = async (over: Limit) => {
    setBusy(true);
    setProblem(null);
    try {
      const now = await read(realm, limit.id);
      if (isNew && now)
        throw refused(t("there is a statement of this id already; choose another one"));
      if (!isNew && !now) throw refused(t("somebody else has removed this statement"));
      if (now && !isSame(now, over)) {
        // Rereading brings the other user's version, which is then shown beside this one.
        await queries.invalidateQueries();
        return;
      }
      await save(realm, kind, limit);
      forget();
      await queries.invalidateQueries();
      say(kind === "filter" ? t("Row filter saved") : t("Column mask saved"));
      await navigate({
        to: "/r/$realm/statement",
        params: { realm },
        search: { id: limit.id },
      });
    } catch (failure) {
      setProblem(problemOf(failure));
    } finally {
      setBusy(false);
    }
  };
  const title = isNew
    ? kind === "filter"
      ? t("New row filter")
      : t("New column mask")
    : limit.title || limit.id;
  return (
    <Page
      title={title}
      heading={<Name text={title} />}
      where={where}
      tags={
        <>
          <Tag>{kind === "filter" ? t("Row filter") : t("Column mask")}</Tag>
          {dirty && <Tag state="partial">{t("not saved yet")}</Tag>}
        </>
      }
      acts={
        <>
          {kept && (
            <Button disabled={busy} onClick={forget}>
              {t("Discard changes")}
            </Button>
          )}
          <Button
            look="main"
            disabled={!dirty || busy || !isSeen || isOutdated}
            onClick={() => void store(base)}
          >
            {kind === "filter" ? t("Save row filter") : t("Save column mask")}
          </Button>
        </>
      }
    >
      {problem && <ProblemView problem={problem} />}
      {isOutdated && (
        <Versions
          title={t("Somebody else has changed this statement")}
          rows={versionsOf(base, stored, limit)}
          busy={busy || !isSeen}
          onTheirs={forget}
          onMine={() => void store(stored)}
        />
      )}
      <Beside
        side={
          dirty && isWhole(limit) ? (
            <EffectCard realm={realm} effect={effect} />
          ) : (
            <Card title={t("If you save this")}>
              <p>{t("Who will see other rows and values is shown here as you write.")}</p>
            </Card>
          )
        }
      >
        <Card>
          <Form realm={realm} kind={kind} limit={limit} isNew={isNew} busy={busy} onEdit={edit} />
        </Card>
      </Beside>
    </Page>
  );
}

/** Stores the limit; throws the response of a server that refuses. */
async function save(realm: string, kind: Kind, limit: Limit): Promise<void> {
  const at = { params: { path: { realm, id: limit.id } }, body: bodyOf(limit) };
  const { error } =
    kind === "filter"
      ? await api.PUT("/api/v1/realms/{realm}/filters/{id}", at)
      : await api.PUT("/api/v1/realms/{realm}/masks/{id}", at);
  if (error) throw error as unknown as Error;
}

/** The limit that is stored under the id now; null if there is none. */
async function read(realm: string, id: string): Promise<Limit | null> {
  const { data, error } = await api.GET("/api/v1/realms/{realm}/statements/{id}", {
    params: { path: { realm, id } },
  });
  if (data) return limitOf(data);
  const problem = problemOf(error);
  if (problem.status === 404) return null;
  throw problem as unknown as Error;
}

function refused(detail: string): Error {
  return { type: "about:blank", title: "", status: 409, detail } as unknown as Error;
}

function Form({
  realm,
  kind,
  limit,
  isNew,
  busy,
  onEdit,
}: {
  realm: string;
  kind: Kind;
  limit: Limit;
  isNew: boolean;
  busy: boolean;
  onEdit: (change: Partial<Limit>) => void;
}) {
  const people = suggest("user,group,role", realm);
  const who = (label: string, values: string[], placeholder: string, key: "to" | "except") => (
    <Field label={label}>
      {() => (
        <Tokens
          label={label}
          values={values}
          onChange={(next) => {
            onEdit({ [key]: next });
          }}
          suggest={people}
          source={`people ${realm}`}
          show={bare}
          kind={kindOf}
          read={(text) => (text === "owners" ? text : principalOf(text))}
          placeholder={placeholder}
          disabled={busy}
        />
      )}
    </Field>
  );
  return (
    <div className={styles.form}>
      {isNew && (
        <TextField
          label={t("Id")}
          value={limit.id}
          required
          disabled={busy}
          onChange={(event) => {
            onEdit({ id: event.target.value });
          }}
        />
      )}
      <TextField
        label={t("Title")}
        value={limit.title}
        disabled={busy}
        onChange={(event) => {
          onEdit({ title: event.target.value });
        }}
      />
      {limit.where ? (
        <p>
          {t("Lies on what meets")} <code>{JSON.stringify(limit.where)}</code>
        </p>
      ) : (
        <Picker
          label={
            kind === "filter" ? t("Table, or what holds tables") : t("Column, or what holds it")
          }
          shown
          value={limit.on}
          onChange={(on) => {
            onEdit({ on });
          }}
          suggest={suggest("entity", realm)}
          source={`entities ${realm}`}
        />
      )}
      {kind === "filter" ? (
        <Area
          label={t("Only rows where")}
          value={limit.expression}
          busy={busy}
          onChange={(expression) => {
            onEdit({ expression });
          }}
        />
      ) : (
        <MaskFields limit={limit} busy={busy} onEdit={onEdit} />
      )}
      {who(t("Binds"), limit.to, t("everybody"), "to")}
      {who(t("Except"), limit.except, t("nobody"), "except")}
      <Check
        label={t("Active")}
        checked={limit.active}
        disabled={busy}
        onChange={(event) => {
          onEdit({ active: event.target.checked });
        }}
      />
    </div>
  );
}

function MaskFields({
  limit,
  busy,
  onEdit,
}: {
  limit: Limit;
  busy: boolean;
  onEdit: (change: Partial<Limit>) => void;
}) {
  const { mask, text } = maskOf(limit.expression);
  const chosen = limit.expression === "" ? "" : mask;
  return (
    <>
      <SelectField
        label={t("Shows")}
        value={chosen}
        options={[
          ...(chosen === "" ? [["", t("choose what is shown")] as const] : []),
          ...MASKS.map(([name, words]) => [name, t(words)] as const),
        ]}
        disabled={busy}
        onChange={(event) => {
          onEdit({ expression: expressionOf(event.target.value, text) });
        }}
      />
      {text !== undefined &&
        (mask === "sql" ? (
          <Area
            label={t("Expression")}
            value={text}
            busy={busy}
            onChange={(next) => {
              onEdit({ expression: expressionOf(mask, next) });
            }}
          />
        ) : (
          <TextField
            label={t("Constant")}
            value={text}
            disabled={busy}
            onChange={(event) => {
              onEdit({ expression: expressionOf(mask, event.target.value) });
            }}
          />
        ))}
    </>
  );
}

function Area({
  label,
  value,
  busy,
  onChange,
}: {
  label: string;
  value: string;
  busy: boolean;
  onChange: (value: string) => void;
}) {
  return (
    <Field label={label} hint={t("SQL of columns, constants, $user.NAME and lookup tables")}>
      {(ids) => (
        <textarea
          className={styles.area}
          spellCheck={false}
          value={value}
          disabled={busy}
          onChange={(event) => {
            onChange(event.target.value);
          }}
          {...ids}
        />
      )}
    </Field>
  );
}
