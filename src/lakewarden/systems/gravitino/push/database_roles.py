"""Roles of the realm as roles of a database, in the form of Gravitino's JDBC plug-in.

A role has its name from the realm; a group that has roles is `GRAVITINO_GROUP_<name>`. A role holds
the privileges that the plug-in would grant it, object by object, as far as every member may have
them:

- A privilege that half of the members or more may not have is not given to the role.
- A user who may not have one of the remaining privileges is not made a member.

So a DENY, which the plug-in would grant, removes a member. All other access that the realm allows
is in our own roles, made from rows as without this style; filtered and masked tables are only
there.
SOURCE: gravitino reference 7.1 and 7.5;
apache/gravitino:authorizations/authorization-common/…/jdbc/JdbcSecurableObjectMappingProvider.java.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal
from lakewarden.kernel.statement import Effect
from lakewarden.pushdown.desired_state import DesiredRoles
from lakewarden.pushdown.grants import Grant, Path, Role, Roles
from lakewarden.pushdown.target_objects import Scope, TargetObjects
from lakewarden.service import grant
from lakewarden.service.residue import Residue, Residues
from lakewarden.service.state import RealmState
from lakewarden.systems.gravitino import names as gravitino

GROUP_PREFIX: Final = "GRAVITINO_GROUP_"

_RESERVED: Final = frozenset({"public", "none"})

_SCHEMA, _TABLE = 1, 2
"""The number of names in the path of a schema and of a table."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """What privileges become in a kind of database, on schemas or on tables.

    `unsaid` is the part of a privilege that the database cannot express. Names of roles have none
    of the `taken` prefixes, and no character after `last_sign`.
    """

    privileges: Mapping[str, tuple[int, tuple[str, ...]]]
    unsaid: Mapping[str, str]
    taken: tuple[str, ...]
    last_sign: str = chr(sys.maxunicode)


POSTGRESQL: Final = Dialect(
    privileges={
        "USE_SCHEMA": (_SCHEMA, ("USAGE",)),
        "CREATE_TABLE": (_SCHEMA, ("CREATE",)),
        "SELECT_TABLE": (_TABLE, ("SELECT",)),
        "MODIFY_TABLE": (_TABLE, ("SELECT", "UPDATE", "DELETE", "INSERT")),
    },
    unsaid={
        "CREATE_SCHEMA": "whoever makes a schema in the database owns it there",
        "MODIFY_TABLE": "only its owner alters a table in the database",
    },
    taken=("pg_", "lw_"),
)
"""Here the right to create tables is a right on their schema."""

MARIADB: Final = Dialect(
    privileges={
        "CREATE_TABLE": (_SCHEMA, ("CREATE",)),
        "SELECT_TABLE": (_TABLE, ("SELECT",)),
        "MODIFY_TABLE": (_TABLE, ("SELECT", "UPDATE", "DELETE", "INSERT", "ALTER")),
    },
    unsaid={
        "CREATE_SCHEMA": "the right to make a database is one on all databases there",
    },
    taken=("lw_",),
    last_sign="\uffff",
)
"""The same, with a right to alter a table; any right in a database includes using it."""

_ON: Final = ("metalake", "catalog", "schema", "table")


def roles(
    dialect: Dialect, realm: RealmState, scope: Scope, desired: DesiredRoles, objects: TargetObjects
) -> DesiredRoles:
    """The wanted grants, divided into roles by Gravitino's names and the others."""
    return _Division(dialect, realm, scope, desired, objects).desired_roles()


@dataclass(frozen=True, slots=True)
class _Original:
    """A role as the plug-in would make it: its name, its members, and its grants."""

    about: Principal
    name: str
    members: frozenset[str]
    grants: frozenset[Grant]


