import { suggest } from "../../api/suggest";
import { Button } from "../../parts/button";
import { Check, SelectField } from "../../parts/fields";
import { bare } from "../../parts/name";
import { t } from "../../words";
import { Chips } from "./chips";
import styles from "./policies.module.css";
import { CONDITIONS, FIELDS, type Criterion, type Match, type Resources } from "./policy";

const CONDITION_WORDS: Record<string, string> = {
  EQUALS: "is",
  NOT_EQUALS: "is not",
  STARTS_WITH: "starts with",
};

/** Which assets a metadata policy is about: all, or those that fit every criterion. */
export function Which({
  realm,
  resources,
  onChange,
  disabled,
}: {
  realm: string;
  resources: Resources;
  onChange: (resources: Resources) => void;
  disabled: boolean;
}) {
  const criteria = resources.filter?.criteria ?? [];
  return (
    <div className={styles.form}>
      <Check
        label={t("Every asset")}
        hint={
          criteria.length || resources.resources?.length
            ? t("Criteria below narrow it no more.")
            : undefined
        }
        checked={resources.allResources ?? false}
        disabled={disabled}
        onChange={(event) => {
          onChange({ ...resources, allResources: event.target.checked });
        }}
      />
      {!!resources.resources?.length && (
        <Chips
          label={t("Named assets of type {type} (older form)", { type: resources.type ?? "?" })}
          values={resources.resources}
          onChange={(values) => {
            onChange({ ...resources, resources: values });
          }}
          suggest={suggest("entity", realm)}
          source={`entities ${realm}`}
          disabled={disabled}
        />
      )}
      <Criteria
        realm={realm}
        label={t("Only assets of which all of this is true")}
        match={resources.filter}
        onChange={(filter) => {
          onChange({ ...resources, filter });
        }}
        disabled={disabled}
      />
    </div>
  );
}

/** Criteria that all have to hold; those that were stored keep what is not shown of them. */
export function Criteria({
  realm,
  label,
  match,
  onChange,
  disabled,
}: {
  realm: string;
  label: string;
  match: Match | null | undefined;
  onChange: (match: Match | null) => void;
  disabled: boolean;
}) {
  const criteria = match?.criteria ?? [];
  const put = (next: Criterion[]) => {
    onChange(next.length ? { ...match, criteria: next } : null);
  };
  const change = (at: number, part: Partial<Criterion>) => {
    put(criteria.map((one, place) => (place === at ? { ...one, ...part } : one)));
  };
  return (
    <fieldset className={styles.fieldset} disabled={disabled}>
      <legend>{label}</legend>
      {criteria.map((one, at) => (
        <div key={at} className={styles.row}>
          <SelectField
            label={t("Field")}
            value={one.field}
            options={named(FIELDS, one.field).map((field) => [field, field] as const)}
            onChange={(event) => {
              change(at, { field: event.target.value });
            }}
          />
          <SelectField
            label={t("Condition")}
            value={one.condition ?? "EQUALS"}
            options={named(CONDITIONS, one.condition ?? "EQUALS").map(
              (word) => [word, t(CONDITION_WORDS[word] ?? word)] as const,
            )}
            onChange={(event) => {
              change(at, { condition: event.target.value });
            }}
          />
          <Chips
            label={t("One of")}
            values={one.values}
            onChange={(values) => {
              change(at, { values });
            }}
            suggest={suggest("entity", realm)}
            source={`entities ${realm}`}
            show={short}
            disabled={disabled}
          />
          {!disabled && (
            <Button
              onClick={() => {
                put(criteria.filter((_, place) => place !== at));
              }}
            >
              {t("Take out")}
            </Button>
          )}
        </div>
      ))}
      {!disabled && (
        <div>
          <Button
            onClick={() => {
              put([...criteria, { field: "TYPE", condition: "EQUALS", values: [] }]);
            }}
          >
            {t("Add a criterion")}
          </Button>
        </div>
      )}
    </fieldset>
  );
}

/** The choices, and what is stored where it is none of them. */
function named(choices: readonly string[], stored: string): string[] {
  return choices.includes(stored) ? [...choices] : [...choices, stored];
}

function short(urn: string): string {
  return urn.startsWith("urn:li:") ? bare(urn.slice("urn:li:".length)) : urn;
}
