import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";

import { $api, problemOf } from "../../api/client";
import { useMe } from "../../app/session";
import { useKeys } from "../../parts/keys";
import { CopyButton, CommandButton } from "../../parts/copy";
import { Glyph } from "../../parts/glyph";
import { bare, typed } from "../../parts/name";
import { Beside, Card, Page } from "../../parts/page";
import { Sentence } from "../../parts/sentence";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { Segments } from "../../parts/tabs";
import { t } from "../../words";
import styles from "./ask.module.css";
import { AskTabs, Examples, QuestionForm } from "./form";
import { pathOf, type Explanation } from "./path";
import { PathList, Picture } from "./picture";
import { RuleTree } from "./rule";
import { quoted } from "./shell-word";
import { Ways } from "./ways";

const route = getRouteApi("/ask");

/** Whether a person may do something on an entity: the verdict, why, and what would change it. */
export default function May() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const me = useMe();
  const { realm, on } = search;
  const who = search.who ?? me;
  const act = search.do;
  const ready = Boolean(realm && act);
  useKeys({
    w: () => {
      if (realm) void navigate({ to: "/ask/who", search: { realm, do: act, on } });
    },
  });
  const asked = $api.useQuery(
    "post",
    "/api/v1/realms/{realm}/explain",
    {
      params: { path: { realm: realm ?? "" } },
      body: { principal: who === me ? null : who, operation: act ?? "", entity: on || null },
    },
    { enabled: ready, retry: false },
  );
  const title = ready
    ? t("May {who} {act} {on}?", { who: bare(who), act: act ?? "", on: bare(on ?? "") })
    : t("Ask");
  return (
    <Page title={title} heading={t("Ask")}>
      <AskTabs search={search} />
      <QuestionForm
        search={{ ...search, who }}
        people
        onAsk={(next) => {
          void navigate({ search: next });
        }}
      />
      {!ready && <Examples />}
      {ready && asked.isPending && <Loading rows={6} />}
      {asked.error && (
        <ProblemView problem={problemOf(asked.error)} onRetry={() => void asked.refetch()} />
      )}
      {asked.data && realm && act && (
        <Verdict explanation={asked.data} who={who} act={act} on={on ?? ""} realm={realm} />
      )}
    </Page>
  );
}

/** The verdict of an explanation, and why. */
export function Verdict({
  explanation,
  who,
  act,
  on,
  realm,
}: {
  explanation: Explanation;
  who: string;
  act: string;
  on: string;
  realm: string;
}) {
  const { allow } = explanation;
  const path = useMemo(() => pathOf(explanation, who), [explanation, who]);
  const [shape, setShape] = useState<"picture" | "text">("picture");
  const command = [
    "lakewarden",
    "explain",
    quoted(typed(who)),
    quoted(act),
    on && quoted(on),
    "--realm",
    realm,
  ]
    .filter(Boolean)
    .join(" ");
  return (
    <>
      <section
        className={styles.verdict}
        data-allow={allow}
        aria-label={t("Verdict")}
        role="status"
      >
        <p className={styles.big}>
          <Glyph state={allow ? "allow" : "deny"} size={36} />
          {allow ? t("Yes") : t("No")}
        </p>
        <div>
          <p>
            <Sentence words={explanation.summary} large />
          </p>
          <p className={styles.fine}>
            {t("Decided at revision {revision}, worked out now. Realm {realm}.", {
              revision: explanation.revision,
              realm,
            })}
          </p>
          {explanation.notes.map((note) => (
            <p key={note} className={styles.fine}>
              {note}
            </p>
          ))}
        </div>
        <div className={styles.acts}>
          <CopyButton text={location.href} label={t("Copy link")} done={t("Link copied")} />
          <CommandButton command={command} />
        </div>
      </section>
      <Beside
        wide
        side={
          <>
            {!allow && (
              <Card title={t("What would change it")} pad={false}>
                <Ways ways={explanation.ways} named={explanation.named} realm={realm} />
              </Card>
            )}
            {explanation.rule && (
              <Card title={t("The rule for {act}", { act })}>
                <RuleTree step={explanation.rule} />
              </Card>
            )}
          </>
        }
      >
        <Card
          title={t("How the rules reach {who}", { who: bare(who) })}
          note={t("{n, plural, one {# statement applies} other {# statements apply}}", {
            n: explanation.named.length,
          })}
        >
          {path.nodes.length > 1 ? (
            <>
              <div className={styles.shape}>
                <Segments
                  label={t("Show as")}
                  value={shape}
                  options={[
                    ["picture", t("Picture")],
                    ["text", t("Text")],
                  ]}
                  onChange={setShape}
                />
              </div>
              <div className={shape === "picture" ? styles.picture : styles.hidden}>
                <Picture path={path} realm={realm} person={who} />
              </div>
              <div className={shape === "text" ? undefined : styles.narrow}>
                <PathList path={path} />
              </div>
            </>
          ) : (
            <Empty title={t("No statement about this applies to {who}.", { who: bare(who) })}>
              <Link to="/ask/who" search={{ realm, do: act, on }}>
                {t("Who may?")}
              </Link>
            </Empty>
          )}
        </Card>
      </Beside>
    </>
  );
}
