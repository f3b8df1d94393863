"""A small metalake for access questions, created over the wire, and helpers for them.

Metalake `lk`, owned by `boss`, with his catalog `c`, schema `c.s` and table `c.s.t`. Users are
boss, ana, bob and cid; staff is a group; eve is not a user.
"""

from __future__ import annotations

from tests.systems.gravitino.http.wire import Json, Wire

ML = "metalakes/lk"
USERS = f"{ML}/users"
GROUPS = f"{ML}/groups"
ROLES = f"{ML}/roles"
TAGS = f"{ML}/tags"
POLICIES = f"{ML}/policies"
TEMPLATES = f"{ML}/jobs/templates"
RUNS = f"{ML}/jobs/runs"
PERMISSIONS = f"{ML}/permissions"
CATALOG = f"{ML}/catalogs/c"
SCHEMA = f"{CATALOG}/schemas/s"
TABLE = f"{SCHEMA}/tables/t"

FORBIDDEN = (403, 1008, "ForbiddenException")
ILLEGAL = (400, 1001, "IllegalArgumentException")
ILLEGAL_PRIVILEGE = (400, 1001, "IllegalPrivilegeException")
ILLEGAL_OBJECT = (400, 1001, "IllegalMetadataObjectException")
ILLEGAL_ROLE = (400, 1001, "IllegalRoleException")


def absent(kind: str) -> tuple[int, int, str]:
    """The error for a missing object: `absent("Role")`."""
    return 404, 1003, f"NoSuch{kind}Exception"


def furnish(wire: Wire) -> None:
    """Creates the metalake."""
    wire.good("POST", "metalakes", {"name": "lk"})
    for user in ("boss", "ana", "bob", "cid"):
        wire.good("POST", USERS, {"name": user})
    wire.good("POST", GROUPS, {"name": "staff"})
    wire.good("PUT", f"{ML}/owners/metalake/lk", {"name": "boss", "type": "USER"})
    catalog = {"name": "c", "type": "RELATIONAL", "provider": "hive"}
    wire.good("POST", f"{ML}/catalogs", catalog, user="boss")
    wire.good("POST", f"{CATALOG}/schemas", {"name": "s"}, user="boss")
    add_table(wire, "t")


def add_table(wire: Wire, name: str) -> None:
    """Creates a table of boss in `c.s`, with the columns `id` and `mail`."""
    columns = [{"name": "id", "type": "long"}, {"name": "mail", "type": "string"}]
    wire.good("POST", f"{SCHEMA}/tables", {"name": name, "columns": columns}, user="boss")


def allow(*names: str) -> list[Json]:
    """Allowed privileges, as in a request body."""
    return [{"name": name, "condition": "ALLOW"} for name in names]


def deny(*names: str) -> list[Json]:
    """Denied privileges, as in a request body."""
    return [{"name": name, "condition": "DENY"} for name in names]


def on(type: str, full_name: str, privileges: list[Json]) -> Json:
    """An object with privileges, as in the body of a role."""
    return {"fullName": full_name, "type": type, "privileges": privileges}


def role(name: str, *objects: Json) -> Json:
    """The body of a request to create a role."""
    return {"name": name, "properties": {"k": "v"}, "securableObjects": list(objects)}


def hold(wire: Wire, user: str, *objects: Json, name: str = "") -> str:
    """Creates a role with these privileges, grants it to the user, and returns its name."""
    made = name or f"of_{user}"
    wire.good("POST", ROLES, role(made, *objects), user="boss")
    hand(wire, made, user)
    return made


def hand(wire: Wire, name: str, to: str, kind: str = "users") -> None:
    """Grants a role to a user, or with kind `groups` to a group."""
    wire.good("PUT", f"{PERMISSIONS}/{kind}/{to}/grant", {"roleNames": [name]}, user="boss")


def shown(privileges: list[Json]) -> list[tuple[str, str]]:
    """Privileges of a response as pairs."""
    return [(one["name"], one["condition"]) for one in privileges]


def objects(body: Json) -> dict[str, list[tuple[str, str]]]:
    """The contents of a role in a response: `type name` → pairs."""
    return {
        f"{one['type']} {one['fullName']}": shown(one["privileges"])
        for one in body["securableObjects"]
    }
