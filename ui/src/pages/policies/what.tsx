import { useState } from "react";

import { $api } from "../../api/client";
import { Check, TextField } from "../../parts/fields";
import { Loading } from "../../parts/states";
import { t } from "../../words";
import styles from "./policies.module.css";

/** The privileges of a policy; those that the model does not declare stay, and are marked. */
export function What({
  realm,
  isPlatform,
  held,
  onChange,
  disabled,
}: {
  realm: string;
  isPlatform: boolean;
  held: string[];
  onChange: (privileges: string[]) => void;
  disabled: boolean;
}) {
  const [text, setText] = useState("");
  const vocabulary = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/operations",
    { params: { path: { realm } } },
    { staleTime: 300_000, retry: false },
  );
  if (vocabulary.isPending) return <Loading rows={4} />;
  const declared = vocabulary.data?.privileges ?? [];
  const fitting = declared.filter((one) => (one.on.length === 0) === isPlatform);
  const titles = new Map(declared.map((one) => [one.name, one.title]));
  const others = held.filter((name) => !fitting.some((one) => one.name === name));
  const wanted = text.trim().toLowerCase();
  const rows = [
    ...others.map((name) => ({ name, title: titles.get(name) ?? name, fits: false })),
    ...fitting.map((one) => ({ name: one.name, title: one.title, fits: true })),
  ].filter(
    (one) =>
      (!disabled || held.includes(one.name)) &&
      (one.title.toLowerCase().includes(wanted) || one.name.toLowerCase().includes(wanted)),
  );
  return (
    <fieldset className={styles.fieldset}>
      <legend>
        {t("{n, plural, =0 {No privilege} one {# privilege} other {# privileges}}", {
          n: held.length,
        })}
      </legend>
      <TextField
        label={t("Find a privilege")}
        type="search"
        value={text}
        disabled={false}
        onChange={(event) => {
          setText(event.target.value);
        }}
      />
      <div className={styles.list} tabIndex={0} role="group" aria-label={t("Privileges")}>
        {rows.map((one) => (
          <Check
            key={one.name}
            label={one.title}
            title={one.name}
            hint={
              one.fits
                ? undefined
                : titles.has(one.name)
                  ? t("does nothing in a policy of this type")
                  : t("not known to this version")
            }
            checked={held.includes(one.name)}
            disabled={disabled}
            onChange={(event) => {
              onChange(
                event.target.checked
                  ? [...held, one.name]
                  : held.filter((name) => name !== one.name),
              );
            }}
          />
        ))}
        {rows.length === 0 && <p>{t("No privilege has this name.")}</p>}
      </div>
    </fieldset>
  );
}
