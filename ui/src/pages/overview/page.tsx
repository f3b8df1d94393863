import { Link } from "@tanstack/react-router";
import { useRef } from "react";

import { $api, problemOf, type Schemas } from "../../api/client";
import { useRights } from "../../api/rights";
import { governed, titleOf, useRealms, type Realm } from "../../api/server";
import { FRAME } from "../../api/unread";
import { useKeys } from "../../parts/keys";
import { useMe } from "../../app/session";
import { Card, Page } from "../../parts/page";
import { Loading, ProblemView, Empty } from "../../parts/states";
import { Sentence } from "../../parts/sentence";
import { ago, count, t } from "../../words";
import { QuestionForm } from "../ask/form";
import { useNavigate } from "@tanstack/react-router";
import styles from "./overview.module.css";

/** An inventory, what needs attention, and the way to ask. */
export default function Overview() {
  const realms = useRealms();
  const me = useMe();
  const navigate = useNavigate();
  const server = useRights();
  const all = governed(realms.data?.realms);
  const cards = useRef<HTMLDivElement>(null);
  const toCard = (event: KeyboardEvent) => {
    const card = cards.current?.querySelectorAll("section")[Number(event.key) - 1];
    card?.querySelector<HTMLElement>("a[href]")?.focus();
  };
  useKeys({ 1: toCard, 2: toCard, 3: toCard, 4: toCard });
  return (
    <Page title={t("Overview")}>
      <QuestionForm
        search={{ who: me }}
        people
        onAsk={(question) => {
          void navigate({ to: "/ask", search: { ...question } });
        }}
      />
      {realms.isPending && <Loading />}
      {realms.error && (
        <ProblemView problem={problemOf(realms.error)} onRetry={() => void realms.refetch()} />
      )}
      <div className={styles.cards} ref={cards}>
        <Card title={t("For you")}>
          <ul className={styles.lines}>
            <li>
              <Link to="/ask/what" search={{ who: me }}>
                {t("What you may do")}
              </Link>
            </li>
            <li>
              <Link to="/assets">{t("What you can see")}</Link>
            </li>
          </ul>
        </Card>
        {all.map((realm) => (
          <RealmCard key={realm.name} realm={realm} title={titleOf(realm, all)} />
        ))}
      </div>
      {realms.isSuccess && all.length === 0 && <FirstRun />}
      {server.may("audit.read") && <Latest />}
    </Page>
  );
}

function RealmCard({ realm, title }: { realm: Realm; title: string }) {
  const rights = useRights(realm.name);
  const looks = rights.may("realm.lint");
  const lint = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/lint",
    { params: { path: { realm: realm.name }, query: { "page.limit": 1000 } } },
    { enabled: looks, staleTime: 60_000, retry: false, meta: FRAME },
  );
  const errors = lint.data?.findings.filter((one) => one.severity === "error").length ?? 0;
  return (
    <Card title={title} note={realm.name}>
      <ul className={styles.lines}>
        {realm.entities != null && (
          <li>
            <Link to="/assets" search={{ realm: realm.name }}>
              <b>{count(realm.entities)}</b> {t("assets")}
            </Link>
          </li>
        )}
        {realm.statements != null && (
          <li>
            <Link to="/r/$realm/statements" params={{ realm: realm.name }}>
              <b>{count(realm.statements)}</b> {t("statements")}
            </Link>
          </li>
        )}
        {lint.data && (
          <li>
            <Link to="/findings" search={{ realm: realm.name }}>
              <b>{count(lint.data.total)}</b>{" "}
              {t("findings, {n, plural, =0 {none an error} one {# an error} other {# errors}}", {
                n: errors,
              })}
            </Link>
          </li>
        )}
        {realm.entities == null && (
          <li>
            <Link to="/assets" search={{ realm: realm.name }}>
              {t("Assets that you can see")}
            </Link>
          </li>
        )}
      </ul>
    </Card>
  );
}

/** Logins change nobody's access. */
const isChange = (row: Schemas["AuditRowResponse"]) =>
  !String((row.event as Record<string, unknown>).operation).startsWith("session.");

const MOST_CHANGES = 12;

function Latest() {
  const rows = $api.useQuery("get", "/api/v1/audit", {
    params: { query: { order: "newest", outcome: "allow", "page.limit": 60 } },
  });
  if (rows.error)
    return <ProblemView problem={problemOf(rows.error)} onRetry={() => void rows.refetch()} />;
  if (!rows.data) return <Loading />;
  const changes = rows.data.rows.filter(isChange).slice(0, MOST_CHANGES);
  if (changes.length === 0) return null;
  return (
    <div className={styles.latest}>
      <Card title={t("Latest changes")} note={<Link to="/audit">{t("All")}</Link>}>
        <ul className={styles.lines}>
          {changes.map((row) => {
            const event = row.event as Record<string, string | number | undefined>;
            const operation = String(event.operation ?? "");
            return (
              <li key={row.seq} className={styles.change}>
                <span title={operation}>
                  <Sentence words={row.words} />
                </span>
                <time>{ago(Number(event.time))}</time>
              </li>
            );
          })}
        </ul>
      </Card>
    </div>
  );
}

function FirstRun() {
  return (
    <Card title={t("Nothing is loaded yet")}>
      <Empty title={t("Load the metadata of a system, then ask.")}>
        <code>{"lakewarden pipeline ingest --help"}</code>
        <code>{"lakewarden load --help"}</code>
      </Empty>
    </Card>
  );
}
