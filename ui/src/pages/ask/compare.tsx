import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";

import { $api, problemOf, type Schemas } from "../../api/client";
import { choicesOf, governed, useRealms, useVocabulary } from "../../api/server";
import { suggest, suggestOperation } from "../../api/suggest";
import { Button } from "../../parts/button";
import { CopyButton } from "../../parts/copy";
import { SelectField } from "../../parts/fields";
import { bare, Name, principalOf } from "../../parts/name";
import { Card, Page } from "../../parts/page";
import { Picker } from "../../parts/picker";
import { Sentence } from "../../parts/sentence";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { count, t } from "../../words";
import styles from "./ask.module.css";
import compare from "./compare.module.css";
import { AskTabs } from "./form";

const route = getRouteApi("/ask/compare");

/** Two people side by side: what only one may do something on, and what both may. */
export default function Compare() {
  const search = route.useSearch();
  const { realm, a, b, do: act, within } = search;
  const ready = realm && a && b && act;
  return (
    <Page
      title={ready ? t("{a} and {b} compared", { a: bare(a), b: bare(b) }) : t("Compare")}
      heading={t("Ask")}
    >
      <AskTabs search={{ realm, who: a, do: act }} />
      <Form key={JSON.stringify(search)} />
      {ready ? (
        <Answer realm={realm} a={a} b={b} act={act} within={within} />
      ) : (
        <Empty title={t("Name two people and what they want to do.")} />
      )}
    </Page>
  );
}

function Form() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const realms = governed(useRealms().data?.realms);
  const [draft, setDraft] = useState(search);
  const realm = draft.realm ?? realms[0]?.name ?? "";
  const vocabulary = useVocabulary(realm);
  const set = (part: keyof typeof draft) => (value: string) => {
    setDraft((before) => ({ ...before, [part]: value }));
  };
  const person = (part: "a" | "b", label: string) => (
    <Picker
      label={label}
      placeholder={label}
      value={draft[part] ?? ""}
      onChange={set(part)}
      suggest={suggest("user,group,role", realm)}
      source={`people ${realm}`}
    />
  );
  return (
    <form
      className={styles.question}
      onSubmit={(event) => {
        event.preventDefault();
        const [a, b] = [draft.a, draft.b].map((one) => one && principalOf(one));
        void navigate({ search: { ...draft, realm, a, b } });
      }}
    >
      <SelectField
        label={t("Realm")}
        hidden
        value={realm}
        options={choicesOf(realms)}
        onChange={(event) => {
          setDraft((before) => ({ ...before, realm: event.target.value, do: "" }));
        }}
      />
      <span>{t("What may")}</span>
      {person("a", t("one person"))}
      <span>{t("and")}</span>
      {person("b", t("another person"))}
      <Picker
        label={t("Operation")}
        placeholder={t("do what")}
        value={draft.do ?? ""}
        onChange={set("do")}
        suggest={suggestOperation(vocabulary.data)}
        source={`operations ${realm} ${vocabulary.data ? "" : "loading"}`}
      />
      <Picker
        label={t("Within")}
        placeholder={t("within (anywhere)")}
        value={draft.within ?? ""}
        onChange={set("within")}
        suggest={suggest("entity", realm)}
        source={`entities ${realm}`}
      />
      <Button look="main" type="submit">
        {t("Compare")}
      </Button>
    </form>
  );
}

function Answer({
  realm,
  a,
  b,
  act,
  within,
}: {
  realm: string;
  a: string;
  b: string;
  act: string;
  within?: string;
}) {
  const asked = $api.useQuery(
    "post",
    "/api/v1/realms/{realm}/compare",
    {
      params: { path: { realm } },
      body: { a: { principal: a }, b: { principal: b }, ask: act, within: within || null },
    },
    { retry: false },
  );
  if (asked.isPending) return <Loading rows={6} />;
  if (asked.error)
    return <ProblemView problem={problemOf(asked.error)} onRetry={() => void asked.refetch()} />;
  const { only_a, both, only_b, revision } = asked.data;
  return (
    <>
      <div className={compare.parts}>
        <Part realm={realm} act={act} title={t("Only {who}", { who: bare(a) })} part={only_a} />
        <Part realm={realm} act={act} title={t("Both")} part={both} />
        <Part realm={realm} act={act} title={t("Only {who}", { who: bare(b) })} part={only_b} />
      </div>
      <p className={styles.fine}>
        {t("At revision {revision}.", { revision })}{" "}
        <CopyButton text={location.href} label={t("Copy link")} done={t("Link copied")} />
      </p>
    </>
  );
}

function Part({
  realm,
  act,
  title,
  part,
}: {
  realm: string;
  act: string;
  title: string;
  part: Schemas["ComparisonPart"];
}) {
  return (
    <Card title={<Name text={title} />} note={count(part.entities)} label={title}>
      {part.entities === 0 ? (
        <p className={compare.none}>{t("nothing")}</p>
      ) : (
        <ul className={compare.inside}>
          {part.inside.map((one) => (
            <li key={one.within ?? ""}>
              <p>
                <b>{count(one.entities)}</b>{" "}
                {one.within ? (
                  <>
                    {t("in")}{" "}
                    <Link to="/asset" search={{ realm, e: one.within }}>
                      <Name text={bare(one.within)} cut={60} />
                    </Link>
                  </>
                ) : (
                  t("at the top")
                )}
                , {t("such as")}{" "}
                <Link to="/ask/who" search={{ realm, do: act, on: one.sample }}>
                  <Name text={bare(one.sample)} cut={60} />
                </Link>
              </p>
              {one.why.length > 0 && (
                <p className={compare.why}>
                  <Sentence words={one.why} />
                </p>
              )}
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
