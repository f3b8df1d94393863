import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";

import { $api, problemOf } from "../../api/client";
import { choicesOf, governed, useRealms } from "../../api/server";
import { suggest } from "../../api/suggest";
import { useMe } from "../../app/session";
import { Button } from "../../parts/button";
import { SelectField, TextField } from "../../parts/fields";
import { bare, Name, principalOf, typed } from "../../parts/name";
import { Card, Page } from "../../parts/page";
import { Picker } from "../../parts/picker";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { Table } from "../../parts/table";
import { ago, moment, t } from "../../words";
import styles from "./ask.module.css";
import { AskTabs } from "./form";
import { Verdict } from "./may";

const route = getRouteApi("/ask/denials");

/** Denials that engines showed: a user's latest, or one by the id of its decision. */
export default function Denials() {
  const search = route.useSearch();
  const me = useMe();
  const realms = governed(useRealms().data?.realms);
  const realm = search.realm ?? realms[0]?.name ?? "";
  const who = search.who ?? me;
  return (
    <Page
      title={search.id ? t("Decision {id}", { id: search.id }) : t("Denials that engines showed")}
      heading={t("Ask")}
    >
      <AskTabs search={{ realm, who }} />
      <Form key={JSON.stringify(search)} realm={realm} who={who} />
      {search.id && realm && <Decision realm={realm} id={search.id} />}
      {!search.id && realm && <Latest realm={realm} who={who} />}
    </Page>
  );
}

function Form({ realm: asked, who: asking }: { realm: string; who: string }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const realms = governed(useRealms().data?.realms);
  const [chosen, setRealm] = useState("");
  const realm = chosen || asked;
  const [who, setWho] = useState(typed(asking));
  const [id, setId] = useState(search.id ?? "");
  return (
    <form
      className={styles.question}
      onSubmit={(event) => {
        event.preventDefault();
        const named = principalOf(who) || undefined;
        void navigate({ search: id ? { realm, id } : { realm, who: named } });
      }}
    >
      <SelectField
        label={t("Realm")}
        hidden
        value={realm}
        options={choicesOf(realms)}
        onChange={(event) => {
          setRealm(event.target.value);
        }}
      />
      <span>{t("What was denied to")}</span>
      <Picker
        label={t("Person")}
        placeholder={t("a person")}
        value={who}
        onChange={setWho}
        suggest={suggest("user,group,role", realm)}
        source={`people ${realm}`}
      />
      <span>{t("or why")}</span>
      <TextField
        label={t("Id of the decision")}
        hidden
        placeholder={t("the id of a decision")}
        value={id}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => {
          setId(event.target.value.trim());
        }}
      />
      <span aria-hidden="true">?</span>
      <Button look="main" type="submit">
        {t("Show")}
      </Button>
    </form>
  );
}

function Latest({ realm, who }: { realm: string; who: string }) {
  const me = useMe();
  const found = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/denials",
    { params: { path: { realm }, query: who === me ? {} : { principal: who } } },
    { retry: false },
  );
  if (found.isPending) return <Loading rows={6} />;
  if (found.error)
    return <ProblemView problem={problemOf(found.error)} onRetry={() => void found.refetch()} />;
  const { denials } = found.data;
  if (denials.length === 0)
    return <Empty title={t("No engine showed a denial to {who}.", { who: bare(who) })} />;
  return (
    <Card pad={false}>
      <Table
        label={t("Denials")}
        rows={denials}
        total={denials.length}
        rowKey={(one) => `${one.decision} ${one.at}`}
        columns={[
          { key: "at", title: t("When"), cell: (one) => ago(one.at) },
          {
            key: "operation",
            title: t("Operation"),
            cell: (one) => <code>{one.operation}</code>,
          },
          {
            key: "entity",
            title: t("Asset"),
            cell: (one) => <Name text={bare(one.entity ?? "")} cut={60} />,
          },
          {
            key: "decision",
            title: t("Decision"),
            cell: (one) => (
              <Link to="/ask/denials" search={{ realm, id: one.decision }}>
                <Name text={one.decision} cut={24} />
              </Link>
            ),
          },
        ]}
      />
    </Card>
  );
}

function Decision({ realm, id }: { realm: string; id: string }) {
  const found = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/decisions/{decision}",
    { params: { path: { realm, decision: id } } },
    { retry: false },
  );
  if (found.isPending) return <Loading rows={6} />;
  if (found.error)
    return <ProblemView problem={problemOf(found.error)} onRetry={() => void found.refetch()} />;
  const { denial, explanation } = found.data;
  return (
    <>
      <p className={styles.fine}>
        {t("Denied {when}, at revision {revision}. Explained as things are now.", {
          when: moment(denial.at),
          revision: denial.revision,
        })}
      </p>
      <Verdict
        explanation={explanation}
        who={denial.principal}
        act={denial.operation}
        on={denial.entity ?? ""}
        realm={realm}
      />
    </>
  );
}
