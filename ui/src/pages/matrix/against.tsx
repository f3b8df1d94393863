import { useState } from "react";

import { useRights } from "../../api/rights";
import { SelectField, TextField } from "../../parts/fields";
import { PLANNED, plannedIn } from "../../parts/planned";
import { moment, t } from "../../words";

const DAY = 86_400_000;
const NAMED = "named";
const AGES: [days: number, label: string][] = [
  [1, "A day ago"],
  [7, "7 days ago"],
  [30, "30 days ago"],
];

/** The value that a parameter compares with: a revision, a time, or the plan; else undefined. */
export function comparedWith(text: string | undefined): number | string | undefined {
  if (!text) return undefined;
  if (text === PLANNED) return text;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  return Number.isNaN(Date.parse(text)) ? undefined : text;
}

/** The display name of an earlier state that is compared with. */
export function thenCalled(against: number | string): string {
  return typeof against === "number"
    ? t("revision {against}", { against })
    : t("{at}", { at: moment(against) });
}

/**
 * Chooses the state that the matrix is compared with: an earlier one, for readers of the trail, or
 * the latest plan.
 */
export function Against({
  realm,
  against,
  onChange,
}: {
  realm: string;
  against: string | undefined;
  onChange: (against: string | undefined) => void;
}) {
  const rights = useRights(realm);
  const [now] = useState(() => Date.now());
  const [isTyping, setTyping] = useState(false);
  const times = AGES.map(([days]) => new Date(now - days * DAY).toISOString());
  const known = comparedWith(against);
  const isPlanned = known === PLANNED || plannedIn(realm) !== null;
  const reads = rights.may("audit.read");
  if (!reads && !isPlanned && known === undefined) return null;
  const place = times.indexOf(against ?? "");
  const isNamed = isTyping || (known !== undefined && known !== PLANNED && place < 0);
  const earlier: [string, string][] = [
    ...AGES.map(([, label], at): [string, string] => [times[at] ?? "", t(label)]),
    [NAMED, t("A revision or a time")],
  ];
  const options: [string, string][] = [
    ["", t("Nothing")],
    ...(isPlanned ? [[PLANNED, t("The plan made last")] as [string, string]] : []),
    ...(reads || known !== undefined ? earlier : []),
  ];
  return (
    <>
      <SelectField
        label={t("Compare with")}
        value={isNamed ? NAMED : known === PLANNED ? PLANNED : place < 0 ? "" : against}
        options={options}
        onChange={(event) => {
          setTyping(event.target.value === NAMED);
          if (event.target.value !== NAMED) onChange(event.target.value || undefined);
        }}
      />
      {isNamed && (
        <TextField
          label={t("Revision or time")}
          key={against}
          defaultValue={place < 0 ? (against ?? "") : ""}
          placeholder="2026-11-24T18:00:00Z"
          onKeyDown={(event) => {
            if (event.key === "Enter") onChange(event.currentTarget.value.trim() || undefined);
          }}
          onBlur={(event) => {
            if (event.target.value.trim() !== (against ?? ""))
              onChange(event.target.value.trim() || undefined);
          }}
        />
      )}
    </>
  );
}
