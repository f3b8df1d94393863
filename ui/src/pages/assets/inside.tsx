import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { $api, problemOf } from "../../api/client";
import { Button } from "../../parts/button";
import { Name } from "../../parts/name";
import { Card } from "../../parts/page";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { Table } from "../../parts/table";
import { count, t } from "../../words";

/** What lies directly in an asset. */
export function Inside({ realm, entity }: { realm: string; entity: string }) {
  const [size, setSize] = useState(100);
  const inside = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/children",
    { params: { path: { realm }, query: { of: entity, "page.limit": size } } },
    { retry: false, placeholderData: (before) => before },
  );
  if (inside.isPending) return <Loading />;
  if (inside.error)
    return <ProblemView problem={problemOf(inside.error)} onRetry={() => void inside.refetch()} />;
  const { children, total } = inside.data;
  if (total === 0) return <Empty title={t("Nothing lies in it.")} />;
  return (
    <Card pad={false}>
      <Table
        label={t("Inside")}
        rows={children}
        total={total}
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
      {children.length < total && (
        <Button
          look="quiet"
          onClick={() => {
            setSize(1_000);
          }}
        >
          {t("Show up to 1,000")}
        </Button>
      )}
    </Card>
  );
}
