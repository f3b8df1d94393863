import { suggest } from "../../api/suggest";
import { bare } from "../../parts/name";
import { Check, SelectField, TextField } from "../../parts/fields";
import { Card } from "../../parts/page";
import type { Choice } from "../../parts/picker";
import { t } from "../../words";
import { Chips } from "./chips";
import styles from "./policies.module.css";
import { ACTOR_URNS, called, type Actors, type PolicyInfo } from "./policy";
import { What } from "./what";
import { Criteria, Which } from "./which";

/** Every field of a policy. What is stored beside them is left as it is. */
export function Editor({
  realm,
  info,
  isNew,
  onChange,
  disabled,
}: {
  realm: string;
  info: PolicyInfo;
  isNew: boolean;
  onChange: (info: PolicyInfo) => void;
  disabled: boolean;
}) {
  const isPlatform = info.type === "PLATFORM";
  const resources = info.resources ?? {};
  return (
    <>
      <Card title={t("Policy")}>
        <div className={styles.form}>
          <TextField
            label={t("Name")}
            value={info.displayName}
            required
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
          <SelectField
            label={t("Type")}
            value={info.type}
            disabled={disabled || !isNew}
            hint={
              isNew
                ? t(
                    "Platform: what lets people administer DataHub. Metadata: what they may do with assets.",
                  )
                : t("The type of a policy does not change; copy it into a new one.")
            }
            options={[
              ["METADATA", t("Metadata")],
              ["PLATFORM", t("Platform")],
            ]}
            onChange={(event) => {
              onChange({ ...info, type: event.target.value, privileges: [] });
            }}
          />
        </div>
      </Card>
      <Card title={t("Who")} note={t("any of them")}>
        <Who
          realm={realm}
          actors={info.actors ?? {}}
          isPlatform={isPlatform}
          onChange={(actors) => {
            onChange({ ...info, actors });
          }}
          disabled={disabled}
        />
      </Card>
      <Card title={t("What")}>
        <What
          realm={realm}
          isPlatform={isPlatform}
          held={info.privileges}
          onChange={(privileges) => {
            onChange({ ...info, privileges });
          }}
          disabled={disabled}
        />
      </Card>
      <Card title={t("Which")}>
        {isPlatform ? (
          <p>{t("A platform policy is about DataHub as a whole, so it names no assets.")}</p>
        ) : (
          <Which
            realm={realm}
            resources={resources}
            onChange={(next) => {
              onChange({ ...info, resources: next });
            }}
            disabled={disabled}
          />
        )}
      </Card>
      {!isPlatform && (
        <Card title={t("Limits")}>
          <Criteria
            realm={realm}
            label={t("It lets people put on an asset, or take off it, only what fits all of this")}
            match={resources.privilegeConstraints}
            onChange={(privilegeConstraints) => {
              onChange({ ...info, resources: { ...resources, privilegeConstraints } });
            }}
            disabled={disabled}
          />
        </Card>
      )}
    </>
  );
}

const KINDS = [
  ["users", "Users", "user"],
  ["groups", "Groups", "user,group,role"],
  ["roles", "Roles", "user,group,role"],
] as const;

function Who({
  realm,
  actors,
  isPlatform,
  onChange,
  disabled,
}: {
  realm: string;
  actors: Actors;
  isPlatform: boolean;
  onChange: (actors: Actors) => void;
  disabled: boolean;
}) {
  const flag = (key: "allUsers" | "allGroups" | "resourceOwners", label: string) => (
    <Check
      label={label}
      checked={actors[key] ?? false}
      disabled={disabled}
      onChange={(event) => {
        onChange({ ...actors, [key]: event.target.checked });
      }}
    />
  );
  return (
    <div className={styles.form}>
      {KINDS.map(([key, title, kinds]) => (
        <Chips
          key={key}
          label={t(title)}
          values={actors[key] ?? []}
          onChange={(values) => {
            onChange({ ...actors, [key]: values.map((one) => urnOf(one, ACTOR_URNS[key])) });
          }}
          suggest={ofKind(suggest(kinds, realm), key.slice(0, -1))}
          source={`${key} ${realm}`}
          show={called}
          disabled={disabled}
        />
      ))}
      <div>
        {flag("allUsers", t("All users"))}
        {flag("allGroups", t("All groups"))}
        {!isPlatform && flag("resourceOwners", t("Owners of the asset"))}
      </div>
      {actors.resourceOwners && (
        <Chips
          label={t("Only owners of these types (none: of any)")}
          values={actors.resourceOwnersTypes ?? []}
          onChange={(values) => {
            onChange({ ...actors, resourceOwnersTypes: values.length ? values : null });
          }}
          suggest={suggest("entity", realm)}
          source={`entities ${realm}`}
          show={called}
          disabled={disabled}
        />
      )}
    </div>
  );
}

/** Of the suggestions those of one kind of principal. */
function ofKind(
  look: (text: string, signal: AbortSignal) => Promise<Choice[]>,
  kind: string,
): (text: string, signal: AbortSignal) => Promise<Choice[]> {
  return async (text, signal) =>
    (await look(text, signal)).filter((one) => one.value.startsWith(`${kind}:`));
}

/** What was typed or picked, as DataHub spells it: `user:ana` and `ana` are its URN. */
function urnOf(name: string, prefix: string): string {
  if (name.startsWith("urn:li:")) return name;
  return prefix + (/^(user|group|role):/.test(name) ? bare(name) : name);
}
