import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { $api, api, problemOf, type Problem, type Schemas } from "../../api/client";
import { useReadsStatements, useRights } from "../../api/rights";
import { useVocabulary } from "../../api/server";
import { buttonClass, Button } from "../../parts/button";
import { Confirm } from "../../parts/drawer";
import { TextField } from "../../parts/fields";
import { Beside, Card, Page, Tag } from "../../parts/page";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { Tabs } from "../../parts/tabs";
import { say } from "../../parts/toast";
import { count, t } from "../../words";
import { LoadedWhen, Quarantined, useLastLoad } from "./last-load";
import { LookupTables } from "./lookup-tables";
import { Operations, Privileges } from "./model";
import { EnginePlugins } from "./plugins";
import { RealmSettings } from "./realm-settings";
import styles from "./realms.module.css";

type Realm = Schemas["RealmResponse"];

const route = getRouteApi("/realm");

/** One realm: its settings and what they permit, its last load, and its model. */
export default function RealmPage() {
  const { name = "", tab } = route.useSearch();
  const found = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}",
    { params: { path: { realm: name } } },
    { enabled: name !== "", retry: false },
  );
  const words = useVocabulary(name);
  const rights = useRights(name);
  const realm = found.data;
  return (
    <Page
      title={name || t("Realm")}
      where={<Link to="/realms">{t("Realms and links")}</Link>}
      tags={realm && <Tag>{realm.title}</Tag>}
      acts={realm && <Acts realm={realm} />}
    >
      {name === "" && (
        <Empty title={t("The address names no realm.")}>
          <Link to="/realms">{t("All realms")}</Link>
        </Empty>
      )}
      {name !== "" && found.isPending && <Loading rows={6} />}
      {found.error && (
        <ProblemView problem={problemOf(found.error)} onRetry={() => void found.refetch()} />
      )}
      {realm && (
        <>
          <Tabs label={t("Realm")}>
            {TABS.filter(([key]) => key !== "lookups" || rights.may("lookup.list")).map(
              ([key, text]) => (
                <Link
                  key={text}
                  to="/realm"
                  search={{ name, tab: key }}
                  activeOptions={{ exact: true, includeSearch: true }}
                >
                  {t(text)}
                </Link>
              ),
            )}
          </Tabs>
          {tab === "lookups" && <LookupTables realm={realm} />}
          {words.isPending && <Loading rows={6} />}
          {words.error && (
            <ProblemView problem={problemOf(words.error)} onRetry={() => void words.refetch()} />
          )}
          {words.data && tab === "operations" && <Operations vocabulary={words.data} />}
          {words.data && tab === "privileges" && <Privileges vocabulary={words.data} />}
          {words.data && !TABS.some(([key]) => key !== undefined && key === tab) && (
            <Beside side={<Facts realm={realm} />}>
              <RealmSettings key={realm.name} realm={realm} declared={words.data.settings} />
            </Beside>
          )}
        </>
      )}
    </Page>
  );
}

const TABS: [string | undefined, string][] = [
  [undefined, "Settings"],
  ["lookups", "Lookup tables"],
  ["operations", "Operations and rules"],
  ["privileges", "Privileges"],
];

function Acts({ realm }: { realm: Realm }) {
  const rights = useRights(realm.name);
  const readsGrants = useReadsStatements();
  const mayExport = rights.may("realm.export") && readsGrants(realm.name);
  return (
    <>
      {mayExport && (
        <a
          className={buttonClass()}
          href={`/api/v1/realms/${encodeURIComponent(realm.name)}/policy`}
          download={`${realm.name}-policy.json`}
        >
          {t("Export the policy")}
        </a>
      )}
      {rights.may("realm.drop") && realm.name !== "_server" && <Drop realm={realm} />}
    </>
  );
}

function Facts({ realm }: { realm: Realm }) {
  const rights = useRights(realm.name);
  // lakewarden's own realm is not loaded, and no engine asks it.
  const isLoaded = realm.name !== "_server";
  const load = useLastLoad(realm.name, isLoaded && rights.may("audit.read"));
  return (
    <Card title={t("This realm")}>
      <dl className={styles.facts}>
        <div>
          <dt>{t("Model")}</dt>
          <dd>
            <code>{realm.model}</code>
          </dd>
        </div>
        <div>
          <dt>{t("Directory")}</dt>
          <dd>{realm.directory}</dd>
        </div>
        {realm.entities != null && (
          <div>
            <dt>{t("Entities")}</dt>
            <dd>
              <Link to="/assets" search={{ realm: realm.name }}>
                {count(realm.entities)}
              </Link>
            </dd>
          </div>
        )}
        {realm.statements != null && (
          <div>
            <dt>{t("Statements")}</dt>
            <dd>
              <Link to="/r/$realm/statements" params={{ realm: realm.name }}>
                {count(realm.statements)}
              </Link>
            </dd>
          </div>
        )}
        <LoadedWhen load={load} />
      </dl>
      {load.event && <Quarantined event={load.event} />}
      {isLoaded && rights.may("statement.list") && <EnginePlugins realm={realm.name} />}
    </Card>
  );
}

/** Drops a realm, after its name was typed; first says what is dropped with it. */
function Drop({ realm }: { realm: Realm }) {
  const [open, setOpen] = useState(false);
  const [typed, setTyped] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const links = $api.useQuery(
    "get",
    "/api/v1/links",
    { params: { query: { realm: realm.name, "page.limit": 1 } } },
    { enabled: open, retry: false },
  );
  const drop = async () => {
    const { error } = await api.DELETE("/api/v1/realms/{realm}", {
      params: { path: { realm: realm.name } },
    });
    setProblem(error ? problemOf(error) : null);
    if (error) return;
    say(t("Realm {name} dropped", { name: realm.name }));
    await navigate({ to: "/realms" });
    await queries.invalidateQueries();
  };
  return (
    <>
      <Button
        look="danger"
        onClick={() => {
          setTyped("");
          setProblem(null);
          setOpen(true);
        }}
      >
        {t("Drop…")}
      </Button>
      <Confirm
        open={open}
        title={t("Drop the realm {name}?", { name: realm.name })}
        act={t("Drop the realm")}
        disabled={typed !== realm.name}
        onAct={drop}
        onClose={() => {
          setOpen(false);
        }}
      >
        <p>{t("This is deleted with it, and cannot be restored:")}</p>
        <ul className={styles.goes}>
          <li>{t("{n} entities", { n: count(realm.entities ?? 0) })}</li>
          <li>{t("{n} statements", { n: count(realm.statements ?? 0) })}</li>
          {links.data && <li>{t("{n} links to other realms", { n: count(links.data.total) })}</li>}
          <li>{t("tokens that are valid in this realm only, and all rights over it")}</li>
        </ul>
        <TextField
          label={t("Type the name of the realm")}
          value={typed}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => {
            setTyped(event.target.value);
          }}
        />
        {problem && <ProblemView problem={problem} />}
      </Confirm>
    </>
  );
}
