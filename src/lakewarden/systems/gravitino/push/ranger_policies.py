"""Policies and roles of a Ranger service by the names of Gravitino's plug-in: Hive and HDFS.

A role `r` of the realm is `GRAVITINO_r`. Policies of Hive are `{schema}`, `{schema}.*`,
`{schema}.*.*`, `{schema}.{table}` and `{schema}.{table}.*`, with `*` for all schemas. Policies of
HDFS are the paths of filesets, with all descendants. Policies have one item for each access and the
label `MANAGED_BY_GRAVITINO`, and give what the plug-in gives as far as the realm allows it:

- A wildcard becomes the list of stored names: Hive may hold names that the realm does not know.
- `*.*` is written schema by schema, since Ranger combines each table with each schema.
- Access that half of a role's members or more may not have is not given to the role. A user who may
  not have something of the rest is not made a member. So a DENY removes members, and needs no deny
  item.
- Other access of users, also of owners, is given by name, in items with `GRAVITINO_OWNER_ROLE`, as
  the plug-in gives owners their rights.
- Groups are replaced by their members, as Ranger gets its groups from elsewhere.
- For files, only those of filesets are written: the realm does not know who may access other paths.

SOURCE: gravitino reference 7.2 to 7.4; apache/gravitino:authorizations/authorization-ranger/…,
RangerAuthorizationHadoopSQLPlugin and RangerAuthorizationHDFSPlugin.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from pyroaring import BitMap

from lakewarden.engines.mapping import EngineMapping
from lakewarden.engines.ranger_service import RangerService
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import ROLE, Principal
from lakewarden.kernel.statement import Effect
from lakewarden.pushdown.ranger.style import RangerForm, RangerStyle
from lakewarden.service import grant
from lakewarden.service.equivalent_users import equivalent_users
from lakewarden.service.limited_tables import newly_limited_tables
from lakewarden.service.permanent_access import permanent_access
from lakewarden.service.ranger.allowed import Allowed, granted_accesses
from lakewarden.service.ranger.places import Naming, Places
from lakewarden.service.ranger.readers import named_users
from lakewarden.service.residue import Residue, Residues
from lakewarden.service.state import RealmState
from lakewarden.systems.gravitino import names as gravitino

PREFIX: Final = "GRAVITINO_"
LABEL: Final = "MANAGED_BY_GRAVITINO"
OWNERS: Final = "GRAVITINO_OWNER_ROLE"
ALL: Final = "*"

_RESERVED: Final = ("GRAVITINO_METALAKE_OWNER_ROLE", "GRAVITINO_CATALOG_OWNER_ROLE", OWNERS)
_SAID: Final = re.compile(r"[A-Za-z0-9_@#~=+:.-]+")

DATABASE, TABLE, FILESET = "database", "table", "fileset"

Translation = Mapping[str, tuple[str, tuple[str, ...]]]
"""The accesses of Ranger that a privilege becomes on the places of a level."""

HADOOP_SQL: Final[Translation] = {
    "USE_CATALOG": (DATABASE, ("select",)),
    "CREATE_SCHEMA": (DATABASE, ("create",)),
    "USE_SCHEMA": (DATABASE, ("select",)),
    "CREATE_TABLE": (TABLE, ("create",)),
    "SELECT_TABLE": (TABLE, ("read", "select")),
    "MODIFY_TABLE": (TABLE, ("read", "select", "update", "alter", "write")),
}

HDFS: Final[Translation] = {
    "READ_FILESET": (FILESET, ("read", "execute")),
    "WRITE_FILESET": (FILESET, ("read", "write", "execute")),
}

TRANSLATIONS: Final[Mapping[str, Translation]] = {"hive": HADOOP_SQL, "hdfs": HDFS}
"""By type of service."""

ELSEWHERE: Final = frozenset(
    {
        *("USE_SCHEMA", "CREATE_SCHEMA", "CREATE_TABLE", "CREATE_FILESET"),
        *("SELECT_TABLE", "MODIFY_TABLE"),
    }
)
"""Privileges for which the plug-in opens files of HDFS that belong to no fileset."""

_ON: Final = ("metalake", "catalog", "schema", "table", "fileset")

Json = dict[str, Any]


class Key(NamedTuple):
    """An access on a database or a table, by the entity's id."""

    level: str
    access: str
    id: int


