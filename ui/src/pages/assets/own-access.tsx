import { Link } from "@tanstack/react-router";

import { useOwnOperations } from "../../api/rights";
import { useVocabulary } from "../../api/server";
import { Card } from "../../parts/page";
import { Loading } from "../../parts/states";
import { t } from "../../words";
import styles from "./access.module.css";

/** What the caller may do with an asset: for a caller who may not ask about others. */
export function OwnAccess({ realm, entity }: { realm: string; entity: string }) {
  const own = useOwnOperations(realm, entity);
  const vocabulary = useVocabulary(realm);
  const titles = new Map(vocabulary.data?.operations.map((one) => [one.name, one.title]));
  if (own.isPending) return <Loading rows={3} />;
  if (own.error) return null;
  const { operations } = own.data;
  return (
    <Card
      title={t("{n, plural, =0 {You may do nothing with it} other {What you may do with it}}", {
        n: operations.length,
      })}
    >
      <ul className={styles.own}>
        {operations.map((operation) => (
          <li key={operation}>
            <Link to="/ask" search={{ realm, do: operation, on: entity }}>
              {titles.get(operation) ?? operation}
            </Link>
          </li>
        ))}
      </ul>
      <p>
        <Link to="/ask" search={{ realm, on: entity }}>
          {t("Ask why you may or may not")}
        </Link>
      </p>
    </Card>
  );
}
