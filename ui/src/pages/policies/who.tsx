import { suggest } from "../../api/suggest";
import { Check } from "../../parts/fields";
import { bare, urnLabel } from "../../parts/name";
import { Tokens } from "../../parts/tokens";
import { t } from "../../words";
import styles from "./policies.module.css";
import { ACTOR_URNS, type Actors } from "./policy";
import { readValue } from "./vocabulary";

type Kind = keyof typeof ACTOR_URNS;

const KINDS: readonly Kind[] = ["users", "groups", "roles"];
const SINGULAR: Record<Kind, string> = { users: "user", groups: "group", roles: "role" };

/** A member of one of the three lists, as one text: lists may hold the same URN. */
const token = (kind: Kind, urn: string) => `${SINGULAR[kind]}:${urn}`;

/** The actors of a policy: people, groups and roles, all of them, or the owners of the asset. */
export function Who({
  realm,
  actors,
  base,
  isPlatform,
  onChange,
  disabled,
}: {
  realm: string;
  actors: Actors;
  base: Actors;
  isPlatform: boolean;
  onChange: (actors: Actors) => void;
  disabled: boolean;
}) {
  const look = suggest("user,group,role", realm);
  const values = listed(actors);
  const before = listed(base);
  const put = (next: string[]) => {
    const changed: Actors = { ...actors };
    for (const kind of KINDS) {
      const start = `${SINGULAR[kind]}:`;
      const urns = next.filter((one) => one.startsWith(start)).map(bare);
      changed[kind] = urns.length || base[kind] ? urns : undefined;
    }
    onChange(changed);
  };
  const flag = (key: "allUsers" | "allGroups" | "resourceOwners", label: string, hint?: string) => (
    <Check
      label={label}
      hint={hint}
      checked={actors[key] ?? false}
      disabled={disabled}
      onChange={(event) => {
        onChange({ ...actors, [key]: event.target.checked });
      }}
    />
  );
  const anyOwner = !actors.resourceOwnersTypes;
  return (
    <div className={styles.form}>
      <Tokens
        label={t("Who")}
        values={values}
        onChange={put}
        suggest={look}
        source={`actors ${realm}`}
        show={(one) => urnLabel(bare(one))}
        kind={(one) => (one.startsWith("user:") ? undefined : one.slice(0, one.indexOf(":")))}
        fault={(one) => (isOfKind(one) ? undefined : t("means nobody here"))}
        isNew={(one) => !before.includes(one)}
        read={async (text) => asToken(await readValue(look)(text))}
        placeholder={t("People, groups, roles")}
        disabled={disabled}
      />
      <div>
        {!isPlatform &&
          flag(
            "resourceOwners",
            t("Owners of the asset"),
            anyOwner ? t("of any ownership type") : undefined,
          )}
        {!isPlatform && actors.resourceOwners && (
          <div className={styles.indented}>
            <Tokens
              label={t("Ownership types")}
              values={actors.resourceOwnersTypes ?? []}
              onChange={(types) => {
                onChange({ ...actors, resourceOwnersTypes: types.length ? types : null });
              }}
              suggest={suggest("entity", realm, ["ownershipType"])}
              source={`ownership types ${realm}`}
              show={ownership}
              isNew={(one) => !(base.resourceOwnersTypes ?? []).includes(one)}
              read={readValue(suggest("entity", realm, ["ownershipType"]))}
              placeholder={t("Only owners of some types")}
              disabled={disabled}
            />
          </div>
        )}
        {flag("allUsers", t("All users"))}
        {flag("allGroups", t("All groups"))}
      </div>
    </div>
  );
}

function listed(actors: Actors): string[] {
  return KINDS.flatMap((kind) => (actors[kind] ?? []).map((urn) => token(kind, urn)));
}

function isOfKind(one: string): boolean {
  const kind = KINDS.find((name) => one.startsWith(`${SINGULAR[name]}:`));
  return kind !== undefined && bare(one).startsWith(ACTOR_URNS[kind]);
}

/** The typed or picked text as a member of a list: `ana`, `group:audit` or a URN. */
function asToken(text: string): string {
  const kind = KINDS.find((name) => text.startsWith(`${SINGULAR[name]}:`));
  const name = kind ? bare(text) : text;
  if (name.startsWith("urn:li:")) {
    const stands = KINDS.find((one) => name.startsWith(ACTOR_URNS[one]));
    return token(kind ?? stands ?? "users", name);
  }
  return token(kind ?? "users", ACTOR_URNS[kind ?? "users"] + name);
}

/** `urn:li:ownershipType:__system__technical_owner` is `technical owner`. */
function ownership(urn: string): string {
  return urnLabel(urn).replace("__system__", "").replaceAll("_", " ");
}
