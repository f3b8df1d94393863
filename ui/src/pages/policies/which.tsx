import type { Schemas } from "../../api/client";
import { suggest } from "../../api/suggest";
import { Check } from "../../parts/fields";
import { urnLabel } from "../../parts/name";
import { Tokens } from "../../parts/tokens";
import { t } from "../../words";
import { Criteria } from "./criteria";
import styles from "./policies.module.css";
import { withMatch, type Resources } from "./policy";

interface WhichProps {
  realm: string;
  vocabulary?: Schemas["Vocabulary"];
  resources: Resources;
  base: Resources;
  onChange: (resources: Resources) => void;
  disabled: boolean;
}

/** The assets of a metadata policy: those that match every condition, or all. */
export function Which({ realm, vocabulary, resources, base, onChange, disabled }: WhichProps) {
  const hasFilter = Boolean(resources.filter?.criteria?.length);
  const isOlder = resources.type != null || Boolean(resources.resources?.length);
  return (
    <div className={styles.form}>
      {isOlder && !hasFilter && (
        <Older realm={realm} resources={resources} onChange={onChange} disabled={disabled} />
      )}
      {!hasFilter && !isOlder && (
        <p className={styles.hint}>{t("Every asset: no condition is set.")}</p>
      )}
      <Criteria
        realm={realm}
        vocabulary={vocabulary}
        match={resources.filter}
        base={base.filter}
        add={t("Add a condition")}
        onChange={(filter) => {
          onChange(withMatch(resources, "filter", filter, base));
        }}
        disabled={disabled}
      />
    </div>
  );
}

/** The older way to choose assets: one type, and URNs or all. A filter replaces it. */
function Older({
  realm,
  resources,
  onChange,
  disabled,
}: Pick<WhichProps, "realm" | "resources" | "onChange" | "disabled">) {
  const named = resources.resources ?? [];
  return (
    <>
      {resources.type != null && (
        <Tokens
          label={t("Type")}
          values={[resources.type]}
          onChange={(values) => {
            onChange({ ...resources, type: values[0] ?? null });
          }}
          suggest={() => Promise.resolve([])}
          source="types"
          disabled={disabled}
        />
      )}
      {named.length > 0 && (
        <Tokens
          label={t("Assets")}
          values={named}
          onChange={(values) => {
            onChange({ ...resources, resources: values });
          }}
          suggest={suggest("entity", realm)}
          source={`entities ${realm}`}
          show={urnLabel}
          disabled={disabled}
        />
      )}
      <Check
        label={t("Every asset of the type")}
        checked={resources.allResources ?? false}
        disabled={disabled}
        onChange={(event) => {
          onChange({ ...resources, allResources: event.target.checked });
        }}
      />
    </>
  );
}
