import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { $api, api, problemOf, type Problem, type Schemas } from "../../api/client";
import { useRights } from "../../api/rights";
import { Button } from "../../parts/button";
import { Confirm } from "../../parts/drawer";
import { bare, Name } from "../../parts/name";
import { Card, Page, Tag } from "../../parts/page";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { say } from "../../parts/toast";
import { t } from "../../words";
import styles from "./statement.module.css";

const route = getRouteApi("/r/$realm/statement");

/** One rule, with all that it says. */
export default function StatementPage() {
  const { realm } = route.useParams();
  const { id } = route.useSearch();
  const stored = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/statements/{id}",
    { params: { path: { realm, id: id ?? "" } } },
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
            <Tag state={one.effect === "deny" ? "deny" : "allow"}>
              {one.effect === "deny" ? t("DENY") : t("ALLOW")}
            </Tag>
            {one.active === false && <Tag state="partial">{t("Inactive")}</Tag>}
          </>
        )
      }
      acts={one && <Remove realm={realm} one={one} />}
    >
      {!id && <Empty title={t("The address names no statement.")} />}
      {id && stored.isPending && <Loading />}
      {stored.error && <ProblemView problem={problemOf(stored.error)} />}
      {one && (
        <Card>
          <dl className={styles.facts}>
            <dt>{t("Who")}</dt>
            <dd>
              <ul>
                {one.to.map((who) => (
                  <li key={who}>
                    <Link to="/principal" search={{ realm, p: who }}>
                      <Name text={who} />
                    </Link>
                  </li>
                ))}
              </ul>
            </dd>
            <dt>{t("What")}</dt>
            <dd>
              <code>{one.privileges.join(", ")}</code>
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
            <dt>{t("Id")}</dt>
            <dd>
              <code>{one.id}</code>
            </dd>
          </dl>
        </Card>
      )}
    </Page>
  );
}

function Criteria({ rows }: { rows: unknown }) {
  return <code>{JSON.stringify(rows)}</code>;
}

function Remove({ realm, one }: { realm: string; one: Schemas["StatementGiven"] }) {
  const rights = useRights(realm);
  const navigate = useNavigate();
  const [open, setOpen] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  if (!rights.may("statement.remove")) return null;
  const remove = async () => {
    const { error } = await api.DELETE("/api/v1/realms/{realm}/statements/{id}", {
      params: { path: { realm, id: one.id } },
    });
    if (error) {
      setProblem(problemOf(error));
      return;
    }
    say(t("Statement removed"));
    void navigate({ to: "/r/$realm/statements", params: { realm } });
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
        onAct={() => void remove()}
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
        {problem && <ProblemView problem={problem} />}
      </Confirm>
    </>
  );
}
