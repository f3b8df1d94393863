import { $api } from "../../api/client";
import { FRAME } from "../../api/unread";
import { Name } from "../../parts/name";
import { t } from "../../words";
import styles from "./realms.module.css";

/**
 * The engine plugins that poll a realm, with the age of their documents; nothing if there are none.
 */
export function EnginePlugins({ realm }: { realm: string }) {
  const polls = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/plugins",
    { params: { path: { realm } } },
    { retry: false, meta: FRAME },
  );
  if (!polls.data?.plugins.length) return null;
  return (
    <section aria-label={t("Plugins of engines")} className={styles.plugins}>
      <h3>{t("Plugins of engines")}</h3>
      <dl className={styles.facts}>
        {polls.data.plugins.map((one) => (
          <div key={`${one.service} ${one.plugin}`}>
            <dt>
              <Name text={one.plugin} cut={40} />
              <small className={styles.of}>{one.service}</small>
            </dt>
            <dd>{age(one.age_seconds)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** The age of documents: in seconds below two minutes, which is longer than plugins wait. */
export function age(seconds: number): string {
  const [size, unit] = STEPS.find(([from]) => seconds >= 2 * from) ?? [1, "second"];
  const n = Math.floor(seconds / size);
  return t("documents {age} old", {
    age: new Intl.NumberFormat("en", { style: "unit", unit, unitDisplay: "long" }).format(n),
  });
}

const STEPS: [number, string][] = [
  [86_400, "day"],
  [3_600, "hour"],
  [60, "minute"],
];
