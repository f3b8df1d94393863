import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, problemOf, type Problem, type Schemas } from "../../api/client";
import { useRights } from "../../api/rights";
import { Button } from "../../parts/button";
import { SelectField, TextField } from "../../parts/fields";
import { Glyph } from "../../parts/glyph";
import { Card } from "../../parts/page";
import { MessageText } from "../../parts/message-text";
import { Empty, ProblemView } from "../../parts/states";
import { say } from "../../parts/toast";
import { t } from "../../words";
import styles from "./realms.module.css";

type Declared = Schemas["ModelSettingResponse"];

/** The settings of a realm: what each decides, and what its value leaves open. */
export function RealmSettings({
  realm,
  declared,
}: {
  realm: Schemas["RealmResponse"];
  declared: Declared[];
}) {
  const rights = useRights(realm.name);
  const queries = useQueryClient();
  const [values, setValues] = useState<Record<string, string>>(realm.settings);
  const [problem, setProblem] = useState<Problem | null>(null);
  const may = rights.may("realm.alter");
  const isChanged = declared.some((one) => values[one.name] !== realm.settings[one.name]);
  const save = async () => {
    const chosen = declared.filter((one) => values[one.name] !== one.default);
    const settings = Object.fromEntries(chosen.map((one) => [one.name, values[one.name] ?? ""]));
    const { error } = await api.PATCH("/api/v1/realms/{realm}", {
      params: { path: { realm: realm.name } },
      body: { settings },
    });
    setProblem(error ? problemOf(error) : null);
    if (error) return;
    say(t("Settings saved"));
    await queries.invalidateQueries();
  };
  if (declared.length === 0)
    return (
      <Card title={t("Settings")}>
        <Empty title={t("The model of this realm has no settings.")} />
      </Card>
    );
  return (
    <Card title={t("Settings")}>
      <form
        className={styles.settings}
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        {declared.map((one) => (
          <Setting
            key={one.name}
            declared={one}
            value={values[one.name] ?? ""}
            disabled={!may}
            onChange={(value) => {
              setValues({ ...values, [one.name]: value });
            }}
          />
        ))}
        {problem && <ProblemView problem={problem} />}
        {may && (
          <footer>
            <Button
              disabled={!isChanged}
              onClick={() => {
                setValues(realm.settings);
              }}
            >
              {t("Discard")}
            </Button>
            <Button look="main" type="submit" disabled={!isChanged}>
              {t("Save settings")}
            </Button>
          </footer>
        )}
      </form>
    </Card>
  );
}

function Setting({
  declared,
  value,
  disabled,
  onChange,
}: {
  declared: Declared;
  value: string;
  disabled: boolean;
  onChange: (value: string) => void;
}) {
  const weakens = declared.weakens[value];
  const hint = <MessageText text={capital(declared.title)} />;
  return (
    <div>
      {declared.values.length > 0 ? (
        <SelectField
          label={declared.name}
          hint={hint}
          value={value}
          disabled={disabled}
          options={declared.values.map(
            (one) => [one, one === declared.default ? t("{one} (default)", { one }) : one] as const,
          )}
          onChange={(event) => {
            onChange(event.target.value);
          }}
        />
      ) : (
        <TextField
          label={declared.name}
          hint={hint}
          value={value}
          disabled={disabled}
          placeholder={t("types, separated by commas")}
          onChange={(event) => {
            onChange(event.target.value);
          }}
        />
      )}
      {weakens && (
        <p className={styles.weakens}>
          <Glyph state="partial" /> <MessageText text={capital(weakens)} />
        </p>
      )}
    </div>
  );
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
