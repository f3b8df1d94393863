import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";

import { $api, problemOf } from "../../api/client";
import { Button } from "../../parts/button";
import { CommandButton, CopyButton } from "../../parts/copy";
import { bare, Name } from "../../parts/name";
import { Card, Page } from "../../parts/page";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { Table } from "../../parts/table";
import { Segments } from "../../parts/tabs";
import { count, t } from "../../words";
import styles from "./ask.module.css";
import { AskTabs, Examples, QuestionForm } from "./form";
import { Reasons } from "./reasons";
import { quoted } from "./shell-word";

const route = getRouteApi("/ask/who");
const PAGE = 200;

/** Who may do something on something: everybody, by name. */
export default function Who() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { realm, do: act, on } = search;
  const ready = Boolean(realm && act);
  const title = ready ? t("Who may {act} {on}?", { act: act ?? "", on: bare(on ?? "") }) : t("Ask");
  return (
    <Page title={title} heading={t("Ask")}>
      <AskTabs search={search} />
      <QuestionForm
        search={search}
        onAsk={({ realm: where, do: what, on: thing }) => {
          void navigate({ search: { realm: where, do: what, on: thing } });
        }}
      />
      {!ready && <Examples />}
      {realm && act && (
        <Answer key={`${realm} ${act} ${on ?? ""}`} realm={realm} act={act} on={on} />
      )}
    </Page>
  );
}

function Answer({ realm, act, on }: { realm: string; act: string; on?: string }) {
  const [limit, setLimit] = useState(PAGE);
  const asked = $api.useQuery(
    "post",
    "/api/v1/realms/{realm}/who",
    {
      params: { path: { realm } },
      body: {
        operation: act,
        entity: on || null,
        page: { limit, skip: 0, token: "" },
        reasons: false,
      },
    },
    { retry: false, placeholderData: (before) => before },
  );
  const why = $api.useQuery(
    "post",
    "/api/v1/realms/{realm}/who",
    {
      params: { path: { realm } },
      body: {
        operation: act,
        entity: on || null,
        page: { limit: 1, skip: 0, token: "" },
        reasons: true,
      },
    },
    { retry: false },
  );
  const [shape, setShape] = useState<"reasons" | "people">("reasons");
  const reasons = why.data?.reasons;
  if (asked.isPending) return <Loading rows={6} />;
  if (asked.error)
    return <ProblemView problem={problemOf(asked.error)} onRetry={() => void asked.refetch()} />;
  const { users, total, notes } = asked.data;
  const words = ["lakewarden", "who", quoted(act), on && quoted(on), "--realm", realm];
  return (
    <div className={styles.answer}>
      <Card
        pad={false}
        title={t("{n, plural, =0 {Nobody may} one {# person may} other {# people may}}", {
          n: total,
        })}
        note={
          <span className={styles.acts}>
            <CopyButton text={location.href} label={t("Copy link")} done={t("Link copied")} />
            <CommandButton command={words.filter(Boolean).join(" ")} />
          </span>
        }
      >
        {notes.map((note) => (
          <p key={note} className={styles.note}>
            {note}
          </p>
        ))}
        {reasons && reasons.length > 0 && (
          <div className={styles.shape}>
            <Segments
              label={t("Show by")}
              value={shape}
              options={[
                [
                  "reasons",
                  t("{n, plural, one {# reason} other {# reasons}}", { n: reasons.length }),
                ],
                ["people", t("People")],
              ]}
              onChange={setShape}
            />
          </div>
        )}
        {reasons && reasons.length > 0 && shape === "reasons" ? (
          <Reasons realm={realm} act={act} on={on} reasons={reasons} />
        ) : users.length === 0 ? (
          <Empty title={t("No stored rule lets anybody do this.")} />
        ) : (
          <Table
            label={t("Who may")}
            rows={users}
            total={total}
            rowKey={(user) => user}
            onEnd={() => {
              if (users.length < total) setLimit((now) => Math.min(now + PAGE, 1_000));
            }}
            columns={[
              {
                key: "user",
                title: t("Person"),
                cell: (user) => (
                  <Link to="/principal" search={{ realm, p: `user:${user}` }}>
                    <Name text={user} />
                  </Link>
                ),
              },
              {
                key: "why",
                title: t("Because of"),
                cell: (user) => (
                  <Link to="/ask" search={{ realm, who: `user:${user}`, do: act, on }}>
                    {t("Why?")}
                  </Link>
                ),
              },
            ]}
          />
        )}
        {users.length < total && !(reasons && shape === "reasons") && (
          <p className={styles.note}>
            <Button
              onClick={() => {
                setLimit((now) => Math.min(now + PAGE, 1_000));
              }}
            >
              {t("Show more of {total}", { total: count(total) })}
            </Button>
          </p>
        )}
      </Card>
    </div>
  );
}
