import { getRouteApi, Link } from "@tanstack/react-router";

import { $api, problemOf } from "../../api/client";
import { governed, useRealms } from "../../api/server";
import { Filters, SelectField } from "../../parts/fields";
import { Glyph } from "../../parts/glyph";
import { Name } from "../../parts/name";
import { Card, Page } from "../../parts/page";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { Table } from "../../parts/table";
import { t } from "../../words";

const route = getRouteApi("/findings");

/** What lint found in the rules of a realm, with how to mend it. */
export default function Findings() {
  const { realm: chosen, rule, severity } = route.useSearch();
  const navigate = route.useNavigate();
  const realms = governed(useRealms().data?.realms);
  const realm = chosen ?? realms[0]?.name ?? "";
  const lint = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/lint",
    { params: { path: { realm }, query: { "page.limit": 1000 } } },
    { enabled: realm !== "", retry: false },
  );
  const all = lint.data?.findings ?? [];
  const rules = [...new Set(all.map((one) => one.rule))].sort();
  const shown = all.filter(
    (one) => (!rule || one.rule === rule) && (!severity || one.severity === severity),
  );
  return (
    <Page title={t("Findings")}>
      <Filters>
        <SelectField
          label={t("Realm")}
          value={realm}
          options={realms.map((one) => [one.name, one.title || one.name] as const)}
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
            ["info", t("Info")],
          ]}
          onChange={(event) => {
            void navigate({ search: { realm, rule, severity: event.target.value || undefined } });
          }}
        />
        <SelectField
          label={t("Rule")}
          value={rule ?? ""}
          options={[["", t("Any")], ...rules.map((one) => [one, one] as const)]}
          onChange={(event) => {
            void navigate({ search: { realm, severity, rule: event.target.value || undefined } });
          }}
        />
      </Filters>
      {lint.isPending && realm && <Loading rows={8} />}
      {lint.error && (
        <ProblemView problem={problemOf(lint.error)} onRetry={() => void lint.refetch()} />
      )}
      {lint.data && shown.length === 0 && (
        <Empty
          title={all.length ? t("No finding fits these filters.") : t("The rules look fine.")}
        />
      )}
      {shown.length > 0 && (
        <Card pad={false}>
          <Table
            label={t("Findings")}
            rows={shown}
            total={shown.length}
            rowKey={(one) => `${one.rule} ${one.kind} ${one.name} ${one.says}`}
            columns={[
              {
                key: "severity",
                title: t("Severity"),
                cell: (one) => (
                  <>
                    <Glyph state={one.severity === "error" ? "deny" : "partial"} size={14} />{" "}
                    {one.severity}
                  </>
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
              { key: "says", title: t("Says"), cell: (one) => <Name text={one.says} cut={400} /> },
              { key: "fix", title: t("How to mend it"), minor: true, cell: (one) => one.fix },
            ]}
          />
        </Card>
      )}
    </Page>
  );
}
