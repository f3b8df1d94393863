import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";

import { $api, api, problemOf, type Problem, type Schemas } from "../../api/client";
import { useRights } from "../../api/rights";
import { choicesOf, governed, useRealms } from "../../api/server";
import { Button } from "../../parts/button";
import { CopyButton } from "../../parts/copy";
import { Filters, SelectField } from "../../parts/fields";
import { Card } from "../../parts/page";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { Table } from "../../parts/table";
import { say } from "../../parts/toast";
import { count, t } from "../../words";
import { RealmsFrame } from "./frame";
import { EndLink } from "./links";
import styles from "./realms.module.css";

type Suggestion = Schemas["SuggestionResponse"];
type Rule = Schemas["LinkRuleResponse"];

const route = getRouteApi("/links/suggestions");
const PAGE = 25;

/**
 * Links between two realms that rules about names would create: add one, the chosen ones, or all of
 * the page.
 */
export default function Suggestions() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const realms = governed(useRealms().data?.realms);
  const realm = search.realm ?? realms[0]?.name ?? "";
  const other = search.other ?? realms.find((one) => one.name !== realm)?.name ?? "";
  const first = useRights(realm);
  const second = useRights(other);
  const may = first.may("link.put") && second.may("link.put");
  const isAsked = realm !== "" && other !== "" && realm !== other;
  const suggested = $api.useQuery(
    "get",
    "/api/v1/links/suggestions",
    { params: { query: { realm, other, "page.limit": PAGE } } },
    { retry: false, enabled: isAsked },
  );
  const [problem, setProblem] = useState<Problem | null>(null);
  const [left, setLeft] = useState(0);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const put = async (pairs: Suggestion[]) => {
    setProblem(null);
    const unmade = new Set(chosen);
    let made = 0;
    for (const pair of pairs) {
      setLeft(pairs.length - made);
      const { error } = await api.PUT("/api/v1/links", {
        body: { one: pair.one, other: pair.other },
      });
      if (error) {
        setProblem(problemOf(error));
        break;
      }
      made += 1;
      unmade.delete(keyOf(pair));
    }
    setLeft(0);
    setChosen(unmade);
    if (made > 0) say(t("{made, plural, one {# link} other {# links}} made", { made }));
    await suggested.refetch();
  };
  const options = choicesOf(realms);
  const rows = suggested.data?.suggestions ?? [];
  const picked = rows.filter((one) => chosen.has(keyOf(one)));
  const wanted = picked.length > 0 ? picked : rows;
  const choose = (key: string, isChosen: boolean) => {
    setChosen((before) => {
      const next = new Set(before);
      if (isChosen) next.add(key);
      else next.delete(key);
      return next;
    });
  };
  return (
    <RealmsFrame>
      <Filters>
        <SelectField
          label={t("Realm")}
          value={realm}
          options={options}
          onChange={(event) => {
            void navigate({ search: { realm: event.target.value, other: search.other } });
          }}
        />
        <SelectField
          label={t("Other realm")}
          value={other}
          options={options}
          onChange={(event) => {
            void navigate({ search: { realm, other: event.target.value } });
          }}
        />
      </Filters>
      {realm === other && <Empty title={t("Choose two different realms.")} />}
      {isAsked && suggested.isPending && <Loading rows={8} />}
      {suggested.error && (
        <ProblemView
          problem={problemOf(suggested.error)}
          onRetry={() => void suggested.refetch()}
        />
      )}
      {problem && <ProblemView problem={problem} />}
      {suggested.data?.total === 0 && (
        <Empty title={t("No names of these realms fit each other beside what is linked.")} />
      )}
      {!!suggested.data?.total && (
        <div className={styles.stack}>
          <Rules rules={suggested.data.rules} keeper={`${realm}-${other}`} />
          <Card
            title={t("{n, plural, one {# suggested link} other {# suggested links}}", {
              n: suggested.data.total,
            })}
            note={
              may && (
                <Button disabled={left > 0} onClick={() => void put(wanted)}>
                  {left > 0
                    ? t("{left} to go", { left })
                    : t("Link {n, plural, one {this one} other {these #}}", { n: wanted.length })}
                </Button>
              )
            }
            pad={false}
          >
            <Table
              label={t("Suggested links")}
              rows={rows}
              total={suggested.data.total}
              rowKey={keyOf}
              columns={[
                ...(may
                  ? [
                      {
                        key: "choose",
                        title: "",
                        label: t("Choose"),
                        cell: (one: Suggestion) => (
                          <input
                            type="checkbox"
                            aria-label={t("Choose {entity}", { entity: one.one.entity })}
                            checked={chosen.has(keyOf(one))}
                            onChange={(event) => {
                              choose(keyOf(one), event.target.checked);
                            }}
                          />
                        ),
                      },
                    ]
                  : []),
                { key: "one", title: t("One"), cell: (one) => <EndLink end={one.one} /> },
                { key: "other", title: t("Other"), cell: (one) => <EndLink end={one.other} /> },
                {
                  key: "rule",
                  title: t("Rule"),
                  minor: true,
                  cell: (one) => <span className={styles.short}>{one.rule}</span>,
                },
                ...(may
                  ? [
                      {
                        key: "put",
                        title: "",
                        label: t("Acts"),
                        cell: (one: Suggestion) => (
                          <Button disabled={left > 0} onClick={() => void put([one])}>
                            {t("Link")}
                          </Button>
                        ),
                      },
                    ]
                  : []),
              ]}
            />
          </Card>
        </div>
      )}
    </RealmsFrame>
  );
}

const keyOf = (one: Suggestion): string => JSON.stringify(one);

function Rules({ rules, keeper }: { rules: Rule[]; keeper: string }) {
  return (
    <Card
      title={t("Rules that would make them")}
      note={
        <CopyButton
          text={asFile(rules, keeper)}
          label={t("Copy as file")}
          done={t("Rules copied")}
        />
      }
    >
      <ul className={styles.rules}>
        {rules.map((rule) => (
          <li key={rule.name}>
            <b>{rule.name}</b>{" "}
            <span>
              {t("{n, plural, one {# link} other {# links}}", { n: rule.pairs })}
              {rule.ignore_case && t(", whatever the case of letters")}
            </span>
            <dl>
              {Object.entries(rule.realms).map(([realm, pattern]) => (
                <div key={realm}>
                  <dt>{realm}</dt>
                  <dd>
                    <code>{pattern}</code>
                  </dd>
                </div>
              ))}
            </dl>
          </li>
        ))}
      </ul>
      <p className={styles.hint}>
        {t("As a file they also link what is loaded later:")}{" "}
        <code>{"lakewarden pipeline link --rules links.toml"}</code>{" "}
        {t("({n} links here)", { n: count(rules.reduce((sum, rule) => sum + rule.pairs, 0)) })}
      </p>
    </Card>
  );
}

/** The rules as a file that `lakewarden pipeline link` reads; its links belong to `keeper`. */
function asFile(rules: Rule[], keeper: string): string {
  const tables = rules.map((rule) => [
    "[[rule]]",
    `name = ${JSON.stringify(rule.name)}`,
    ...(rule.ignore_case ? ["ignore_case = true"] : []),
    "",
    "[rule.realms]",
    ...Object.entries(rule.realms).map(
      ([realm, pattern]) => `${JSON.stringify(realm)} = ${JSON.stringify(pattern)}`,
    ),
    "",
  ]);
  return [`keeper = ${JSON.stringify(keeper)}`, "", ...tables.flat()].join("\n");
}
