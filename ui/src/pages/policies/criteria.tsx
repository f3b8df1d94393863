import type { Schemas } from "../../api/client";
import { Button } from "../../parts/button";
import { SelectField } from "../../parts/fields";
import { Icon } from "../../parts/icon";
import { urnLabel } from "../../parts/name";
import { Tokens } from "../../parts/tokens";
import { t } from "../../words";
import styles from "./policies.module.css";
import { CONDITIONS, type Criterion, type Match } from "./policy";
import { assetTypes, fieldTitle, readValue, suggestValue } from "./vocabulary";

const CONDITION_WORDS: Record<string, string> = {
  EQUALS: "is one of",
  NOT_EQUALS: "is none of",
  STARTS_WITH: "starts with",
};

interface CriteriaProps {
  realm: string;
  vocabulary?: Schemas["Vocabulary"];
  match: Match | null | undefined;
  base: Match | null | undefined;
  add: string;
  onChange: (match: Match | null) => void;
  disabled: boolean;
}

/** Criteria joined by *and*; stored criteria keep the members that are not shown. */
export function Criteria({
  realm,
  vocabulary,
  match,
  base,
  add,
  onChange,
  disabled,
}: CriteriaProps) {
  const criteria = match?.criteria ?? [];
  const put = (next: Criterion[]) => {
    onChange(next.length || match ? { ...match, criteria: next } : null);
  };
  return (
    <>
      {criteria.length > 0 && (
        <ol className={styles.criteria}>
          {criteria.map((one, at) => (
            <Row
              key={at}
              realm={realm}
              vocabulary={vocabulary}
              criterion={one}
              base={base?.criteria ?? []}
              isFirst={at === 0}
              onChange={(part) => {
                put(criteria.map((other, place) => (place === at ? { ...other, ...part } : other)));
              }}
              onRemove={() => {
                const rest = criteria.filter((_, place) => place !== at);
                onChange(rest.length ? { ...match, criteria: rest } : null);
              }}
              disabled={disabled}
            />
          ))}
        </ol>
      )}
      {!disabled && (
        <Button
          look="quiet"
          className={criteria.length ? styles.more : styles.first}
          onClick={() => {
            const field = criteria.some((one) => one.field === "TYPE") ? "TAG" : "TYPE";
            put([...criteria, { field, condition: "EQUALS", values: [] }]);
          }}
        >
          {criteria.length ? t("Add a condition") : add}
        </Button>
      )}
    </>
  );
}

interface RowProps {
  realm: string;
  vocabulary?: Schemas["Vocabulary"];
  criterion: Criterion;
  base: Criterion[];
  isFirst: boolean;
  onChange: (part: Partial<Criterion>) => void;
  onRemove: () => void;
  disabled: boolean;
}

function Row({
  realm,
  vocabulary,
  criterion,
  base,
  isFirst,
  onChange,
  onRemove,
  disabled,
}: RowProps) {
  const fields = vocabulary?.fields ?? [];
  const field = fields.find((one) => one.name === criterion.field);
  const condition = criterion.condition ?? "EQUALS";
  const look = suggestValue(realm, field, assetTypes(vocabulary?.privileges ?? []));
  const before = base
    .filter((one) => one.field === criterion.field && (one.condition ?? "EQUALS") === condition)
    .flatMap((one) => one.values);
  const isBelow = (field?.below ?? false) && condition !== "STARTS_WITH";
  return (
    <li>
      <span className={styles.and}>{isFirst ? "" : t("and")}</span>
      <SelectField
        label={t("Field")}
        hidden
        value={criterion.field}
        options={named(
          fields.map((one) => one.name),
          criterion.field,
        ).map((name) => [name, fieldTitle(name)] as const)}
        disabled={disabled}
        onChange={(event) => {
          onChange({ field: event.target.value });
        }}
      />
      <SelectField
        label={t("Condition")}
        hidden
        value={condition}
        options={named(CONDITIONS, condition).map(
          (word) => [word, t(CONDITION_WORDS[word] ?? word)] as const,
        )}
        disabled={disabled}
        onChange={(event) => {
          onChange({ condition: event.target.value });
        }}
      />
      <div className={styles.values}>
        <Tokens
          label={t("{field} values", { field: fieldTitle(criterion.field) })}
          values={criterion.values}
          onChange={(values) => {
            onChange({ values });
          }}
          suggest={look}
          source={`values ${realm} ${criterion.field}`}
          show={urnLabel}
          kind={() => (isBelow ? t("and below") : undefined)}
          isNew={(value) => !before.includes(value)}
          read={condition === "STARTS_WITH" ? undefined : readValue(look)}
          placeholder={criterion.values.length ? undefined : t("Add a value")}
          disabled={disabled}
        />
        {!field && fields.length > 0 && (
          <p className={styles.fault}>{t("This field is not known to this version.")}</p>
        )}
      </div>
      {!disabled && (
        <Button look="quiet" aria-label={t("Remove the condition")} onClick={onRemove}>
          <Icon name="close" size={13} />
        </Button>
      )}
    </li>
  );
}

/** The choices, plus the stored value if it is none of them. */
function named(choices: readonly string[], stored: string): string[] {
  return choices.includes(stored) ? [...choices] : [...choices, stored];
}
