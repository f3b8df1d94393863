import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { api, problemOf } from "../../api/client";
import { FRAME } from "../../api/unread";
import { SelectField } from "../../parts/fields";
import { t } from "../../words";

const DAY = 86_400_000;
const NAMED = "named";
const AGES: [days: number, label: string][] = [
  [1, "The last day"],
  [7, "The last 7 days"],
  [30, "The last 30 days"],
];

/**
 * Chooses the revision since which findings are new: the newest one of so many days ago, by the
 * audit trail. A caller who may not read the trail gets no choices, and sees a revision that a link
 * names.
 */
export function Since({
  realm,
  since,
  onChange,
}: {
  realm: string;
  since: number | undefined;
  onChange: (since: number | undefined) => void;
}) {
  const [now] = useState(() => Date.now());
  const before = useQuery({
    queryKey: ["revisions of days ago", realm, now],
    enabled: realm !== "",
    retry: false,
    meta: FRAME,
    queryFn: async ({ signal }) => {
      const revisions = AGES.map(async ([days]) => {
        const until = new Date(now - days * DAY).toISOString();
        const { data, error } = await api.GET("/api/v1/audit", {
          params: { query: { realm, until, order: "newest", "page.limit": 1 } },
          signal,
        });
        if (error) throw problemOf(error);
        return data.rows[0]?.revision ?? 0;
      });
      return Promise.all(revisions);
    },
  });
  const revisions = before.data ?? [];
  const options: [string, string][] = [["", t("Any time")]];
  let value = since === undefined ? "" : NAMED;
  AGES.forEach(([days, label], place) => {
    const revision = revisions[place];
    if (revision === undefined) return;
    const option = `${String(days)} ${String(revision)}`;
    if (value === NAMED && revision === since) value = option;
    options.push([option, t(label)]);
  });
  if (value === NAMED) options.push([NAMED, t("After revision {since}", { since })]);
  if (options.length === 1) return null;
  return (
    <SelectField
      label={t("New in")}
      value={value}
      options={options}
      onChange={(event) => {
        const revision = event.target.value.split(" ")[1];
        onChange(revision === undefined ? undefined : Number(revision));
      }}
    />
  );
}
