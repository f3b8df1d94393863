import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";

import { $api, api, problemOf } from "../../api/client";
import { CommandButton, CopyButton } from "../../parts/copy";
import { bare, Name } from "../../parts/name";
import { Card, Page } from "../../parts/page";
import { usePagedList } from "../../parts/paged";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { PagedTable } from "../../parts/table";
import { Segments } from "../../parts/tabs";
import { t } from "../../words";
import styles from "./ask.module.css";
import { AskTabs, Examples, QuestionForm } from "./form";
import { grouped } from "./grouped";
import { Reasons } from "./reasons";
import { quoted } from "./shell-word";

const route = getRouteApi("/ask/who");

/** Who may do something on an entity: everybody, by name. */
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
  const question = { operation: act, entity: on || null };
  const people = usePagedList(["who", realm, act, on ?? ""], async (skip, limit, signal) => {
    const { data, error } = await api.POST("/api/v1/realms/{realm}/who", {
      params: { path: { realm } },
      body: { ...question, page: { limit, skip, token: "" }, reasons: false },
      signal,
    });
    if (error) throw problemOf(error);
    return { rows: data.users, total: data.total, notes: data.notes };
  });
  const why = $api.useQuery(
    "post",
    "/api/v1/realms/{realm}/who",
    {
      params: { path: { realm } },
      body: { ...question, page: { limit: 1, skip: 0, token: "" }, reasons: true },
    },
    { retry: false },
  );
  const [shape, setShape] = useState<"reasons" | "people">("reasons");
  const reasons = useMemo(() => why.data?.reasons && grouped(why.data.reasons), [why.data]);
  if (people.isPending) return <Loading rows={6} />;
  if (people.error)
    return <ProblemView problem={problemOf(people.error)} onRetry={people.refetch} />;
  const words = ["lakewarden", "who", quoted(act), on && quoted(on), "--realm", realm];
  return (
    <div className={styles.answer}>
      <Card
        pad={false}
        title={t("{n, plural, =0 {Nobody may} one {# person may} other {# people may}}", {
          n: people.total,
        })}
        note={
          <span className={styles.acts}>
            <CopyButton text={location.href} label={t("Copy link")} done={t("Link copied")} />
            <CommandButton command={words.filter(Boolean).join(" ")} />
          </span>
        }
      >
        {people.notes.map((note) => (
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
        ) : people.total === 0 ? (
          <Empty title={t("No stored rule lets anybody do this.")} />
        ) : (
          <PagedTable
            label={t("Who may")}
            list={people}
            rowKey={(user) => user}
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
      </Card>
    </div>
  );
}
