import type { Schemas } from "../../api/client";
import { suggest } from "../../api/suggest";
import { bare } from "../../parts/name";
import type { Choice } from "../../parts/picker";
import { t } from "../../words";

export type Field = Schemas["FieldResponse"];
export type Privilege = Schemas["PrivilegeResponse"];
type Suggest = (text: string, signal: AbortSignal) => Promise<Choice[]>;

/** `DATA_PLATFORM_INSTANCE` is `Data platform instance`. */
export function fieldTitle(name: string): string {
  const text = name.toLowerCase().replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The types that the privileges apply to, in order. */
export function assetTypes(privileges: Privilege[]): string[] {
  const types = new Set(privileges.flatMap((one) => one.on));
  types.delete("any");
  return [...types].sort();
}

/** The privileges that a policy on these types can use; without types: all. */
export function fitting(privileges: Privilege[], isPlatform: boolean, types: string[]) {
  return privileges.filter(({ on, grantable }) =>
    isPlatform
      ? grantable && on.length === 0
      : grantable &&
        on.length > 0 &&
        (types.length === 0 || on.includes("any") || on.some((one) => types.includes(one))),
  );
}

/** Suggests privileges by display name or name, under the type that they apply to. */
export function suggestPrivilege(privileges: Privilege[], held: string[]): Suggest {
  return (text) => {
    const fit = privileges.filter((one) => !held.includes(one.name) && holds(one, text));
    return Promise.resolve(
      fit
        .map((one) => ({ value: one.name, label: one.display, group: groupTitle(one) }))
        .sort((one, other) => one.group.localeCompare(other.group)),
    );
  };
}

function holds(one: Privilege, text: string): boolean {
  const wanted = text.trim().toLowerCase();
  return one.display.toLowerCase().includes(wanted) || one.name.toLowerCase().includes(wanted);
}

function groupTitle({ group, on }: Privilege): string {
  if (on.length === 0) return t("Platform");
  if (group === "any") return t("Any asset");
  return group ? t("{type} only", { type: group }) : t("Assets of several types");
}

/** The privilege for a typed text: its name, its display name, or a part that only one has. */
export function readPrivilege(privileges: Privilege[], text: string): string {
  const wanted = text.trim().toLowerCase();
  const exact = privileges.find(
    (one) => one.name.toLowerCase() === wanted || one.display.toLowerCase() === wanted,
  );
  const like = privileges.filter((one) => holds(one, text));
  return exact?.name ?? (like.length === 1 ? like[0]?.name : undefined) ?? text.trim();
}

/** Suggests values of a field: types, entities of the types that it holds, or people. */
export function suggestValue(realm: string, field: Field | undefined, types: string[]): Suggest {
  switch (field?.values) {
    case "type":
      return (text) =>
        Promise.resolve(
          types
            .filter((one) => one.toLowerCase().includes(text.trim().toLowerCase()))
            .map((one) => ({ value: one, label: one })),
        );
    case "text":
      return () => Promise.resolve([]);
    case "principal": {
      const people = suggest("user,group", realm);
      return async (text, signal) =>
        (await people(text, signal)).map((one) => ({ ...one, value: bare(one.value) }));
    }
    default:
      return suggest("entity", realm, field?.types);
  }
}

/** The value for a typed text: the stored one with exactly this name, else the text. */
export function readValue(look: Suggest) {
  return async (text: string): Promise<string> => {
    if (text.startsWith("urn:li:")) return text;
    const wanted = text.toLowerCase();
    const found = await look(text, new AbortController().signal).catch(() => []);
    const [exact] = found.filter((one) => one.label.toLowerCase() === wanted);
    return exact?.value ?? text;
  };
}
