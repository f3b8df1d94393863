import { Link } from "@tanstack/react-router";

import { api, problemOf } from "../../api/client";
import { Glyph } from "../../parts/glyph";
import { bare, Name, urnLabel } from "../../parts/name";
import { usePagedList } from "../../parts/paged";
import { plain } from "../../parts/sentence";
import { Several } from "../../parts/several";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { PagedTable } from "../../parts/table";
import { t } from "../../words";
import styles from "./rows.module.css";

/** The statements of a realm, or those that name a principal. */
export function StatementRows({
  realm,
  to,
  privilege,
  q,
  effect,
  none = t("No statement matches the filters."),
}: {
  realm: string;
  to?: string;
  privilege?: string;
  q?: string;
  effect?: keyof typeof STATES;
  /** The text of an empty list. */
  none?: string;
}) {
  const statements = usePagedList(
    ["statements", realm, to, privilege, q, effect],
    async (skip, limit, signal) => {
      const { data, error } = await api.GET("/api/v1/realms/{realm}/statements", {
        params: {
          path: { realm },
          query: {
            to,
            privilege: privilege || undefined,
            q: q || undefined,
            effect,
            "page.skip": skip,
            "page.limit": limit,
          },
        },
        signal,
      });
      if (error) throw problemOf(error);
      return { rows: data.statements, total: data.total };
    },
  );
  if (statements.isPending) return <Loading rows={8} />;
  if (statements.error)
    return <ProblemView problem={problemOf(statements.error)} onRetry={statements.refetch} />;
  if (statements.total === 0) return <Empty title={none} />;
  return (
    <PagedTable
      label={t("Statements")}
      list={statements}
      rowKey={(one) => one.id}
      columns={[
        {
          key: "words",
          title: t("In words"),
          cell: (one) => (
            <Link to="/r/$realm/statement" params={{ realm }} search={{ id: one.id }}>
              <Glyph
                state={STATES[one.effect ?? "allow"]}
                size={14}
                label={(one.effect ?? "allow").toUpperCase()}
              />{" "}
              <Name text={one.title || one.id} />
              {one.words && <span className={styles.words}>{plain(one.words)}</span>}
            </Link>
          ),
        },
        {
          key: "to",
          title: t("To"),
          cell: (one) => (
            <span className={styles.names}>
              <Several names={one.to.map((who) => urnLabel(bare(who)))} />
            </span>
          ),
        },
        {
          key: "what",
          title: t("Privileges"),
          minor: true,
          cell: (one) => (
            <code className={styles.names}>
              {one.expression ?? <Several names={one.privileges} />}
            </code>
          ),
        },
        {
          key: "on",
          title: t("On"),
          minor: true,
          cell: (one) => (
            <span className={styles.names}>
              {one.on ? (
                <Link to="/asset" search={{ realm, e: one.on }}>
                  <Name text={one.on} cut={48} />
                </Link>
              ) : (
                <Name
                  text={
                    one.matching ?? (one.where ? t("what its conditions name") : t("everything"))
                  }
                />
              )}
            </span>
          ),
        },
        {
          key: "state",
          title: t("State"),
          minor: true,
          cell: (one) => (one.active === false ? t("Inactive") : t("Active")),
        },
      ]}
    />
  );
}

/** The state drawn for an effect: a filter or a mask allows a part. */
export const STATES = { allow: "allow", deny: "deny", filter: "partial", mask: "partial" } as const;
