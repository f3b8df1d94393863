import { useState } from "react";

import { Button } from "../../parts/button";
import { Icon } from "../../parts/icon";
import { Name } from "../../parts/name";
import { Picker, type Choice } from "../../parts/picker";
import { t } from "../../words";
import styles from "./policies.module.css";

/** Names that are taken one by one, from suggestions or as they are typed. */
export function Chips({
  label,
  values,
  onChange,
  suggest,
  source,
  show = (value) => value,
  disabled = false,
}: {
  label: string;
  values: string[];
  onChange: (values: string[]) => void;
  suggest: (text: string, signal: AbortSignal) => Promise<Choice[]>;
  source: string;
  show?: (value: string) => string;
  disabled?: boolean;
}) {
  const [text, setText] = useState("");
  const add = () => {
    const value = text.trim();
    if (value && !values.includes(value)) onChange([...values, value]);
    setText("");
  };
  return (
    <fieldset className={styles.fieldset} disabled={disabled}>
      <legend>{label}</legend>
      {values.length > 0 && (
        <ul className={styles.chips}>
          {values.map((value) => (
            <li key={value} className={styles.chip} title={value}>
              <Name text={show(value)} />
              {!disabled && (
                <Button
                  look="quiet"
                  aria-label={t("Take {name} out", { name: show(value) })}
                  onClick={() => {
                    onChange(values.filter((one) => one !== value));
                  }}
                >
                  <Icon name="close" />
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
      {!disabled && (
        <form
          className={styles.chips}
          onSubmit={(event) => {
            event.preventDefault();
            add();
          }}
        >
          <Picker
            label={t("Add to {label}", { label })}
            placeholder={t("Type a name or a URN")}
            value={text}
            onChange={setText}
            suggest={suggest}
            source={source}
          />
          <Button type="submit" disabled={!text.trim()}>
            {t("Add")}
          </Button>
        </form>
      )}
    </fieldset>
  );
}
