import { $api } from "../../api/client";
import { FRAME } from "../../api/unread";
import { CommandButton } from "../../parts/copy";
import { Name } from "../../parts/name";
import { ago, count, moment, t } from "../../words";
import { quoted } from "../ask/shell-word";
import styles from "./realms.module.css";

interface QuarantinedRow {
  table: string;
  reason: string;
  detail: string;
  place: string;
}

/** The audit record of a load. Records from before the quarantine was kept have none. */
interface LoadEvent {
  time?: number;
  actor?: string;
  details?: {
    quarantine?: { total: number; first: QuarantinedRow[]; directory: string };
  };
}

export interface LastLoad {
  known: boolean;
  event?: LoadEvent;
}

/** The last load of a realm, by the audit trail. */
export function useLastLoad(realm: string, enabled: boolean): LastLoad {
  const rows = $api.useQuery(
    "get",
    "/api/v1/audit",
    {
      params: {
        query: {
          realm,
          operation: "realm.import",
          outcome: "allow",
          order: "newest",
          "page.limit": 1,
        },
      },
    },
    { retry: false, enabled, meta: FRAME },
  );
  return { known: rows.isSuccess, event: rows.data?.rows[0]?.event as LoadEvent | undefined };
}

/** When and by whom the realm was last loaded. */
export function LoadedWhen({ load }: { load: LastLoad }) {
  const { known, event } = load;
  if (!known) return null;
  return (
    <div>
      <dt>{t("Last load")}</dt>
      <dd>
        {event?.time === undefined ? (
          t("never")
        ) : (
          <span title={moment(event.time)}>
            {t("{when} by {who}", { when: ago(event.time), who: event.actor ?? "" })}
          </span>
        )}
      </dd>
    </div>
  );
}

/** The rows that the pipeline rejected: how many, the first of them, and how to see them all. */
export function Quarantined({ event }: { event: LoadEvent }) {
  const quarantine = event.details?.quarantine;
  if (!quarantine) return null;
  const { total, first, directory } = quarantine;
  return (
    <section className={styles.quarantine} aria-label={t("Quarantine of the last load")}>
      <h3>
        {t(
          "{total, plural, =0 {No row was rejected} one {# row rejected} other {# rows rejected}}",
          {
            total,
          },
        )}
      </h3>
      {first.length > 0 && (
        <ul>
          {first.map((one, place) => (
            <li key={place}>
              <b>{one.reason}</b> <code>{one.table}</code> <Name text={one.detail} cut={120} />
              {one.place && (
                <small>
                  <Name text={one.place} cut={90} />
                </small>
              )}
            </li>
          ))}
        </ul>
      )}
      {total > 0 && directory && (
        <p className={styles.hint}>
          {first.length < total &&
            t("The first {n} of {total}.", { n: first.length, total: count(total) })}{" "}
          <CommandButton command={`lakewarden lint --from ${quoted(directory)} --rule set-aside`} />
        </p>
      )}
    </section>
  );
}