def plugin_form(
    realm: RealmState,
    mapping: EngineMapping,
    service: RangerService,
    naming: Naming,
    now: float,
    residues: Residues,
    taken: Collection[str] = (),
) -> RangerForm:
    """The policies and roles of a Hive service that is one catalog of the realm, or of HDFS.

    HDFS is the file system with the filesets of a metalake, or of one catalog. `taken` are the
    names of roles that others keep: the users of such a role get their access by name. Raises
    `StaleSnapshot` for a time outside the interval of the realm's snapshot.
    """
    realm.matrix.require(now)
    return _Form(realm, mapping, service, naming, now, residues, taken).form()


STYLE: Final = RangerStyle(LABEL, dict.fromkeys(TRANSLATIONS, plugin_form))
"""The style with the names of the plug-in for a service of Hive or HDFS."""


@dataclass(slots=True)
class _Policy:
    """A policy under construction: its resources, and the grantees of each access."""

    resources: Mapping[str, Sequence[str]]
    roles: dict[str, set[str]] = field(default_factory=dict)
    users: dict[str, set[str]] = field(default_factory=dict)


class _Form:
    def __init__(
        self,
        realm: RealmState,
        mapping: EngineMapping,
        service: RangerService,
        naming: Naming,
        now: float,
        residues: Residues,
        taken: Collection[str],
    ) -> None:
        self._residues, self._taken = residues, taken
        self._translation = TRANSLATIONS[service.type]
        self._levels = sorted({level for level, _ in self._translation.values()})
        snapshot = realm.matrix.snapshot
        self._limited = newly_limited_tables(snapshot, snapshot)
        if snapshot.table.end != float("inf"):
            later = permanent_access(snapshot)
            self._limited |= newly_limited_tables(later, later)
            realm = replace(realm, matrix=Matrix(later))
            self._omit("access that expires gets no policy")
        self._realm, self._service, self._naming = realm, service, naming
        self._places = Places(realm, mapping, service, naming, self._residues)
        self._allowed = Allowed(realm.matrix, mapping, service, self._places, now)
        self._memberships = realm.matrix.snapshot.coded.memberships
        self._names: dict[Principal, str] = {}
        self._top = tuple(filter(None, (naming.metalake, naming.governs)))
        tree = realm.matrix.snapshot.coded.tree
        places = [
            place
            for level in self._levels
            for place in self._places.of(service.levels[level]).values()
        ]
        self._files = {place.id: place.own for place in places}
        self._paths = {
            place.id: tuple(gravitino.parts(tree.entity(place.id)))[len(self._top) :]
            for place in places
        }
        self._ids = {
            level: self._places.ids(service.levels[level]) - self._limited for level in self._levels
        }
        self._holders: dict[Key, set[str]] = {}
        self._policies: dict[str, _Policy] = {}

    def form(self) -> RangerForm:
        """Policies and roles, sorted by name."""
        self._collect_holders()
        roles: dict[str, frozenset[str]] = {}
        # Some databases of Ranger treat two names that differ only in case as equal.
        taken = {one.casefold() for one in self._taken}
        covered: dict[Key, set[str]] = {}
        for role in self._roles():
            name = self._role_name(role)
            if name.casefold() in taken or not self._is_allowed_role_name(name):
                self._omit("Ranger cannot have a role of that name for it", of=role)
                continue
            taken.add(name.casefold())
            kept, members = self._reduced_role(role, name)
            roles[name] = members
            for on, keys in kept.items():
                self._add_role_items(name, on, keys)
            for key in set[Key]().union(*kept.values()):
                covered.setdefault(key, set()).update(members)
        self._add_user_items(covered)
        return RangerForm(
            [self._policy(name, one) for name, one in sorted(self._policies.items())],
            [*self._role_documents(roles)],
            self._residues,
        )

    # --- allowed access ---

    def _collect_holders(self) -> None:
        """Who may have which access, by rows; access that is not here is given to nobody."""
        for id in sorted(self._limited & BitMap(self._paths)):
            entity = self._realm.matrix.snapshot.coded.tree.entity(id)
            self._omit("the plug-in has no row filters and no column masks", entity)
        users = list(named_users(self._realm, self._residues))
        self._names = {principal: name for name, principal in users}
        database = self._service.levels.get(DATABASE)
        for one in equivalent_users(
            users, self._realm.matrix.snapshot, single=self._allowed.personal
        ):
            for id in self._allowed.visible_places(one.any, database) if database else ():
                self._holders.setdefault(Key(DATABASE, "select", id), set()).update(one.names)
            for row in granted_accesses(one.any, self._service, self._allowed, None):
                if row.level.name in self._ids:
                    for id in row.ids & self._ids[row.level.name]:
                        key = Key(row.level.name, row.access, id)
                        self._holders.setdefault(key, set()).update(one.names)

    # --- roles ---

    def _roles(self) -> Iterator[Principal]:
        for id in sorted(self._memberships.stored):
            principal = self._memberships.principals[id]
            own = principal.name.partition(":")[0]
            if principal.kind != ROLE or own != self._naming.metalake:
                continue
            if any(self._place(on) is not None for on in self._grants(principal)):
                yield principal

    def _grants(self, role: Principal) -> grant.Grants:
        return grant.grants_of(self._realm, role)

    @staticmethod
    def _role_name(role: Principal) -> str:
        own = role.name.partition(":")[2]
        return own if own.startswith(PREFIX) else PREFIX + own

    @staticmethod
    def _is_allowed_role_name(name: str) -> bool:
        return _SAID.fullmatch(name) is not None and not name.upper().startswith(_RESERVED)

    def _reduced_role(
        self, role: Principal, name: str
    ) -> tuple[Mapping[tuple[str, ...], set[Key]], frozenset[str]]:
        """The role's access, by place of the grant, and its members; see the module."""
        ids = self._memberships.acting_as(self._memberships.ids[role])
        principals = (self._memberships.principals[id] for id in ids)
        everybody = frozenset(self._names[one] for one in principals if one in self._names)
        requested = self._plugin_accesses(role)
        held = {
            key: self._holders.get(key, set()) & everybody
            for keys in requested.values()
            for key in keys
        }
        most = len(everybody) // 2
        kept = {
            key
            for key, users in held.items()
            if key in self._holders and (len(users) > most or not everybody)
        }
        members = everybody.intersection(*(held[key] for key in kept))
        for user in sorted(everybody - members):
            principal = next(one for one, own in self._names.items() if own == user)
            why = f"it may not have all that `{name}` gives; the rest is granted otherwise"
            self._omit(why, of=principal)
        return {on: keys & kept for on, keys in requested.items()}, members

    def _plugin_accesses(self, role: Principal) -> Mapping[tuple[str, ...], set[Key]]:
        """The access that the plug-in would give the role, by place of the grant."""
        requested: dict[tuple[str, ...], set[Key]] = {}
        for on, granted in self._grants(role).items():
            at = self._place(on)
            if at is None:
                continue
            for privilege, effect in sorted(granted, key=str):
                if effect is Effect.DENY:
                    why = "a DENY has no policy item: denied users are left out of items instead"
                    self._omit(why, on, role, privilege)
                elif privilege in self._translation:
                    level, accesses = self._translation[privilege]
                    self._report_never_granted(on, role, privilege, accesses)
                    requested.setdefault(at, set()).update(
                        Key(level, access, id)
                        for access in accesses
                        for id in self._ids[level]
                        if self._paths[id][: len(at)] == at
                    )
                elif FILESET in self._levels and privilege in ELSEWHERE:
                    self._omit("only files of filesets are pushed", on, role, privilege)
        return requested

    def _report_never_granted(
        self, on: Entity, role: Principal, privilege: str, accesses: Sequence[str]
    ) -> None:
        for access in accesses:
            why = self._service.accesses[access].never or self._service.accesses[access].left
            if why:
                self._omit(f"{access}: {why}", on, role, privilege)
            elif access == "alter":
                why = "alter: it allows setting owners in Hive, which Gravitino would not see"
                self._omit(why, on, role, privilege)

    def _place(self, on: Entity) -> tuple[str, ...] | None:
        if on.type not in _ON:
            return None
        names, top = tuple(gravitino.parts(on)), self._top
        return names[len(top) :] if names[: len(top)] == top[: len(names)] else None

    # --- policies ---

    def _add_role_items(self, role: str, at: tuple[str, ...], keys: set[Key]) -> None:
        """Items of a role for its grants on one object."""
        by_access: dict[tuple[str, str], set[int]] = {}
        for key in keys:
            by_access.setdefault((key.level, key.access), set()).add(key.id)
        for (level, access), ids in sorted(by_access.items()):
            for policy in self._named(level, ids, at):
                policy.roles.setdefault(access, set()).add(role)

    def _add_user_items(self, covered: Mapping[Key, set[str]]) -> None:
        """Items with the names of users, for access that no role gives them."""
        for key, users in self._holders.items():
            left = users - covered.get(key, set())
            for policy in self._each(key.level, key.id) if left else ():
                policy.users.setdefault(key.access, set()).update(left)

    def _named(self, level: str, ids: set[int], at: tuple[str, ...]) -> Iterator[_Policy]:
        """The policies for these entities: wildcards if they are all, in the form of the grant."""
        if level == FILESET:
            for id in sorted(ids):
                yield from self._each(level, id)
        elif level == DATABASE:
            if not at and len(ids) > 1 and ids == {*self._ids[DATABASE]}:
                databases = sorted(self._paths[id][0] for id in ids)
                yield self._of(ALL, {DATABASE: databases})
            else:
                for id in sorted(ids):
                    yield from self._each(level, id)
        else:
            yield from self._tables(ids, at)

    def _tables(self, ids: set[int], at: tuple[str, ...]) -> Iterator[_Policy]:
        for database in sorted({self._paths[id][0] for id in ids}):
            every = {id for id in self._ids[TABLE] if self._paths[id][0] == database}
            own = {id for id in ids if self._paths[id][0] == database}
            if len(at) <= 1 and own == every and len(every) > 1:
                tables = sorted(self._paths[id][1] for id in every)
                resources = {DATABASE: [database], TABLE: tables}
                yield self._of(f"{database}.{ALL}", resources)
                yield self._of(f"{database}.{ALL}.{ALL}", {**resources, "column": [ALL]})
            else:
                for id in sorted(own):
                    yield from self._each(TABLE, id)

    def _each(self, level: str, id: int) -> Iterator[_Policy]:
        """The policies for a single database, table or fileset."""
        path = self._paths[id]
        if level == FILESET:
            yield from (self._of(place, {"path": [place]}) for place in self._files[id])
            return
        if level == DATABASE:
            yield self._of(path[0], {DATABASE: [path[0]]})
            return
        resources = {DATABASE: [path[0]], TABLE: [path[1]]}
        yield self._of(".".join(path), resources)
        yield self._of(f"{'.'.join(path)}.{ALL}", {**resources, "column": [ALL]})

    def _of(self, name: str, resources: Mapping[str, Sequence[str]]) -> _Policy:
        return self._policies.setdefault(name, _Policy(resources))

    def _policy(self, name: str, one: _Policy) -> Json:
        items = [
            *(_item(access, roles=sorted(roles)) for access, roles in sorted(one.roles.items())),
            *(
                _item(access, roles=self._owners, users=sorted(users))
                for access, users in sorted(one.users.items())
            ),
        ]
        return {
            "service": self._naming.service,
            "name": name,
            "policyLabels": [LABEL],
            "isEnabled": True,
            "resources": {
                part: {"values": list(values), "isExcludes": False, "isRecursive": part == "path"}
                for part, values in one.resources.items()
            },
            "policyItems": items,
            "denyPolicyItems": [],
        }

    @property
    def _owners(self) -> Sequence[str]:
        """The role beside users in items by name; none if others keep a role of that name."""
        return [] if OWNERS in self._taken else [OWNERS]

    def _role_documents(self, roles: Mapping[str, frozenset[str]]) -> Iterator[Json]:
        is_used = self._owners and any(policy.users for policy in self._policies.values())
        every = {**roles, **({OWNERS: frozenset[str]()} if is_used else {})}
        for name, members in sorted(every.items()):
            users = [{"name": user, "isAdmin": False} for user in sorted(members)]
            yield {"name": name, "description": LABEL, "users": users, "groups": [], "roles": []}

    def _omit(
        self, why: str, entity: Entity | None = None, of: Principal | None = None, access: str = ""
    ) -> None:
        at = "" if entity is None else str(entity)
        who = "" if of is None else f"{of.kind}:{of.name}"
        self._residues.add(Residue(why, at, who, "", access))


def _item(access: str, *, roles: Sequence[str], users: Sequence[str] = ()) -> Json:
    return {
        "accesses": [{"type": access, "isAllowed": True}],
        "users": list(users),
        "groups": [],
        "roles": list(roles),
        "conditions": [],
        "delegateAdmin": False,
    }