class _Division:
    def __init__(
        self,
        dialect: Dialect,
        realm: RealmState,
        scope: Scope,
        desired: DesiredRoles,
        objects: TargetObjects,
    ) -> None:
        self._dialect = dialect
        self._realm, self._scope, self._desired, self._objects = realm, scope, desired, objects
        self._memberships = realm.matrix.snapshot.coded.memberships
        self._residues = Residues()
        every = Roles({str(number): role for number, role in enumerate(desired.roles)})
        self._holders = every.holders()
        paths = {one.path for one in self._holders}
        self._open = sorted(paths - desired.limited - objects.views)

    def desired_roles(self) -> DesiredRoles:
        """The division: together, its roles give the wanted grants."""
        named: dict[str, Role] = {}
        for one in self._originals():
            if one.name in named or not self._is_usable_name(one.name):
                self._omit(self._why_not(one.name), of=one.about)
            else:
                named[one.name] = self._reduced_role(one)
        for residue in self._desired.residues:
            self._residues.add(residue)
        rest = self._rest(Roles(named).holders())
        return replace(self._desired, roles=tuple(rest), named=named, residues=self._residues)

    # --- in the plug-in's form ---

    def _originals(self) -> Iterator[_Original]:
        """Roles with grants in or above this catalog, then groups that have such roles."""
        given = {
            role: grants
            for role in self._of_kind(ROLE)
            if (grants := self._grants(role)) is not None
        }
        for role, grants in given.items():
            users = self._names(one for one in self._members(role) if one.kind == USER)
            yield _Original(role, role.name.partition(":")[2], users, grants)
        for group in self._of_kind(GROUP):
            of = [role for role in given if group in self._members(role)]
            if of:
                ids = self._memberships.acting_as(self._memberships.ids[group])
                users = self._names(self._memberships.principals[id] for id in ids)
                grants = frozenset[Grant]().union(*(given[role] for role in of))
                yield _Original(group, GROUP_PREFIX + group.name, users, grants)

    def _of_kind(self, kind: str) -> Iterator[Principal]:
        for id in sorted(self._memberships.stored):
            principal = self._memberships.principals[id]
            if principal.kind == kind and (kind != ROLE or self._is_here(principal)):
                yield principal

    def _members(self, of: Principal) -> Iterator[Principal]:
        for id in sorted(self._memberships.members.get(self._memberships.ids[of], ())):
            yield self._memberships.principals[id]

    def _names(self, of: Iterable[Principal]) -> frozenset[str]:
        users = self._desired.users
        return frozenset(users[one] for one in of if one in users)

    def _is_here(self, role: Principal) -> bool:
        return role.name.partition(":")[0] == self._scope.metalake

    def _grants(self, role: Principal) -> frozenset[Grant] | None:
        """The grants that the plug-in would give a role; None if it would ignore the role."""
        found: set[Grant] = set()
        is_known = False
        for on, granted in grant.grants_of(self._realm, role).items():
            at = self._place(on)
            if at is None:
                continue
            is_known = True
            for privilege, effect in sorted(granted, key=str):
                if effect is Effect.DENY:
                    why = "the database has no DENY: denied users are left out of grants instead"
                    self._omit(why, on, role, privilege)
                    continue
                if privilege in self._dialect.unsaid:
                    self._omit(self._dialect.unsaid[privilege], on, role, privilege)
                found.update(self._translated(privilege, at))
        return frozenset(found) if is_known else None

    def _place(self, on: Entity) -> Path | None:
        """The entity's path in the database; None if it is elsewhere."""
        if on.type not in _ON:
            return None
        names = tuple(gravitino.parts(on))
        top = (self._scope.metalake, self._scope.catalog)
        return names[len(top) :] if names[: len(top)] == top[: len(names)] else None

    def _translated(self, privilege: str, at: Path) -> Iterator[Grant]:
        depth, words = self._dialect.privileges.get(privilege, (_SCHEMA, ()))
        for path in self._open if words else ():
            if len(path) == depth and path[: len(at)] == at:
                yield from (Grant(path, word) for word in words)

    # --- as far as all members may have it ---

    def _reduced_role(self, one: _Original) -> Role:
        """The role with grants that more than half of its members may have, and these members."""
        nobody = frozenset[str]()
        holders = {own: self._holders.get(own, nobody) & one.members for own in one.grants}
        most = len(one.members) // 2
        grants = {own for own, users in holders.items() if len(users) > most or not one.members}
        members = one.members.intersection(*(holders[own] for own in grants))
        principals = {name: principal for principal, name in self._desired.users.items()}
        for name in sorted(one.members - members):
            why = f"it may not have all that `{one.name}` gives; the rest is granted otherwise"
            self._omit(why, of=principals[name])
        return Role(members, frozenset(grants))

    def _rest(self, covered: Mapping[Grant, frozenset[str]]) -> Iterator[Role]:
        """The grants not covered by roles, grouped by equal members."""
        nobody = frozenset[str]()
        left: dict[frozenset[str], set[Grant]] = {}
        for own, users in covered.items():
            members = self._holders.get(own, nobody) - users
            if members:
                left.setdefault(members, set()).add(own)
        for role in self._desired.roles:
            kept = role.grants.difference(covered)
            yield replace(role, grants=kept | frozenset(left.pop(role.members, ())))
        yield from (Role(members, frozenset(grants)) for members, grants in left.items())

    # --- residue ---

    def _is_usable_name(self, name: str) -> bool:
        return (
            name not in self._objects.roles
            and name.lower() not in _RESERVED
            and not name.startswith(self._dialect.taken)
            and name == name.strip()
            and max(name, default="") <= self._dialect.last_sign
            and len(name.encode()) <= self._objects.longest_role
        )

    def _why_not(self, name: str) -> str:
        if name in self._objects.roles and self._objects.mark:
            what = "somebody else has a role of that name in the database; to hand it over:"
            return f"{what} COMMENT ON ROLE … IS '{self._objects.mark}'"
        return "the database cannot have a role of that name"

    def _omit(
        self, why: str, entity: Entity | None = None, of: Principal | None = None, access: str = ""
    ) -> None:
        at = "" if entity is None else str(entity)
        who = "" if of is None else f"{of.kind}:{of.name}"
        self._residues.add(Residue(why, at, who, "", access))
