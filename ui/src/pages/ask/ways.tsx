import { Link } from "@tanstack/react-router";

import type { Schemas } from "../../api/client";
import { bare, Name } from "../../parts/name";
import { Empty } from "../../parts/states";
import { t } from "../../words";
import styles from "./ask.module.css";
import type { Explanation, Statement } from "./path";

type Way = Explanation["ways"][number];
const SHOWN = 5;

/** The smallest changes that would turn a denial into an allow, and who can make them. */
export function Ways({ ways, named, realm }: { ways: Way[]; named: Statement[]; realm: string }) {
  if (ways.length === 0)
    return <Empty title={t("No single change to the stored rules would allow it.")} />;
  const byId = new Map(named.map((one) => [one.id, one]));
  return (
    <ol className={styles.ways}>
      {ways.slice(0, SHOWN).map((way, place) => (
        <li key={place} className={styles.way}>
          {way.allow.map((need) => (
            <Need key={need.privilege + (need.on ?? "")} need={need} />
          ))}
          {way.join.map((group) => (
            <p key={group}>
              {t("Enter it into")}{" "}
              <b>
                <Name text={bare(group)} />
              </b>
            </p>
          ))}
          {way.lift.map((lift) => (
            <Lift
              key={lift.statement}
              lift={lift}
              statement={byId.get(lift.statement)}
              realm={realm}
            />
          ))}
          {way.leave.map((leave) => (
            <div key={leave.member + leave.of}>
              <p>
                {t("or take")} <Name text={bare(leave.member)} /> {t("out of")}{" "}
                <b>
                  <Name text={bare(leave.of)} />
                </b>
              </p>
            </div>
          ))}
          {way.opens.length > 0 && (
            <details>
              <summary>
                {t(
                  "This opens {n, plural, one {one more operation} other {# more operations}} too",
                  {
                    n: way.opens.length,
                  },
                )}
              </summary>
              <p className={styles.opens}>{way.opens.join(", ")}</p>
            </details>
          )}
        </li>
      ))}
    </ol>
  );
}

function Need({ need }: { need: Schemas["MissingGrant"] }) {
  return (
    <div>
      <p>
        {t("Grant")} <code>{need.privilege}</code>
        {need.on && (
          <>
            {" "}
            {t("on")}{" "}
            <b>
              <Name text={need.on} />
            </b>
          </>
        )}
      </p>
      {need.can_be_granted_by === null ? (
        <p className={styles.doers}>{t("Only an administrator of the realm can grant this.")}</p>
      ) : (
        <Doers names={need.can_be_granted_by} />
      )}
    </div>
  );
}

function Lift({
  lift,
  statement,
  realm,
}: {
  lift: Way["lift"][number];
  statement?: Statement;
  realm: string;
}) {
  const title = statement?.title || lift.statement;
  return (
    <div>
      <p>
        {t("Lift the DENY of")}{" "}
        <Link to="/r/$realm/statement" params={{ realm }} search={{ id: lift.statement }}>
          <Name text={title} />
        </Link>
        {statement?.on && (
          <>
            {" "}
            {t("on")}{" "}
            <b>
              <Name text={statement.on} />
            </b>
          </>
        )}
      </p>
      <Doers names={lift.can_be_lifted_by} />
    </div>
  );
}

/** Who can do it: the first names, and how many more. */
function Doers({ names }: { names: string[] | null }) {
  if (names === null) return null;
  if (names.length === 0) return <p className={styles.doers}>{t("Nobody stored can do it.")}</p>;
  return (
    <p className={styles.doers}>
      {t("Can do it:")}{" "}
      {names.slice(0, SHOWN).map((name, place) => (
        <span key={name}>
          {place > 0 && ", "}
          <Name text={bare(name)} />
        </span>
      ))}
      {names.length > SHOWN && t(" and {n} more", { n: names.length - SHOWN })}
    </p>
  );
}
