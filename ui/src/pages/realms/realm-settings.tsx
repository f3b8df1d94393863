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

/** The settings of a realm: what each decides, and what its value permits. */
export function RealmSettings({
  realm,
  declared,
}: {
  realm: Schemas["RealmResponse"];
  declared: Declared[];
}) {
  const rights = useRights(realm.name);
  const queries = useQueryClient();
  const [changed, setChanged] = useState<Record<string, string>>({});
  const [problem, setProblem] = useState<Problem | null>(null);
  const may = rights.may("realm.alter");
  const values: Record<string, string> = { ...realm.settings, ...changed };
  const isChanged = declared.some((one) => values[one.name] !== realm.settings[one.name]);
  const save = async () => {
    const at = { params: { path: { realm: realm.name } } };
    const now = await api.GET("/api/v1/realms/{realm}", at);
    if (!now.data) {
      setProblem(problemOf(now.error));
      return;
    }
    const { settings: stored } = now.data;
    const theirs = Object.keys(changed).find(
      (name) => stored[name] !== realm.settings[name] && stored[name] !== changed[name],
    );
    if (theirs !== undefined) {
      await queries.invalidateQueries();
      setProblem(otherwise(theirs, stored[theirs] ?? ""));
      return;
    }
    // Only the settings changed here: another user may have changed others meanwhile.
    const wanted = { ...stored, ...changed };
    const chosen = declared.filter((one) => wanted[one.name] !== one.default);
    const settings = Object.fromEntries(chosen.map((one) => [one.name, wanted[one.name] ?? ""]));
    const { error } = await api.PATCH("/api/v1/realms/{realm}", { ...at, body: { settings } });
    setProblem(error ? problemOf(error) : null);
    if (error) return;
    setChanged({});
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
              setChanged({ ...changed, [one.name]: value });
            }}
          />
        ))}
        {problem && <ProblemView problem={problem} />}
        {may && (
          <footer>
            <Button
              disabled={!isChanged}
              onClick={() => {
                setChanged({});
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

/** Another user has changed the setting meanwhile; saving again overwrites that change. */
function otherwise(name: string, value: string): Problem {
  const detail = t(
    "somebody else has set `{name}` to `{value}` meanwhile: save again to replace it",
    {
      name,
      value,
    },
  );
  return { type: "about:blank", title: detail, status: 409, detail };
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
