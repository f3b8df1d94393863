import { getRouteApi, Link } from "@tanstack/react-router";

import { api, problemOf } from "../../api/client";
import { useMe } from "../../app/session";
import { CommandButton, CopyButton } from "../../parts/copy";
import { bare, Name, typed } from "../../parts/name";
import { Card, Page } from "../../parts/page";
import { usePagedList } from "../../parts/paged";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { PagedTable } from "../../parts/table";
import { t } from "../../words";
import styles from "./ask.module.css";
import { AskTabs, QuestionForm } from "./form";
import { quoted } from "./shell-word";

const route = getRouteApi("/ask/what");

/** The assets on which a person may do something. */
export default function What() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const me = useMe();
  const { realm, do: act, within } = search;
  const who = search.who ?? me;
  return (
    <Page title={t("What may {who} do?", { who: bare(who) })} heading={t("Ask")}>
      <AskTabs search={{ ...search, who }} />
      <QuestionForm
        search={{ ...search, who }}
        people
        things={false}
        onAsk={({ realm: where, who: person, do: what }) => {
          void navigate({ search: { realm: where, who: person, do: what } });
        }}
      />
      {realm && act && (
        <Answer
          key={[realm, who, act, within].join("\n")}
          realm={realm}
          who={who}
          act={act}
          within={within}
          own={who === me}
        />
      )}
    </Page>
  );
}

function Answer({
  realm,
  who,
  act,
  within,
  own,
}: {
  realm: string;
  who: string;
  act: string;
  within?: string;
  own: boolean;
}) {
  const assets = usePagedList(["what", realm, who, act, within], async (skip, limit, signal) => {
    const { data, error } = await api.POST("/api/v1/realms/{realm}/list", {
      params: { path: { realm } },
      body: {
        operation: act,
        principal: own ? null : who,
        within: within || null,
        page: { limit, skip, token: "" },
      },
      signal,
    });
    if (error) throw problemOf(error);
    return { rows: data.entities, total: data.total, notes: data.notes };
  });
  if (assets.isPending) return <Loading rows={6} />;
  if (assets.error)
    return <ProblemView problem={problemOf(assets.error)} onRetry={assets.refetch} />;
  const where = within ? ["--within", quoted(within)] : [];
  const words = ["lakewarden", "list", quoted(typed(who)), quoted(act), ...where, "--realm", realm];
  return (
    <div className={styles.answer}>
      <Card
        pad={false}
        title={t("{n, plural, =0 {On nothing} one {On # asset} other {On # assets}}", {
          n: assets.total,
        })}
        note={
          <span className={styles.acts}>
            <CopyButton text={location.href} label={t("Copy link")} done={t("Link copied")} />
            <CommandButton command={words.join(" ")} />
          </span>
        }
      >
        {within && (
          <p className={styles.note}>
            {t("Within")} <Name text={bare(within)} />
          </p>
        )}
        {assets.notes.map((note) => (
          <p key={note} className={styles.note}>
            {note}
          </p>
        ))}
        {assets.total === 0 ? (
          <Empty title={t("No stored rule lets {who} do this on anything.", { who: bare(who) })} />
        ) : (
          <PagedTable
            label={t("Assets")}
            list={assets}
            rowKey={(one) => `${one.type}:${one.name}`}
            columns={[
              {
                key: "name",
                title: t("Asset"),
                cell: (one) => (
                  <Link to="/asset" search={{ realm, e: written(one) }}>
                    <Name text={one.name} />
                  </Link>
                ),
              },
              { key: "type", title: t("Type"), minor: true, cell: (one) => one.type },
              {
                key: "why",
                title: t("Because of"),
                cell: (one) => (
                  <Link to="/ask" search={{ realm, who, do: act, on: written(one) }}>
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

function written({ type, name }: { type: string; name: string }): string {
  return name.startsWith("urn:li:") ? name : `${type}:${name}`;
}
