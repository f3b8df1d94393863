import { Link } from "@tanstack/react-router";
import { useDeferredValue, useState } from "react";

import { api, problemOf } from "../../api/client";
import { Filters, TextField } from "../../parts/fields";
import { Name } from "../../parts/name";
import { Card } from "../../parts/page";
import { usePagedList } from "../../parts/paged";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { PagedTable } from "../../parts/table";
import { count, t } from "../../words";

const FILTERED_FROM = 20;

/** The direct children of an asset. */
export function Inside({ realm, entity }: { realm: string; entity: string }) {
  const [text, setText] = useState("");
  const q = useDeferredValue(text.trim());
  const inside = usePagedList(["children", realm, entity, q], async (skip, limit, signal) => {
    const { data, error } = await api.GET("/api/v1/realms/{realm}/children", {
      params: {
        path: { realm },
        query: { of: entity, q: q || undefined, "page.skip": skip, "page.limit": limit },
      },
      signal,
    });
    if (error) throw problemOf(error);
    return { rows: data.children, total: data.total };
  });
  if (inside.isPending) return <Loading />;
  if (inside.error)
    return <ProblemView problem={problemOf(inside.error)} onRetry={inside.refetch} />;
  if (inside.total === 0 && q === "") return <Empty title={t("Nothing lies in it.")} />;
  return (
    <>
      {(q !== "" || inside.total > FILTERED_FROM) && (
        <Filters>
          <TextField
            label={t("Name contains")}
            type="search"
            value={text}
            onChange={(event) => {
              setText(event.target.value);
            }}
          />
        </Filters>
      )}
      <Card pad={false}>
        {inside.total === 0 && <Empty title={t("Nothing in it has such a name.")} />}
        {inside.total > 0 && (
          <PagedTable
            label={t("Inside")}
            list={inside}
            rowKey={(one) => one.entity}
            columns={[
              {
                key: "name",
                title: t("Name"),
                cell: (one) => (
                  <Link to="/asset" search={{ realm, e: one.entity }}>
                    <Name text={one.label} />
                  </Link>
                ),
              },
              { key: "type", title: t("Type"), cell: (one) => one.type },
              { key: "below", title: t("Below it"), number: true, cell: (one) => count(one.below) },
            ]}
          />
        )}
      </Card>
    </>
  );
}
