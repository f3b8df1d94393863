import type { ReactNode } from "react";

import { t } from "../words";
import { Button } from "./button";
import { Name } from "./name";
import { Card } from "./page";
import styles from "./versions.module.css";

/** A member that two people changed, as lines of text: before, theirs, and mine. */
export interface VersionRow {
  title: string;
  was: string[];
  theirs: string[];
  mine: string[];
}

/**
 * The two versions of something that two people changed, side by side; unchanged members are
 * omitted. Nothing is decided here: whichever is chosen, the other one can be restored.
 */
export function Versions({
  title,
  rows,
  busy,
  onTheirs,
  onMine,
  children,
}: {
  title: string;
  rows: VersionRow[];
  busy: boolean;
  onTheirs: () => void;
  onMine: () => void;
  children?: ReactNode;
}) {
  return (
    <Card title={title} note={t("what a version changed is marked")} label={t("Two versions")}>
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
          {rows.filter(isChanged).map(({ title: member, was, theirs, mine }) => (
            <tr key={member}>
              <th scope="row">
                <Name text={member} />
              </th>
              <Version lines={theirs} others={mine} changed={!alike(was, theirs)} />
              <Version lines={mine} others={theirs} changed={!alike(was, mine)} />
            </tr>
          ))}
        </tbody>
      </table>
      <div className={styles.acts}>
        <Button disabled={busy} onClick={onTheirs}>
          {t("Take theirs")}
        </Button>
        <Button look="main" disabled={busy} onClick={onMine}>
          {t("Save mine over it")}
        </Button>
      </div>
      {children}
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
      {own.map((line, place) => {
        const name = <Name text={line} cut={200} />;
        return <div key={place}>{others.includes(line) ? name : <b>{name}</b>}</div>;
      })}
    </td>
  );
}

function isChanged({ was, theirs, mine }: VersionRow): boolean {
  return !alike(was, theirs) || !alike(was, mine);
}

function alike(one: string[], other: string[]): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
