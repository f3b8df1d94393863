import { callDialect } from "../../api/client";
import { bare } from "../../parts/name";

/** The metalake and name of a role: `role:quillmere:readers`. */
export function roleParts(role: string): { metalake: string; name: string } {
  const whole = bare(role);
  const colon = whole.indexOf(":");
  return { metalake: whole.slice(0, colon), name: whole.slice(colon + 1) };
}

/** An entity as Gravitino's paths name it: `table:quillmere:lake.sales.orders`. */
export function objectParts(entity: string): { type: string; metalake: string; name: string } {
  const [type = "", metalake = "", ...rest] = entity.split(":");
  const name = rest.join(":");
  return { type: type.toUpperCase(), metalake, name: name || metalake };
}

export type Condition = "ALLOW" | "DENY";

/** Privileges of a role on an entity: privilege → ALLOW or DENY. */
export type Held = Record<string, Condition>;

const at = (metalake: string) => `/api/metalakes/${encodeURIComponent(metalake)}`;

/** Grants a role privileges on an entity, or revokes them, as Gravitino's clients do. */
async function change(
  realm: string,
  role: string,
  entity: string,
  verb: "grant" | "revoke",
  held: Held,
): Promise<void> {
  const privileges = Object.entries(held).map(([name, condition]) => ({ name, condition }));
  if (privileges.length === 0) return;
  const { metalake, name } = roleParts(role);
  const object = objectParts(entity);
  const where = `${object.type}/${encodeURIComponent(object.name)}`;
  const path = `${at(metalake)}/permissions/roles/${encodeURIComponent(name)}/${where}/${verb}`;
  await callDialect(realm, "PUT", path, { privileges });
}

/** Makes `now` the privileges of a role on an entity: revokes first, since opposites exclude. */
export async function store(
  realm: string,
  role: string,
  entity: string,
  was: Held,
  now: Held,
): Promise<void> {
  const less = Object.fromEntries(Object.entries(was).filter(([key, one]) => now[key] !== one));
  const more = Object.fromEntries(Object.entries(now).filter(([key, one]) => was[key] !== one));
  await change(realm, role, entity, "revoke", less);
  await change(realm, role, entity, "grant", more);
}

/** Assigns a role to a user or group of its metalake, or revokes it. */
export async function assign(
  realm: string,
  role: string,
  member: string,
  verb: "grant" | "revoke",
): Promise<void> {
  const { metalake, name } = roleParts(role);
  const kind = member.startsWith("group:") ? "groups" : "users";
  const path = `${at(metalake)}/permissions/${kind}/${encodeURIComponent(bare(member))}/${verb}`;
  await callDialect(realm, "PUT", path, { roleNames: [name] });
}

export async function createRole(realm: string, metalake: string, name: string): Promise<void> {
  await callDialect(realm, "POST", `${at(metalake)}/roles`, {
    name,
    properties: {},
    securableObjects: [],
  });
}

export async function deleteRole(realm: string, role: string): Promise<void> {
  const { metalake, name } = roleParts(role);
  await callDialect(realm, "DELETE", `${at(metalake)}/roles/${encodeURIComponent(name)}`);
}

/** Makes a user or group the owner of an entity, replacing the previous owner. */
export async function setOwner(realm: string, entity: string, owner: string): Promise<void> {
  const object = objectParts(entity);
  const path = `${at(object.metalake)}/owners/${object.type}/${encodeURIComponent(object.name)}`;
  const type = owner.startsWith("group:") ? "GROUP" : "USER";
  await callDialect(realm, "PUT", path, { name: bare(owner), type });
}
