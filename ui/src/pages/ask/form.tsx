import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { useRights, useRightsAnywhere } from "../../api/rights";
import { choicesOf, governed, useRealms, useVocabulary } from "../../api/server";
import { useMe } from "../../app/session";
import { suggest, suggestOperation } from "../../api/suggest";
import { Button } from "../../parts/button";
import { SelectField } from "../../parts/fields";
import { principalOf, typed } from "../../parts/name";
import { Card } from "../../parts/page";
import { Picker } from "../../parts/picker";
import { Tabs } from "../../parts/tabs";
import { t } from "../../words";
import styles from "./ask.module.css";

export interface Question {
  realm?: string;
  who?: string;
  do?: string;
  on?: string;
}

/** The forms of question that the caller may use, filled with the current values. */
export function AskTabs({ search }: { search: Question }) {
  const { realm, who, do: act, on } = search;
  const exact = { exact: true, includeSearch: false };
  const may = useRightsAnywhere();
  return (
    <Tabs label={t("Questions")}>
      <Link to="/ask" search={{ realm, who, do: act, on }} activeOptions={exact}>
        {t("May …?")}
      </Link>
      {may("subject.search") && (
        <Link to="/ask/who" search={{ realm, do: act, on }} activeOptions={exact}>
          {t("Who may …?")}
        </Link>
      )}
      <Link to="/ask/what" search={{ realm, who, do: act }} activeOptions={exact}>
        {t("What may …?")}
      </Link>
      {may("decision.ask") && (
        <Link to="/ask/compare" search={{ realm, a: who, do: act }} activeOptions={exact}>
          {t("Compare")}
        </Link>
      )}
      <Link to="/ask/denials" search={{ realm, who }} activeOptions={exact}>
        {t("Denials")}
      </Link>
    </Tabs>
  );
}

/** The question as a sentence with a field for each of its words. */
export function QuestionForm(props: FormProps) {
  const { realm, who, do: act, on } = props.search;
  // A question from elsewhere, by a link or the back button, replaces the draft.
  return <Form key={[realm, who, act, on].join("\n")} {...props} />;
}

interface FormProps {
  search: Question;
  people?: boolean;
  things?: boolean;
  onAsk: (question: Question) => void;
}

function Form({ search, people = false, things = true, onAsk }: FormProps) {
  const realms = governed(useRealms().data?.realms);
  const [draft, setDraft] = useState({
    ...search,
    who: search.who && typed(search.who),
  });
  const realm = draft.realm ?? realms[0]?.name ?? "";
  const vocabulary = useVocabulary(realm);
  const ask = () => {
    onAsk({ ...draft, realm, who: draft.who && principalOf(draft.who) });
  };
  const set = (part: keyof Question) => (value: string) => {
    setDraft((before) => ({ ...before, [part]: value }));
  };
  return (
    <form
      className={styles.question}
      onSubmit={(event) => {
        event.preventDefault();
        ask();
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && event.ctrlKey) ask();
      }}
    >
      <SelectField
        label={t("Realm")}
        hidden
        value={realm}
        options={choicesOf(realms)}
        onChange={(event) => {
          setDraft((before) => ({ ...before, realm: event.target.value, do: "", on: "" }));
        }}
      />
      <span>{people ? t("May") : t("Who may")}</span>
      {people && (
        <Picker
          label={t("Person")}
          placeholder={t("a person")}
          value={draft.who ?? ""}
          onChange={set("who")}
          suggest={suggest("user,group,role", realm)}
          source={`people ${realm}`}
        />
      )}
      <Picker
        label={t("Operation")}
        placeholder={t("do what")}
        value={draft.do ?? ""}
        onChange={set("do")}
        suggest={suggestOperation(vocabulary.data)}
        source={`operations ${realm} ${vocabulary.data ? "" : "loading"}`}
      />
      {things && (
        <Picker
          label={t("Asset")}
          placeholder={t("on which asset")}
          value={draft.on ?? ""}
          onChange={set("on")}
          suggest={suggest("entity", realm)}
          source={`entities ${realm}`}
        />
      )}
      <span aria-hidden="true">?</span>
      <Button look="main" type="submit" disabled={!draft.do}>
        {t("Ask")}
      </Button>
    </form>
  );
}

/** Three questions that the realm can answer, as examples. */
export function Examples() {
  const me = useMe();
  const realms = governed(useRealms().data?.realms);
  const realm = realms[0];
  const listed = useVocabulary(realm?.name ?? "");
  const operations = (listed.data?.operations ?? []).filter((one) =>
    /\.(load|read|get)$/.test(one.name),
  );
  // A caller who may not ask about others gets questions about themselves.
  const others = useRights(realm?.name ?? "").may("subject.search");
  return (
    <Card title={t("Examples")}>
      <ul className={styles.examples}>
        {operations.slice(0, 3).map((one) => (
          <li key={one.name}>
            {others ? (
              <Link to="/ask/who" search={{ realm: realm?.name, do: one.name }}>
                {t("Who may {act}?", { act: one.title })}
              </Link>
            ) : (
              <Link to="/ask/what" search={{ realm: realm?.name, who: me, do: one.name }}>
                {t("Where may you {act}?", { act: one.title })}
              </Link>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}
