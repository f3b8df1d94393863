import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";

import { $api, api, problemOf, type Problem, type Schemas } from "../../api/client";
import { useRights } from "../../api/rights";
import { choicesOf, governed, useRealms } from "../../api/server";
import { Button } from "../../parts/button";
import { Check, Filters, SelectField, TextField } from "../../parts/fields";
import { Card, Tag } from "../../parts/page";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { Table } from "../../parts/table";
import { say } from "../../parts/toast";
import { ago, count, moment, t } from "../../words";
import { RealmsFrame } from "../realms/frame";
import styles from "./targets.module.css";

export type Target = Schemas["TargetResponse"];

const route = getRouteApi("/targets");

/** The databases that a realm is pushed to. */
export default function Targets() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const realms = governed(useRealms().data?.realms);
  const first = realms.find((one) => one.model === "gravitino") ?? realms[0];
  const realm = search.realm ?? first?.name ?? "";
  const rights = useRights(realm);
  const targets = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/targets",
    { params: { path: { realm } } },
    { enabled: rights.may("push_target.list"), retry: false },
  );
  return (
    <RealmsFrame>
      <Filters>
        <SelectField
          label={t("Realm")}
          value={realm}
          options={choicesOf(realms)}
          onChange={(event) => {
            void navigate({ search: { realm: event.target.value } });
          }}
        />
      </Filters>
      <div className={styles.stack}>
        {rights.known && !rights.may("push_target.list") && (
          <p>{t("You may not see the targets of this realm.")}</p>
        )}
        {targets.isLoading && <Loading rows={4} />}
        {targets.error && (
          <ProblemView problem={problemOf(targets.error)} onRetry={() => void targets.refetch()} />
        )}
        {targets.data?.targets.length === 0 && (
          <Empty title={t("This realm has no push targets.")} />
        )}
        {!!targets.data?.targets.length && <Rows rows={targets.data.targets} />}
        {rights.may("push_target.put") && (
          <NewTarget
            key={realm}
            realm={realm}
            names={targets.data?.styles ?? []}
            onMade={() => void targets.refetch()}
          />
        )}
      </div>
    </RealmsFrame>
  );
}

function Rows({ rows }: { rows: Target[] }) {
  return (
    <Card pad={false}>
      <Table
        label={t("Targets")}
        rows={rows}
        total={rows.length}
        rowKey={(one) => one.name}
        columns={[
          {
            key: "name",
            title: t("Target"),
            cell: (one) => (
              <Link to="/target" search={{ realm: one.realm, name: one.name }}>
                {one.name}
              </Link>
            ),
          },
          { key: "kind", title: t("Kind"), minor: true, cell: (one) => one.kind },
          { key: "catalog", title: t("Catalog"), cell: (one) => <code>{one.catalog}</code> },
          { key: "pushed", title: t("Last push"), cell: (one) => <Pushed target={one} /> },
          {
            key: "roles",
            title: t("Roles"),
            number: true,
            minor: true,
            cell: (one) => count(one.roles),
          },
          { key: "drift", title: t("State"), cell: (one) => <State target={one} /> },
        ]}
      />
    </Card>
  );
}

/** When a target was last pushed to. */
export function Pushed({ target }: { target: Target }) {
  if (!target.pushed_at) return t("never");
  const seconds = Date.parse(target.pushed_at) / 1000;
  return <span title={moment(seconds)}>{ago(seconds)}</span>;
}

/** How a change of the realm reaches the target: automatically or not. */
export function following(target: Target): string {
  switch (target.state) {
    case "current":
      return t("each change by itself; it is up to date");
    case "behind":
      return t("each change by itself; some are still to come");
    case "failing":
      return t("each change by itself; it fails: {error}", { error: target.error });
    default:
      return t("when somebody pushes");
  }
}

/** The result of the last watch of a target, in a word. */
export function State({ target }: { target: Target }) {
  if (target.state === "failing") return <Tag state="partial">{t("push fails")}</Tag>;
  if (!target.drift)
    return target.revision ? <Tag state="allow">{t("as pushed")}</Tag> : <Tag>{t("new")}</Tag>;
  const { missing, added, denied } = target.drift;
  return (
    <Tag state="partial">
      {missing + added + denied > 0 ? t("changed by others") : t("grants of others")}
    </Tag>
  );
}

const EMPTY = { name: "", catalog: "", url: "", style: "" };

function NewTarget({
  realm,
  names,
  onMade,
}: {
  realm: string;
  names: string[];
  onMade: () => void;
}) {
  const [draft, setDraft] = useState(EMPTY);
  const [follow, setFollow] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const add = async () => {
    const { error } = await api.PUT("/api/v1/realms/{realm}/targets/{target}", {
      params: { path: { realm, target: draft.name } },
      body: { catalog: draft.catalog, url: draft.url, style: draft.style, follow },
    });
    setProblem(error ? problemOf(error) : null);
    if (error) return;
    setDraft(EMPTY);
    setFollow(false);
    say(
      follow ? t("Target added; it is pushed to soon") : t("Target added; nothing was pushed yet"),
    );
    onMade();
  };
  const field = (key: keyof typeof draft) => ({
    value: draft[key],
    autoComplete: "off",
    spellCheck: false,
    onChange: (event: { target: { value: string } }) => {
      setDraft({ ...draft, [key]: event.target.value });
    },
  });
  return (
    <Card title={t("Add a target")}>
      <form
        className={styles.add}
        onSubmit={(event) => {
          event.preventDefault();
          void add();
        }}
      >
        <TextField label={t("Name")} hint={t("Lower-case letters and digits")} {...field("name")} />
        <TextField
          label={t("Catalog")}
          hint={t("METALAKE.CATALOG, or all of a METALAKE for Ranger")}
          {...field("catalog")}
        />
        <TextField
          label={t("Address with the account")}
          hint={t("Stored encrypted, and not shown again")}
          type="password"
          {...field("url")}
        />
        {names.length > 0 && (
          <SelectField
            label={t("Style")}
            hint={t("How roles and policies are named there")}
            value={draft.style}
            options={[
              ["", t("lakewarden’s own")] as const,
              ...names.map((one) => [one, t("as {system}’s plug-in", { system: one })] as const),
            ]}
            onChange={(event) => {
              setDraft({ ...draft, style: event.target.value });
            }}
          />
        )}
        <Check
          label={t("Push each change by itself")}
          checked={follow}
          onChange={(event) => {
            setFollow(event.target.checked);
          }}
        />
        <Button
          type="submit"
          look="main"
          disabled={[draft.name, draft.catalog, draft.url].includes("")}
        >
          {t("Add target")}
        </Button>
      </form>
      {problem && <ProblemView problem={problem} />}
    </Card>
  );
}
