import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";

import { $api, problemOf, type Schemas } from "../../api/client";
import { useRights } from "../../api/rights";
import { choicesOf, governed, useRealms } from "../../api/server";
import { Drawer } from "../../parts/drawer";
import { Filters, SelectField } from "../../parts/fields";
import { Glyph } from "../../parts/glyph";
import { MessageText } from "../../parts/message-text";
import { Name } from "../../parts/name";
import { Card, Page } from "../../parts/page";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { Table } from "../../parts/table";
import { t } from "../../words";
import { Detail } from "./detail";
import { Since } from "./since";
import styles from "./findings.module.css";

type Finding = Schemas["FindingResponse"];

const route = getRouteApi("/findings");

/** Lint's findings in the rules of a realm, with how to fix them. */
export default function Findings() {
  const { realm: chosen, rule, severity, left, since } = route.useSearch();
  const navigate = route.useNavigate();
  const realms = governed(useRealms().data?.realms);
  const realm = chosen ?? realms[0]?.name ?? "";
  const dismissed = left === "yes" ? "true" : "false";
  const lint = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/lint",
    {
      params: {
        path: { realm },
        query: {
          rule,
          severity: known(severity),
          dismissed,
          since: revision(since),
          "page.limit": 1000,
        },
      },
    },
    { enabled: realm !== "", retry: false, placeholderData: (before) => before },
  );
  const all = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/lint",
    { params: { path: { realm }, query: { "page.limit": 1000 } } },
    { enabled: realm !== "", retry: false },
  );
  const rights = useRights(realm);
  const [open, setOpen] = useState<Finding | null>(null);
  const shown = lint.data?.findings ?? [];
  const rules = [...new Set((all.data?.findings ?? []).map((one) => one.rule))].sort();
  return (
    <Page title={t("Findings")}>
      <Filters>
        <SelectField
          label={t("Realm")}
          value={realm}
          options={choicesOf(realms)}
          onChange={(event) => {
            void navigate({ search: { realm: event.target.value } });
          }}
        />
        <SelectField
          label={t("Severity")}
          value={severity ?? ""}
          options={[
            ["", t("Any")],
            ["error", t("Error")],
            ["warning", t("Warning")],
            ["note", t("Note")],
          ]}
          onChange={(event) => {
            void navigate({
              search: { realm, rule, left, since, severity: event.target.value || undefined },
            });
          }}
        />
        <SelectField
          label={t("Rule")}
          value={rule ?? ""}
          options={[["", t("Any")], ...rules.map((one) => [one, one] as const)]}
          onChange={(event) => {
            void navigate({
              search: { realm, severity, left, since, rule: event.target.value || undefined },
            });
          }}
        />
        <SelectField
          label={t("Show")}
          value={left ?? ""}
          options={[
            ["", t("Open")],
            ["yes", t("Dismissed")],
          ]}
          onChange={(event) => {
            void navigate({
              search: { realm, severity, rule, since, left: event.target.value || undefined },
            });
          }}
        />
        <Since
          key={realm}
          realm={realm}
          since={revision(since)}
          onChange={(chosen) => {
            const after = chosen === undefined ? undefined : String(chosen);
            void navigate({ search: { realm, severity, rule, left, since: after } });
          }}
        />
      </Filters>
      {lint.isPending && realm && <Loading rows={8} />}
      {lint.error && (
        <ProblemView problem={problemOf(lint.error)} onRetry={() => void lint.refetch()} />
      )}
      {lint.data && shown.length === 0 && (
        <Empty
          title={
            rule || severity || left || since
              ? t("No finding matches these filters.")
              : t("{n, plural, one {# rule} other {# rules}} checked, no findings.", {
                  n: lint.data.rules,
                })
          }
        />
      )}
      {shown.length > 0 && (
        <Card pad={false}>
          <Table
            label={t("Findings")}
            rows={shown}
            total={lint.data?.total}
            rowKey={(one) => one.fingerprint}
            onOpen={setOpen}
            columns={[
              {
                key: "severity",
                title: t("Severity"),
                cell: (one) => (
                  <button
                    type="button"
                    className={styles.open}
                    onClick={() => {
                      setOpen(one);
                    }}
                  >
                    <Glyph state={one.severity === "error" ? "deny" : "partial"} size={14} />{" "}
                    <span>{one.severity}</span>
                  </button>
                ),
              },
              {
                key: "rule",
                title: t("Rule"),
                minor: true,
                cell: (one) => <code>{one.rule}</code>,
              },
              {
                key: "where",
                title: t("Where"),
                cell: (one) =>
                  one.kind === "statement" ? (
                    <Link to="/r/$realm/statement" params={{ realm }} search={{ id: one.name }}>
                      <Name text={one.name} cut={48} />
                    </Link>
                  ) : (
                    <Name text={one.name} cut={48} />
                  ),
              },
              { key: "says", title: t("Says"), cell: (one) => <MessageText text={one.says} /> },
              {
                key: "fix",
                title: t("How to fix it"),
                minor: true,
                cell: (one) => <MessageText text={one.fix} />,
              },
            ]}
          />
        </Card>
      )}
      <Drawer
        open={open !== null}
        onClose={() => {
          setOpen(null);
        }}
        title={open && <code>{open.rule}</code>}
      >
        {open && (
          <Detail
            key={open.fingerprint}
            realm={realm}
            finding={open}
            canRemove={rights.may("statement.remove")}
            canDismiss={rights.may("realm.alter")}
            onDone={() => {
              setOpen(null);
            }}
          />
        )}
      </Drawer>
    </Page>
  );
}

function revision(since: string | undefined): number | undefined {
  return since !== undefined && /^\d{1,9}$/.test(since) ? Number(since) : undefined;
}

function known(severity: string | undefined): "error" | "warning" | "note" | undefined {
  return severity === "error" || severity === "warning" || severity === "note"
    ? severity
    : undefined;
}
