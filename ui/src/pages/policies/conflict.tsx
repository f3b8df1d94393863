import { useState } from "react";

import { Button } from "../../parts/button";
import { Confirm } from "../../parts/drawer";
import { EffectCard, useEffectOf } from "../../parts/effect";
import { Card } from "../../parts/page";
import { t } from "../../words";
import styles from "./policies.module.css";
import { drafted, type PolicyInfo } from "./policy";

/** A member of a policy as it is shown: its name, and what it holds as lines of text. */
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

/** What is set in an object, a member a line; texts as they are, all else as JSON. */
function lines(value: object): string[] {
  return Object.entries(value)
    .filter(([, one]) => one !== undefined && one !== null && one !== false)
    .filter(([, one]) => !Array.isArray(one) || one.length > 0)
    .map(([key, one]) => `${key}: ${typeof one === "string" ? one : JSON.stringify(one)}`);
}

/**
 * The two versions of a policy that two people changed, side by side. Nothing is decided here:
 * whichever is taken, the other one can be brought back.
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
  const rows = MEMBERS.map(([title, of]) => {
    const [was, them, me] = [base, theirs, mine].map(of) as [string[], string[], string[]];
    return { title, them, me, byThem: !alike(was, them), byMe: !alike(was, me) };
  }).filter((one) => one.byThem || one.byMe);
  return (
    <Card
      title={t("Somebody else has changed this policy")}
      note={t("what a version changed is marked")}
      label={t("Two versions")}
    >
      <table className={styles.versions}>
        <colgroup>
          <col />
          <col />
          <col />
        </colgroup>
        <thead>
          <tr>
            <td />
            <th scope="col">{t("Theirs")}</th>
            <th scope="col">{t("Mine")}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((one) => (
            <tr key={one.title}>
              <th scope="row">{t(one.title)}</th>
              <Version lines={one.them} others={one.me} changed={one.byThem} />
              <Version lines={one.me} others={one.them} changed={one.byMe} />
            </tr>
          ))}
        </tbody>
      </table>
      <div className={styles.acts}>
        <Button disabled={busy} onClick={onTheirs}>
          {t("Take theirs")}
        </Button>
        <Button
          look="main"
          disabled={busy}
          onClick={() => {
            setOpen(true);
          }}
        >
          {t("Save mine over it")}
        </Button>
      </div>
      <Confirm
        open={open}
        title={t("Save your version over theirs?")}
        act={t("Save policy")}
        disabled={!effect.isCurrent}
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
    </Card>
  );
}

/** One version of a member; a line that the other version lacks is bold. */
function Version({
  lines: own,
  others,
  changed,
}: {
  lines: string[];
  others: string[];
  changed: boolean;
}) {
  return (
    <td data-changed={changed || undefined}>
      {changed && <span className="visually-hidden">{t("changed:")} </span>}
      {own.length === 0 && t("none")}
      {own.map((line) => (
        <div key={line}>{others.includes(line) ? line : <b>{line}</b>}</div>
      ))}
    </td>
  );
}

function alike(one: string[], other: string[]): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
