import { useEffect, useState, type ReactNode } from "react";

import { mayPass, type Problem } from "../api/client";
import { useReadAgain } from "../api/unread";
import { t } from "../words";
import { Button } from "./button";
import { Glyph } from "./glyph";
import { MessageText } from "./message-text";
import { Name } from "./name";
import styles from "./states.module.css";

/** A placeholder for pending content; shown only after 150 ms. */
export function Loading({ rows = 3 }: { rows?: number }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => {
      setLate(true);
    }, 150);
    return () => {
      clearTimeout(timer);
    };
  }, []);
  return (
    <div className={styles.loading} role="status" aria-busy="true">
      <span className="visually-hidden">{t("Loading")}</span>
      {late && Array.from({ length: rows }, (_, row) => <span key={row} className={styles.bone} />)}
    </div>
  );
}

/** What would be here, and the one action that fills it. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={styles.empty}>
      <h3>{title}</h3>
      {children}
    </div>
  );
}

/** Instead of a form whose result the server would refuse. */
export function NoRight({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <Empty title={title}>
      <p>{t("An administrator of the realm can grant it.")}</p>
      {children}
    </Empty>
  );
}

/**
 * A problem in the server's own words; for a refusal, who can grant access. Trying again also reads
 * what else failed on the page.
 */
export function ProblemView({
  problem,
  onRetry,
  children,
}: {
  problem: Problem;
  onRetry?: () => void;
  /** Where the reader can go instead. */
  children?: ReactNode;
}) {
  const denied = problem.status === 403;
  const readAgain = useReadAgain();
  return (
    <div className={styles.problem} role="alert" data-denied={denied || undefined}>
      <Glyph state={denied ? "deny" : "partial"} size={22} />
      <div className={styles.says}>
        <p className={styles.detail}>
          <MessageText text={problem.detail} />
        </p>
        {problem.missing && !problem.detail.includes(problem.missing.privilege) && (
          <p>
            {t("It needs")} <code>{problem.missing.privilege}</code> {t("on")}{" "}
            <Name text={problem.missing.object} />
          </p>
        )}
        {!!problem.may_grant?.length && (
          <p>
            {t("Who can grant it:")}{" "}
            {problem.may_grant.map((who, place) => (
              <span key={who}>
                {place > 0 && ", "}
                <Name text={who} />
              </span>
            ))}
          </p>
        )}
        {problem.errors?.map((one) => (
          <p key={one.path + one.message}>
            <code>{one.path}</code> {one.message}
          </p>
        ))}
        {children}
        {problem.request_id && (
          <p className={styles.id}>
            {t("Request")} <code>{problem.request_id}</code>
          </p>
        )}
      </div>
      {onRetry && mayPass(problem) && (
        <Button
          onClick={() => {
            onRetry();
            readAgain();
          }}
        >
          {t("Try again")}
        </Button>
      )}
    </div>
  );
}
