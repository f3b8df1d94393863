import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { $api, api, problemOf, type Problem, type Schemas } from "../../api/client";
import { useRights } from "../../api/rights";
import { Button, buttonClass } from "../../parts/button";
import { Confirm } from "../../parts/drawer";
import { EffectCard, useEffectOf } from "../../parts/effect";
import { History } from "../../parts/history";
import { bare, Name } from "../../parts/name";
import { Beside, Card, Page, Tag } from "../../parts/page";
import { Sentence, type Word } from "../../parts/sentence";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { say } from "../../parts/toast";
import { t } from "../../words";
import { STATES } from "./rows";
import styles from "./statement.module.css";

const route = getRouteApi("/r/$realm/statement");

/** One rule with all its members. */
export default function StatementPage() {
  const { realm } = route.useParams();
  const { id } = route.useSearch();
  const stored = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/statements/{id}",
    { params: { path: { realm, id: id ?? "" }, query: { fields: "reach,changed" } } },
    { enabled: Boolean(id), retry: false },
  );
  const one = stored.data;
  const title = one?.title || id || t("Statement");
  return (
    <Page
      title={title}
      heading={<Name text={title} />}
      where={
        <Link to="/r/$realm/statements" params={{ realm }}>
          {t("Statements of {realm}", { realm })}
        </Link>
      }
      tags={
        one && (
          <>
            <Tag state={STATES[one.effect ?? "allow"]}>{(one.effect ?? "allow").toUpperCase()}</Tag>
            {one.active === false && <Tag state="partial">{t("Inactive")}</Tag>}
          </>
        )
      }
      acts={
        one && (
          <>
            <Edit realm={realm} one={one} />
            <Remove realm={realm} one={one} />
          </>
        )
      }
    >
      {!id && <Empty title={t("The address names no statement.")} />}
      {id && stored.isPending && <Loading />}
      {stored.error && (
        <ProblemView problem={problemOf(stored.error)} onRetry={() => void stored.refetch()} />
      )}
      {one && (
        <Beside side={<History realm={realm} about={{ statement: one.id }} />}>
          <Card>
            <p className={styles.words}>
              <Sentence words={one.words} large />
            </p>
            <dl className={styles.facts}>
              <dt>{t("Who")}</dt>
              <dd>
                <ul className={styles.who}>
                  {one.expression && one.to.length === 0 && <li>{t("everybody")}</li>}
                  {one.to.map((who) => (
                    <li key={who}>
                      <Link to="/principal" search={{ realm, p: who }}>
                        <Name text={who} />
                      </Link>
                    </li>
                  ))}
                </ul>
              </dd>
              {one.except && (
                <>
                  <dt>{t("Except")}</dt>
                  <dd>
                    <Name text={one.except.join(", ")} />
                  </dd>
                </>
              )}
              <dt>{t("What")}</dt>
              <dd>
                <code>{one.expression ?? one.privileges.join(", ")}</code>
              </dd>
              <dt>{t("Which")}</dt>
              <dd>
                {one.on && (
                  <Link to="/asset" search={{ realm, e: one.on }}>
                    <Name text={one.on} cut={200} />
                  </Link>
                )}
                {one.matching && <code>{one.matching}</code>}
                {one.where && <Criteria rows={one.where} />}
                {!one.on && !one.matching && !one.where && t("everything")}
              </dd>
              {one.constraint && (
                <>
                  <dt>{t("Limits")}</dt>
                  <dd>
                    <Criteria rows={one.constraint} />
                  </dd>
                </>
              )}
              {(one.valid_from ?? one.valid_until) && (
                <>
                  <dt>{t("When")}</dt>
                  <dd>{[one.valid_from, one.valid_until].map((at) => at ?? "…").join(" – ")}</dd>
                </>
              )}
              {one.reach && (
                <>
                  <dt>{t("Reaches")}</dt>
                  <dd>
                    {t(
                      "{users, plural, one {# person} other {# people}} × {entities, plural, one {# entity} other {# entities}}, whatever else allows or denies",
                      {
                        users: one.reach.users,
                        entities: one.reach.entities,
                      },
                    )}
                  </dd>
                </>
              )}
              {one.mark && (
                <>
                  <dt>{t("Kept by")}</dt>
                  <dd>
                    <Name text={one.mark} />
                  </dd>
                </>
              )}
              <dt>{t("Id")}</dt>
              <dd>
                <code>{one.id}</code>
              </dd>
            </dl>
          </Card>
        </Beside>
      )}
    </Page>
  );
}

function text(words: Word[]): string {
  return words.map((one) => one.text).join("");
}

function Criteria({ rows }: { rows: unknown }) {
  return <code>{JSON.stringify(rows)}</code>;
}

/** The link to the form of a filter or a mask. */
function Edit({ realm, one }: { realm: string; one: Schemas["StatementRow"] }) {
  const rights = useRights(realm);
  const isLimit = one.effect === "filter" || one.effect === "mask";
  if (!isLimit || !rights.may("statement.put") || one.editable === false) return null;
  return (
    <Link className={buttonClass()} to="/r/$realm/limit" params={{ realm }} search={{ id: one.id }}>
      {t("Edit")}
    </Link>
  );
}

function Remove({ realm, one }: { realm: string; one: Schemas["StatementRow"] }) {
  const rights = useRights(realm);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [open, setOpen] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const effect = useEffectOf(realm, open ? { remove: [one.id] } : null, 0);
  if (!rights.may("statement.remove") || one.editable === false) return null;
  const remove = async () => {
    // Only the shown version is removed: a statement that was changed meanwhile is shown first.
    const path = { realm, id: one.id };
    const now = await api.GET("/api/v1/realms/{realm}/statements/{id}", { params: { path } });
    if (now.error) {
      setProblem(problemOf(now.error));
      return;
    }
    if (text(now.data.words) !== text(one.words)) {
      setProblem({
        type: "about:blank",
        title: "",
        status: 409,
        detail: t("somebody else has changed this statement: it says now “{now}”", {
          now: text(now.data.words),
        }),
      });
      await queries.invalidateQueries();
      return;
    }
    const { error } = await api.DELETE("/api/v1/realms/{realm}/statements/{id}", {
      params: { path: { realm, id: one.id }, query: { mark: one.mark || undefined } },
    });
    if (error) {
      setProblem(problemOf(error));
      return;
    }
    say(t("Statement removed"));
    // Leaves the page first, so that the removed statement is not fetched again.
    await navigate({ to: "/r/$realm/statements", params: { realm } });
    await queries.invalidateQueries();
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
        title={t("Remove this statement?")}
        act={t("Remove statement")}
        disabled={!effect.isSeen}
        onAct={remove}
        onClose={() => {
          setOpen(false);
        }}
      >
        <p>
          {t(
            "{who} then lose what only this statement gives. It takes effect with the next request.",
            {
              who: one.to.slice(0, 3).map(bare).join(", "),
            },
          )}
        </p>
        <EffectCard realm={realm} effect={effect} />
        {problem && <ProblemView problem={problem} />}
      </Confirm>
    </>
  );
}
