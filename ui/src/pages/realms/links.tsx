import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";

import { $api, api, problemOf, type Problem, type Schemas } from "../../api/client";
import { useRights } from "../../api/rights";
import { choicesOf, governed, useRealms } from "../../api/server";
import { suggest } from "../../api/suggest";
import { Button } from "../../parts/button";
import { Filters, SelectField } from "../../parts/fields";
import { bare, kindOf, Name, urnLabel } from "../../parts/name";
import { Card } from "../../parts/page";
import { Picker } from "../../parts/picker";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { Table } from "../../parts/table";
import { say } from "../../parts/toast";
import { t } from "../../words";
import { RealmsFrame } from "./frame";
import styles from "./realms.module.css";

type End = Schemas["LinkEnd"];
type Made = Schemas["LinkResponse"];

const route = getRouteApi("/links");
const STEP = 200;

/** The assets that are the same in two realms. */
export default function Links() {
  const { realm } = route.useSearch();
  const navigate = route.useNavigate();
  const realms = governed(useRealms().data?.realms);
  const rights = useRights(realm ?? realms[0]?.name ?? "");
  const [size, setSize] = useState(STEP);
  const links = $api.useQuery(
    "get",
    "/api/v1/links",
    { params: { query: { realm, "page.limit": size } } },
    { retry: false, placeholderData: (before) => before },
  );
  const [problem, setProblem] = useState<Problem | null>(null);
  const restore = async (body: { one: End; other: End }) => {
    const { error } = await api.PUT("/api/v1/links", { body });
    setProblem(error ? problemOf(error) : null);
    void links.refetch();
  };
  const remove = async ({ one, other }: Made) => {
    const { error } = await api.DELETE("/api/v1/links", {
      params: {
        query: {
          one_realm: one.realm,
          one: one.entity,
          other_realm: other.realm,
          other: other.entity,
        },
      },
    });
    setProblem(error ? problemOf(error) : null);
    if (error) return;
    say(t("Link removed"), () => {
      void restore({ one, other });
    });
    void links.refetch();
  };
  return (
    <RealmsFrame>
      <Filters>
        <SelectField
          label={t("Realm")}
          value={realm ?? ""}
          options={[["", t("All")], ...choicesOf(realms)]}
          onChange={(event) => {
            void navigate({ search: { realm: event.target.value || undefined } });
          }}
        />
      </Filters>
      {problem && <ProblemView problem={problem} />}
      {links.isPending && <Loading rows={8} />}
      {links.error && (
        <ProblemView problem={problemOf(links.error)} onRetry={() => void links.refetch()} />
      )}
      <div className={styles.stack}>
        {rights.may("link.put") && <NewLink onMade={() => void links.refetch()} />}
        {!!links.data?.left_out.length && (
          <p>
            {t("You may not see the links of {realms}.", {
              realms: links.data.left_out.join(", "),
            })}
          </p>
        )}
        {links.data?.total === 0 && (
          <Empty title={t("Nothing is linked yet.")}>
            <Link to="/links/suggestions">{t("See suggested links")}</Link>
          </Empty>
        )}
        {!!links.data?.total && (
          <Card pad={false}>
            <Table
              label={t("Links")}
              rows={links.data.links}
              total={links.data.total}
              rowKey={(one) => JSON.stringify(one)}
              onEnd={() => {
                if (size < links.data.total) setSize(Math.min(size + STEP, 1_000));
              }}
              columns={[
                { key: "one", title: t("One"), cell: (one) => <EndLink end={one.one} /> },
                { key: "other", title: t("Other"), cell: (one) => <EndLink end={one.other} /> },
                {
                  key: "keeper",
                  title: t("Made by"),
                  minor: true,
                  cell: (one) => one.keeper || t("a person"),
                },
                ...(rights.may("link.remove")
                  ? [
                      {
                        key: "remove",
                        title: "",
                        label: t("Acts"),
                        cell: (one: Made) => (
                          <Button onClick={() => void remove(one)}>{t("Remove")}</Button>
                        ),
                      },
                    ]
                  : []),
              ]}
            />
          </Card>
        )}
      </div>
    </RealmsFrame>
  );
}

/** An entity and its realm, as a link to its page. */
export function EndLink({ end }: { end: End }) {
  return (
    <Link to="/asset" search={{ realm: end.realm, e: end.entity }}>
      <Name text={urnLabel(bare(end.entity))} cut={64} />{" "}
      <small className={styles.of}>
        {end.realm} {kindOf(end.entity)}
      </small>
    </Link>
  );
}

function NewLink({ onMade }: { onMade: () => void }) {
  const [problem, setProblem] = useState<Problem | null>(null);
  const [one, setOne] = useState<End>({ realm: "", entity: "" });
  const [other, setOther] = useState<End>({ realm: "", entity: "" });
  const make = async () => {
    const { error } = await api.PUT("/api/v1/links", { body: { one, other } });
    setProblem(error ? problemOf(error) : null);
    if (error) return;
    say(t("Link made"));
    setOne({ ...one, entity: "" });
    setOther({ ...other, entity: "" });
    onMade();
  };
  return (
    <Card title={t("Link two assets")}>
      <form
        className={styles.link}
        onSubmit={(event) => {
          event.preventDefault();
          void make();
        }}
      >
        <EndFields label={t("One")} end={one} onChange={setOne} />
        <EndFields label={t("Other")} end={other} onChange={setOther} />
        <Button type="submit" disabled={!(one.realm && one.entity && other.realm && other.entity)}>
          {t("Link")}
        </Button>
      </form>
      {problem && <ProblemView problem={problem} />}
    </Card>
  );
}

function EndFields({
  label,
  end,
  onChange,
}: {
  label: string;
  end: End;
  onChange: (end: End) => void;
}) {
  const realms = governed(useRealms().data?.realms);
  return (
    <div className={styles.end}>
      <SelectField
        label={t("{label}: realm", { label })}
        value={end.realm}
        options={[["", "–"], ...choicesOf(realms)]}
        onChange={(event) => {
          onChange({ realm: event.target.value, entity: "" });
        }}
      />
      <Picker
        label={t("{label}: asset", { label })}
        placeholder={t("which asset")}
        value={end.entity}
        onChange={(entity) => {
          onChange({ ...end, entity });
        }}
        suggest={suggest("entity", end.realm)}
        source={`entity ${end.realm}`}
      />
    </div>
  );
}
