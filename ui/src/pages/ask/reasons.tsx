import { Link } from "@tanstack/react-router";
import { useState } from "react";

import type { Schemas } from "../../api/client";
import { bare, Name } from "../../parts/name";
import { t } from "../../words";
import styles from "./reasons.module.css";

/** Who may, by reason: a reason expands to its people. */
export function Reasons({
  realm,
  act,
  on,
  reasons,
}: {
  realm: string;
  act: string;
  on?: string;
  reasons: Schemas["WhoReasonResponse"][];
}) {
  return (
    <ul className={styles.reasons}>
      {reasons.map((one) => (
        <Reason
          key={[...one.through, "|", ...one.statements, one.users[0]].join(" ")}
          {...{ realm, act, on, one }}
        />
      ))}
    </ul>
  );
}

function Reason({
  realm,
  act,
  on,
  one,
}: {
  realm: string;
  act: string;
  on?: string;
  one: Schemas["WhoReasonResponse"];
}) {
  const [open, setOpen] = useState(one.total <= 6);
  const direct = one.through.filter((who) => who.startsWith("user:"));
  const through = one.through.filter((who) => !who.startsWith("user:"));
  return (
    <li>
      <div className={styles.head}>
        <button
          type="button"
          aria-expanded={open}
          onClick={() => {
            setOpen(!open);
          }}
        >
          {t("{n, plural, one {# person} other {# people}}", { n: one.total })}
        </button>
        <span>
          {through.length > 0 && (
            <>
              {t("through")} <Names realm={realm} names={through} />{" "}
            </>
          )}
          {direct.length > 0 && through.length === 0 && t("named directly")}{" "}
          {one.statements.length > 0 ? (
            <>
              {t("because of")}{" "}
              {one.statements.slice(0, 4).map((id, place) => (
                <span key={id}>
                  {place > 0 && ", "}
                  <Link to="/r/$realm/statement" params={{ realm }} search={{ id }}>
                    <Name text={id} cut={48} />
                  </Link>
                </span>
              ))}
              {one.statements.length > 4 && t(" and {n} more", { n: one.statements.length - 4 })}
            </>
          ) : (
            t("as owners, or as the system itself lets everybody")
          )}
        </span>
      </div>
      {open && (
        <p className={styles.people}>
          {one.users.map((user) => (
            <Link key={user} to="/ask" search={{ realm, who: `user:${user}`, do: act, on }}>
              <Name text={user} />
            </Link>
          ))}
          {one.total > one.users.length && (
            <span>{t("and {n} more", { n: one.total - one.users.length })}</span>
          )}
        </p>
      )}
    </li>
  );
}

function Names({ realm, names }: { realm: string; names: string[] }) {
  return names.slice(0, 4).map((name, place) => (
    <span key={name}>
      {place > 0 && ", "}
      <Link to="/principal" search={{ realm, p: name }}>
        <Name text={bare(name)} />
      </Link>
    </span>
  ));
}
