import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useDeferredValue, useState } from "react";

import { $api, problemOf } from "../../api/client";
import { Button, buttonClass } from "../../parts/button";
import { Filters, SelectField, TextField } from "../../parts/fields";
import { Name } from "../../parts/name";
import { Card, Page, Tag } from "../../parts/page";
import { plain, type Word } from "../../parts/sentence";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { Table } from "../../parts/table";
import { t } from "../../words";
import styles from "./policies.module.css";
import { policies, whom, type Listed } from "./policy";

const route = getRouteApi("/r/$realm/policies");
const MOST = 1000;
const SHOWN = 3;

/** DataHub's policies: what each says, whether it counts, and whom it names. */
export default function Policies() {
  const { realm } = route.useParams();
  const { q = "", state = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const [text, setText] = useState(q);
  const found = useQuery(policies(realm, useDeferredValue(text.trim()), state, MOST));
  const words = useWords(realm);
  const rows = found.data?.policies ?? [];
  return (
    <Page
      title={t("Policies")}
      acts={
        <Link className={buttonClass("main")} to="/r/$realm/policy/new" params={{ realm }}>
          {t("New policy")}
        </Link>
      }
    >
      <Filters>
        <TextField
          label={t("Name or description")}
          value={text}
          type="search"
          onChange={(event) => {
            setText(event.target.value);
          }}
          onBlur={() => {
            void navigate({ search: { q: text || undefined, state: state || undefined } });
          }}
        />
        <SelectField
          label={t("State")}
          value={state}
          options={[
            ["", t("Any")],
            ["ACTIVE", t("Active")],
            ["INACTIVE", t("Inactive")],
          ]}
          onChange={(event) => {
            void navigate({
              search: { q: text || undefined, state: event.target.value || undefined },
            });
          }}
        />
        {(text || state) && (
          <Button
            onClick={() => {
              setText("");
              void navigate({ search: {} });
            }}
          >
            {t("Clear")}
          </Button>
        )}
      </Filters>
      <Card pad={false}>
        {found.isPending && <Loading rows={8} />}
        {found.error && (
          <ProblemView problem={problemOf(found.error)} onRetry={() => void found.refetch()} />
        )}
        {found.data && rows.length === 0 && (
          <Empty title={text || state ? t("No policy fits.") : t("There is no policy yet.")} />
        )}
        {rows.length > 0 && (
          <Table
            label={t("Policies")}
            rows={rows}
            total={found.data?.total}
            rowKey={(one) => one.urn}
            columns={[
              {
                key: "name",
                title: t("Policy"),
                cell: (one) => <Said realm={realm} one={one} words={words.get(one.urn)} />,
              },
              {
                key: "state",
                title: t("State"),
                cell: (one) => (
                  <span className={styles.marks}>
                    <Tag state={one.state === "ACTIVE" ? "allow" : undefined}>
                      {one.state === "ACTIVE" ? t("Active") : t("Inactive")}
                    </Tag>
                    {!one.editable && <Tag>{t("locked")}</Tag>}
                  </span>
                ),
              },
              { key: "who", title: t("Who"), minor: true, cell: (one) => <Who one={one} /> },
              {
                key: "type",
                title: t("Type"),
                minor: true,
                cell: (one) => (one.type === "PLATFORM" ? t("Platform") : t("Metadata")),
              },
            ]}
          />
        )}
      </Card>
    </Page>
  );
}

function Said({ realm, one, words }: { realm: string; one: Listed; words?: Word[] }) {
  return (
    <Link to="/r/$realm/policy" params={{ realm }} search={{ urn: one.urn }}>
      <Name text={one.name || one.urn} />
      <span className={styles.words}>{words ? plain(words) : one.description}</span>
    </Link>
  );
}

function Who({ one }: { one: Listed }) {
  const names = whom(one.actors);
  return (
    <>
      {names.slice(0, SHOWN).join(", ") || t("nobody")}
      {names.length > SHOWN && t(" and {n} more", { n: names.length - SHOWN })}
    </>
  );
}

/** The policies as sentences, where the caller may read the realm's statements. */
function useWords(realm: string): Map<string, Word[]> {
  const rows = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/statements",
    { params: { path: { realm }, query: { "page.limit": MOST } } },
    { retry: false, staleTime: 30_000 },
  );
  return new Map((rows.data?.statements ?? []).map((one) => [one.id, one.words ?? []]));
}
