import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";

import { $api, problemOf } from "../../api/client";
import { useMe } from "../../app/session";
import { Button } from "../../parts/button";
import { CommandButton, CopyButton } from "../../parts/copy";
import { bare, Name, typed } from "../../parts/name";
import { Card, Page } from "../../parts/page";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { Table } from "../../parts/table";
import { count, t } from "../../words";
import styles from "./ask.module.css";
import { AskTabs, QuestionForm } from "./form";
import { quoted } from "./shell-word";

const route = getRouteApi("/ask/what");
const PAGE = 200;

/** On which assets somebody may do something. */
export default function What() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const me = useMe();
  const { realm, do: act } = search;
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
        <Answer key={`${realm} ${who} ${act}`} realm={realm} who={who} act={act} own={who === me} />
      )}
    </Page>
  );
}

function Answer({
  realm,
  who,
  act,
  own,
}: {
  realm: string;
  who: string;
  act: string;
  own: boolean;
}) {
  const [limit, setLimit] = useState(PAGE);
  const asked = $api.useQuery(
    "post",
    "/api/v1/realms/{realm}/list",
    {
      params: { path: { realm } },
      body: { operation: act, principal: own ? null : who, page: { limit } },
    },
    { retry: false, placeholderData: (before) => before },
  );
  if (asked.isPending) return <Loading rows={6} />;
  if (asked.error)
    return <ProblemView problem={problemOf(asked.error)} onRetry={() => void asked.refetch()} />;
  const { entities, total } = asked.data;
  const command = ["lakewarden", "list", quoted(typed(who)), quoted(act), "--realm", realm].join(
    " ",
  );
  const more = () => {
    if (entities.length < total) setLimit((now) => Math.min(now + PAGE, 1_000));
  };
  return (
    <div className={styles.answer}>
      <Card
        pad={false}
        title={t("{n, plural, =0 {On nothing} one {On # asset} other {On # assets}}", { n: total })}
        note={
          <span className={styles.acts}>
            <CopyButton text={location.href} label={t("Copy link")} done={t("Link copied")} />
            <CommandButton command={command} />
          </span>
        }
      >
        {entities.length === 0 ? (
          <Empty title={t("No stored rule lets {who} do this on anything.", { who: bare(who) })} />
        ) : (
          <Table
            label={t("Assets")}
            rows={entities}
            total={total}
            rowKey={(one) => `${one.type}:${one.name}`}
            onEnd={more}
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
        {entities.length < total && (
          <p className={styles.note}>
            <Button onClick={more}>{t("Show more of {total}", { total: count(total) })}</Button>
          </p>
        )}
      </Card>
    </div>
  );
}

function written({ type, name }: { type: string; name: string }): string {
  return name.startsWith("urn:li:") ? name : `${type}:${name}`;
}
