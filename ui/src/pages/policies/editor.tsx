import { useLocation } from "@tanstack/react-router";

import { useVocabulary } from "../../api/server";
import { TextField } from "../../parts/fields";
import { Card } from "../../parts/page";
import { Loading } from "../../parts/states";
import { Segments } from "../../parts/tabs";
import { count, t } from "../../words";
import { Criteria } from "./criteria";
import styles from "./policies.module.css";
import { withMatch, type PolicyInfo } from "./policy";
import { Section } from "./section";
import { What } from "./what";
import { Which } from "./which";
import { Who } from "./who";

/** How many assets match the criteria now, of how many; absent while unknown. */
export interface Met {
  assets: number;
  of?: number;
}

interface EditorProps {
  realm: string;
  info: PolicyInfo;
  /** The state that the edit started from, to mark what it adds. */
  base: PolicyInfo;
  isNew: boolean;
  met?: Met;
  onChange: (info: PolicyInfo) => void;
  disabled: boolean;
}

/** Every field of a policy. Other stored members are left as they are. */
export function Editor({ realm, info, base, isNew, met, onChange, disabled }: EditorProps) {
  const vocabulary = useVocabulary(realm);
  if (vocabulary.isPending) return <Loading rows={8} />;
  const isPlatform = info.type === "PLATFORM";
  const resources = info.resources ?? {};
  const common = { realm, vocabulary: vocabulary.data, disabled };
  return (
    <Card pad={false} label={t("Policy")}>
      <Naming info={info} isNew={isNew} onChange={onChange} disabled={disabled} />
      <What
        {...common}
        info={info}
        base={base}
        onChange={(privileges) => {
          onChange({ ...info, privileges });
        }}
      />
      {!isPlatform && (
        <Section title={t("Which")} note={told(met)}>
          <Which
            {...common}
            resources={resources}
            base={base.resources ?? {}}
            onChange={(next) => {
              onChange({ ...info, resources: next });
            }}
          />
        </Section>
      )}
      <Section title={t("Who")} note={t("anybody who is one of these")}>
        <Who
          realm={realm}
          actors={info.actors ?? {}}
          base={base.actors ?? {}}
          isPlatform={isPlatform}
          onChange={(actors) => {
            onChange({ ...info, actors });
          }}
          disabled={disabled}
        />
      </Section>
      {!isPlatform && (
        <Section
          title={t("Limits")}
          note={
            resources.privilegeConstraints?.criteria?.length
              ? t("only what meets all of these may be added or removed")
              : t("what may be added or removed, for instance which tags; none")
          }
        >
          <Criteria
            {...common}
            match={resources.privilegeConstraints}
            base={base.resources?.privilegeConstraints}
            add={t("Limit to tags, terms, domains or owners")}
            onChange={(limits) => {
              const was = base.resources ?? {};
              const next = withMatch(resources, "privilegeConstraints", limits, was);
              onChange({ ...info, resources: next });
            }}
          />
        </Section>
      )}
    </Card>
  );
}

function told(met: Met | undefined): string {
  if (!met) return t("assets that meet all of these");
  const assets = count(met.assets);
  return met.of === undefined
    ? t("assets that meet all of these; {assets} do now", { assets })
    : t("assets that meet all of these; {assets} of {of} do now", { assets, of: count(met.of) });
}

const TYPES = [
  ["METADATA", "Metadata"],
  ["PLATFORM", "Platform"],
] as const;

function Naming({
  info,
  isNew,
  onChange,
  disabled,
}: Pick<EditorProps, "info" | "isNew" | "onChange" | "disabled">) {
  const isEdited = useLocation({ select: (location) => location.hash === "edit" });
  return (
    <fieldset className={styles.section}>
      <legend className="visually-hidden">{t("Name and type")}</legend>
      <div className={styles.naming}>
        <TextField
          label={t("Name")}
          value={info.displayName}
          required
          aria-keyshortcuts="e"
          autoFocus={isEdited}
          disabled={disabled}
          onChange={(event) => {
            onChange({ ...info, displayName: event.target.value });
          }}
        />
        <TextField
          label={t("Description")}
          value={info.description ?? ""}
          disabled={disabled}
          onChange={(event) => {
            onChange({ ...info, description: event.target.value });
          }}
        />
      </div>
      {isNew && (
        <div className={styles.type}>
          <Segments
            label={t("Type")}
            value={info.type === "PLATFORM" ? "PLATFORM" : "METADATA"}
            options={TYPES}
            onChange={(type) => {
              onChange({ ...info, type, privileges: [] });
            }}
          />
          <span>
            {info.type === "PLATFORM"
              ? t("what lets people administer DataHub")
              : t("what people may do with assets")}
          </span>
        </div>
      )}
    </fieldset>
  );
}
