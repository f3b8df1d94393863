import { useState } from "react";

import { Confirm } from "../../parts/drawer";
import { EffectCard, useEffectOf } from "../../parts/effect";
import { Versions } from "../../parts/versions";
import { t } from "../../words";
import { drafted, type PolicyInfo } from "./policy";

/** A displayed member of a policy: its name, and its value as lines of text. */
const MEMBERS: readonly [string, (info: PolicyInfo) => string[]][] = [
  ["Name", (info) => [info.displayName]],
  ["Description", (info) => [info.description ?? ""]],
  ["State", (info) => [info.state]],
  ["What", (info) => info.privileges],
  ["Which", (info) => lines({ ...info.resources, privilegeConstraints: undefined })],
  ["Who", (info) => lines(info.actors ?? {})],
  ["Limits", (info) => lines(info.resources?.privilegeConstraints ?? {})],
  ["Else", (info) => lines(unnamed(info))],
];
const NAMED = new Set(["displayName", "description", "state", "privileges", "resources", "actors"]);
const NO_MATTER = new Set(["lastUpdatedTimestamp"]);

function unnamed(info: PolicyInfo): object {
  const rest = Object.entries(info).filter(([key]) => !NAMED.has(key) && !NO_MATTER.has(key));
  return Object.fromEntries(rest);
}

/** The members of an object that are set, one per line; text as it is, all else as JSON. */
function lines(value: object): string[] {
  return Object.entries(value)
    .filter(([, one]) => one !== undefined && one !== null && one !== false)
    .filter(([, one]) => !Array.isArray(one) || one.length > 0)
    .map(([key, one]) => `${key}: ${typeof one === "string" ? one : JSON.stringify(one)}`);
}

/**
 * The two versions of a policy that two people changed, side by side. Nothing is decided here:
 * whichever is chosen, the other one can be restored.
 */
export function Conflict({
  realm,
  urn,
  base,
  theirs,
  mine,
  busy,
  onTheirs,
  onMine,
}: {
  realm: string;
  urn: string;
  base: PolicyInfo;
  theirs: PolicyInfo;
  mine: PolicyInfo;
  busy: boolean;
  onTheirs: () => void;
  onMine: () => void;
}) {
  const [open, setOpen] = useState(false);
  const effect = useEffectOf(realm, open ? drafted(urn, mine) : null, 0);
  const rows = MEMBERS.map(([title, of]) => ({
    title: t(title),
    was: of(base),
    theirs: of(theirs),
    mine: of(mine),
  }));
  return (
    <Versions
      title={t("Somebody else has changed this policy")}
      rows={rows}
      busy={busy}
      onTheirs={onTheirs}
      onMine={() => {
        setOpen(true);
      }}
    >
      <Confirm
        open={open}
        title={t("Save your version over theirs?")}
        act={t("Save policy")}
        disabled={!effect.isSeen}
        onAct={() => {
          setOpen(false);
          onMine();
        }}
        onClose={() => {
          setOpen(false);
        }}
      >
        <EffectCard realm={realm} effect={effect} />
      </Confirm>
    </Versions>
  );
}
