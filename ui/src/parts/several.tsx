import { Fragment } from "react";

import { t } from "../words";
import { Name } from "./name";
import styles from "./several.module.css";

const SHOWN = 3;

/**
 * The first of several names, and how many more there are. Each name is cut by itself, so that two
 * of them never read as one, and keeps its comma.
 */
export function Several({ names }: { names: string[] }) {
  const more = names.length - SHOWN;
  const shown = names.slice(0, SHOWN);
  return (
    <>
      {shown.map((name, place) => (
        <Fragment key={name}>
          {place > 0 && " "}
          <span className={styles.one}>
            <Name text={name} cut={60} />
            {place < shown.length - 1 && ","}
          </span>
        </Fragment>
      ))}
      {more > 0 && t(" and {n} more", { n: more })}
    </>
  );
}
