import { useState } from "react";

import { $api, problemOf } from "../api/client";
import { ago, moment, t } from "../words";
import { Button } from "./button";
import styles from "./history.module.css";
import { Name } from "./name";
import { Card } from "./page";
import { Sentence } from "./sentence";
import { Loading, ProblemView } from "./states";

const STEP = 20;
const MOST = 1_000;

/**
 * The history of one thing, newest first; beside other parts it is absent if the caller may not
 * read it.
 */
export function History({
  realm,
  about,
  alone = false,
}: {
  realm: string;
  about: { statement?: string; entity?: string; principal?: string };
  /** Nothing else is shown, so a denial is shown, too. */
  alone?: boolean;
}) {
  const [size, setSize] = useState(STEP);
  const told = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/history",
    { params: { path: { realm }, query: { ...about, "page.limit": size } } },
    { retry: false, placeholderData: (before) => before },
  );
  if (told.error) {
    const problem = problemOf(told.error);
    if (problem.status === 403) return alone ? <ProblemView problem={problem} /> : null;
    return (
      <Card title={t("History")}>
        <ProblemView problem={problem} onRetry={() => void told.refetch()} />
      </Card>
    );
  }
  if (!told.data)
    return (
      <Card title={t("History")}>
        <Loading />
      </Card>
    );
  const { rows, page } = told.data;
  return (
    <Card title={t("History")}>
      {rows.length === 0 ? (
        <p>
          {t(
            "No history: it came with the realm, or its changes are no longer in the change feed.",
          )}
        </p>
      ) : (
        <ol className={styles.rows}>
          {rows.map((row, place) => (
            <li key={`${String(row.revision)} ${String(place)}`}>
              <p>
                <Sentence words={row.words} />
              </p>
              <p className={styles.by}>
                {row.by && <Name text={row.by} />}
                {row.at && (
                  <time dateTime={row.at} title={moment(row.at)}>{` ${ago(row.at)}`}</time>
                )}
                {` · ${t("revision {revision}", { revision: row.revision })}`}
              </p>
            </li>
          ))}
        </ol>
      )}
      {page.next_token && size < MOST && (
        <Button
          onClick={() => {
            setSize((now) => Math.min(MOST, now + STEP));
          }}
        >
          {t("Show earlier")}
        </Button>
      )}
      {page.next_token && size === MOST && <p>{t("Earlier changes are in the audit trail.")}</p>}
    </Card>
  );
}
