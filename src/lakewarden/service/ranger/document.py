"""The documents that Ranger's plugins download: policies and roles, derived from the matrix.

Statements are not evaluated a second time: users with equal rows become a role, and equal grants to
the same roles in one container become a policy. So the documents contain nothing that the kernel
denies, and need neither DENYs nor owners.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from pyroaring import BitMap

from lakewarden.engines.mapping import NOBODY, EngineMapping
from lakewarden.engines.ranger_service import ANY, Level, RangerService
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.wildcard import is_pattern
from lakewarden.service.equivalent_entities import Grants, Rows, equivalent_entities
from lakewarden.service.equivalent_users import Readers, equivalent_users
from lakewarden.service.limited_tables import newly_limited_tables
from lakewarden.service.permanent_access import permanent_access
from lakewarden.service.ranger.allowed import Allowed, GrantedAccess, granted_accesses
from lakewarden.service.ranger.definition import definition, named
from lakewarden.service.ranger.limits import Bound, Limits, Types
from lakewarden.service.ranger.number import numbered
from lakewarden.service.ranger.places import Naming, Places
from lakewarden.service.ranger.readers import SharedPrincipals, named_users, role_name
from lakewarden.service.ranger.tag_masks import TAG, Tagged, TagMasks
from lakewarden.service.read_limits import HIDDEN_VALUE
from lakewarden.service.residue import Residue, Residues
from lakewarden.service.state import RealmState

LABEL: Final = "lakewarden"
_ACCESS, _MASK, _FILTER = 0, 1, 2
_MASK_ITEMS: Final = "dataMaskPolicyItems"
_NORMAL, _OVERRIDE = 0, 1
_EVERYBODY: Final = "public"
_ALL: Final = "*"
_UNBOUND: Final = Bound("", ())
_WHOLE: Final = "whom a row filter or a column mask binds gets nothing that takes all of its rows"
_DENIED_COLUMN: Final = "it is denied on a column, and a policy names all columns of the table"
_BEGINNING: Final = "1970/01/01 00:00:00"
_LAST: Final = 253_402_300_799
"""The last representable second, of the year 9999: a time may have been given in milliseconds."""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Documents:
    """The policies and roles of a service, the residue, and the entities that they can name.

    `tag_policies` are about tags, which are on the resources in `tagged`; accesses and masks have
    the same spelling as in the other policies.
    """

    policies: Json
    roles: Json
    residues: Residues
    places: Places
    tag_policies: Sequence[Json] = ()
    tagged: Sequence[Tagged] = ()


def documents(
    realm: RealmState,
    mapping: EngineMapping,
    service: RangerService,
    naming: Naming,
    now: float,
    residues: Residues | None = None,
    types: Types | None = None,
) -> Documents:
    """The documents of a service, without versions; `residues` are those known before.

    `types` are those of columns: a column without a type is masked as NULL. Raises `StaleSnapshot`
    for a time outside the interval of the realm's snapshot.
    """
    known = Residues() if residues is None else residues
    return _Builder(realm, mapping, service, naming, now, known, types).documents()


class _Builder:
    """Builds the documents of one service."""

    def __init__(
        self,
        realm: RealmState,
        mapping: EngineMapping,
        service: RangerService,
        naming: Naming,
        now: float,
        residues: Residues,
        types: Types | None,
    ) -> None:
        self._realm, self._service, self._naming = realm, service, naming
        self._residues, self._mapping, self._instant = residues, mapping, now
        self._places = Places(realm, mapping, service, naming, self._residues)
        snapshot = realm.matrix.snapshot
        self._end = snapshot.table.end
        without = naming.without
        self._now = Allowed(realm.matrix, mapping, service, self._places, now, without)
        self._later: Allowed | None = None
        self._starting = BitMap()
        snapshots = [snapshot]
        if self._end != float("inf"):
            later = permanent_access(snapshot)
            self._later = Allowed(Matrix(later), mapping, service, self._places, now, without)
            self._starting = newly_limited_tables(later, snapshot)
            # Statements whose validity has not begun distinguish users, too.
            snapshots.append(later)
        users = named_users(realm, self._residues)
        self._readers = equivalent_users(users, *snapshots, single=self._now.personal)
        self._limits = Limits(realm, service, self._residues, now, types)
        self._bound: dict[int, dict[str, Bound]] = {}
        self._only: dict[tuple[int, bool, tuple[str, ...]], list[int]] = {}
        self._together = SharedPrincipals(snapshot, self._readers)
        self._role_names: dict[tuple[int, ...], str] = {}
        self._part_roles: dict[int, str] = {}
        self._reader_roles: dict[int, str] = {}
        self._roles: dict[str, Json] = {}
        self._policies: list[Json] = []

    def documents(self) -> Documents:
        """Builds both documents."""
        self._never()
        by_level: dict[tuple[str, bool], list[tuple[str, int, BitMap]]] = {}
        for number, one in enumerate(self._readers):
            for access in self._granted_accesses(number, one):
                key = access.level.name, access.ends
                by_level.setdefault(key, []).append((access.access, number, access.ids))
        for (name, ends), rows in by_level.items():
            self._add_level(self._service.levels[name], rows, ends=ends)
        self._add_only()
        self._add_own()
        self._add_declared(by_level)
        self._add_limits()
        tags = self._tag_masks() if self._naming.by_tags else None
        tag_policies = [] if tags is None else [*self._tag_policies(tags)]
        return Documents(
            self._policy_document(),
            self._role_document(),
            self._residues,
            self._places,
            tag_policies,
            () if tags is None else [*tags.tagged()],
        )

    def _tag_masks(self) -> TagMasks:
        realm, service, metalake = self._realm, self._service, self._naming.metalake
        return TagMasks(realm, service, metalake, self._places, self._residues, self._instant)

    def _tag_policies(self, tags: TagMasks) -> Iterator[Json]:
        """For each tag a policy with the mask of the users to whom it applies, readers or not."""
        reading = self._service.reading
        if reading is None:
            return
        bound: dict[str, list[int]] = {}
        for number, one in enumerate(self._readers):
            for tag in tags.binding(one.any):
                bound.setdefault(tag, []).append(number)
        for tag, numbers in sorted(bound.items()):
            item = _item([reading.name], roles=[self._role_of(tuple(numbers))])
            items = [{**item, "dataMaskInfo": _mask_info(HIDDEN_VALUE)}]
            yield self._policy(_resources({TAG: (tag,)}), items, type=_MASK, kind=_MASK_ITEMS)

    def _never(self) -> None:
        """Adds as residue the accesses that nobody gets, due to themselves or an opened act."""
        for one in self._service.levels.values():
            for name in one.excludes:
                self._residues.add(Residue(f"`{name}` takes more than the {one.part}"))
            if one.unseen:
                self._residues.add(Residue(one.unseen, access=ANY))
        for access in self._service.accesses.values():
            if access.never:
                self._residues.add(Residue(access.never, access=access.name))
            if access.left:
                self._residues.add(Residue(access.left, access=access.name))
            for level, acts in access.opens.items():
                notes = self._never_notes(acts)
                for act, note in notes.items():
                    why = f"on a {level} it opens {act}, too: {note}"
                    self._residues.add(Residue(why, access=access.name))
                if not notes:
                    self._never_whole(level, access.name, acts)

    def _never_notes(self, acts: Sequence[str]) -> dict[str, str]:
        """The acts among these that nobody may do, with the reasons."""
        operations = {act: self._mapping.operations[self._mapping.operation(act)] for act in acts}
        nobody = {act: one for act, one in operations.items() if one.get("rule") == NOBODY}
        return {act: str(one["note"]) for act, one in nobody.items()}

    def _never_whole(self, level: str, access: str, acts: Sequence[str]) -> None:
        """Adds as residue the tables that an access to whole tables does not open for all."""
        if not self._service.takes_whole(acts):
            return
        limited = self._now.limited_tables
        if self._later is not None:
            limited = limited | self._later.limited_tables
        tree = self._realm.matrix.snapshot.coded.tree
        for id in limited & self._places.ids(self._service.levels[level]):
            entity = tree.entity(id)
            self._residues.add(Residue(_WHOLE, str(entity), access=access))

    def _granted_accesses(self, number: int, one: Readers) -> Iterator[GrantedAccess]:
        """The accesses of the readers, without reads whose limits cannot be expressed.

        Reads of only certain columns are recorded.
        """
        for access in granted_accesses(one.any, self._service, self._now, self._later):
            if self._service.accesses[access.access].reads != access.level.name:
                yield access
                continue
            unsaid = BitMap(
                [id for id in access.ids & self._limits.tables if not self._limit(one, id)]
            )
            ids = access.ids - unsaid
            ending = ids if access.ends else ids & self._starting
            for ends, some in ((False, ids - ending), (True, ending)):
                whole = BitMap([id for id in some if not self._reads_only(number, one, id, ends)])
                if whole:
                    yield GrantedAccess(access.level, access.access, ends, whole)
        self._report_denied_columns(one)

    def _report_denied_columns(self, one: Readers) -> None:
        """Adds as residue what the readers lack because a DENY closes it on a column."""
        tree = self._realm.matrix.snapshot.coded.tree
        for act, ids in self._now.closed.items():
            opening = [a.name for a in self._service.accesses.values() if act in a.acts]
            for id in ids:
                entity = tree.entity(id)
                for principal in one.principals:
                    who = f"{principal.kind}:{principal.name}"
                    for access in opening:
                        at = str(entity)
                        self._residues.add(Residue(_DENIED_COLUMN, at, who, "", access))

    def _reads_only(self, number: int, one: Readers, table: int, ends: bool) -> bool:
        """Whether the readers may read only certain columns of the table; if so, records it."""
        bound = self._bound.get(table, {}).get(one.names[0])
        if bound is None or bound.only is None:
            return False
        self._only.setdefault((table, ends, bound.only), []).append(number)
        return True

    def _limit(self, one: Readers, table: int) -> bool:
        """Whether the limits of the readers on a table can be expressed; if so, records them."""
        bound = self._limits.bound(one, table)
        if bound is None:
            return False
        for principal, name in zip(one.principals, one.names, strict=True):
            if bound[principal] != _UNBOUND:
                self._bound.setdefault(table, {})[name] = bound[principal]
        return True

    # --- access ---

    def _add_level(self, level: Level, rows: Rows, *, ends: bool) -> None:
        if not level.part:
            grants = _grants(rows, 0)
            self._add(self._resources(level, ()), self._items(grants), ends=ends)
            return
        places = self._places.of(level)
        for ids, grants in equivalent_entities(rows, len(self._realm.matrix.snapshot.coded.tree)):
            items = self._items(grants)
            containers: dict[tuple[str, ...], set[str]] = {}
            for id in ids:
                containers.setdefault(places[id].above, set()).update(places[id].own)
            for above_path, names in sorted(containers.items()):
                path = (*((part,) for part in above_path), tuple(sorted(names)))
                self._add(self._resources(level, path), items, ends=ends)

    def _resources(self, level: Level, path: Sequence[Sequence[str]]) -> Json:
        """A policy's resources: values for each level of Ranger, all values for the rest."""
        names = named(self._service, level)
        rest = names[len(path) :]
        values = dict(zip(names, path, strict=False)) | dict.fromkeys(rest, (_ALL,))
        found = _resources(values, recursive=level.located)
        for name in rest if level.excludes else ():
            found[name] |= {"values": [*level.excludes], "isExcludes": True}
        return found

    def _items(self, grants: Grants) -> list[Json]:
        """The items of a policy: for each set of readers the accesses that they have."""
        by_readers: dict[tuple[int, ...], list[str]] = {}
        for access, numbers in grants:
            by_readers.setdefault(numbers, []).append(access)
        return [
            _item(accesses, roles=[self._role_of(numbers)])
            for numbers, accesses in sorted(by_readers.items())
        ]

    def _add(
        self,
        resources: Json,
        items: list[Json],
        *,
        ends: bool = False,
        type: int = _ACCESS,
        kind: str = "policyItems",
        priority: int = _NORMAL,
    ) -> None:
        policy = self._policy(resources, items, type=type, kind=kind, priority=priority)
        if ends:
            policy["validitySchedules"] = [_until(self._end)]
        self._policies.append(policy)

    def _policy(
        self,
        resources: Json,
        items: list[Json],
        *,
        type: int,
        kind: str,
        priority: int = _NORMAL,
    ) -> Json:
        return {
            "service": self._naming.service,
            "serviceType": self._service.type,
            "policyType": type,
            "policyPriority": priority,
            "policyLabels": [LABEL],
            "isEnabled": True,
            "isAuditEnabled": True,
            "isDenyAllElse": False,
            "version": 1,
            "resources": resources,
            kind: items,
        }

    def _add_own(self) -> None:
        if self._service.own is not None:
            resource, access = self._service.own
            item = _item([access], groups=[_EVERYBODY])
            self._add(_resources({resource: ("{USER}",)}), [item])

    def _add_only(self) -> None:
        """Adds reads of only certain columns of a table."""
        reading = self._service.reading
        if reading is None:
            return
        level = self._service.levels[reading.reads]
        for (table, ends, columns), numbers in sorted(self._only.items()):
            path = [(name,) for name in self._places.of(level)[table].path]
            item = _item([reading.name], roles=[self._role_of(tuple(numbers))])
            self._add(self._resources(level, [*path, columns]), [item], ends=ends)

    def _add_declared(self, by_level: Mapping[tuple[str, bool], Rows]) -> None:
        """Adds what every client reads and no realm contains, for users who may use the catalog."""
        engine = self._service.engine
        if not engine.schemas and not engine.catalogs:
            return
        catalog = self._service.levels["catalog"]
        seen: dict[int, list[int]] = {}
        for number, one in enumerate(self._readers):
            for id in self._permanently_visible(one, catalog):
                seen.setdefault(id, []).append(number)
        schemas = tuple(sorted(engine.schemas))
        for id, numbers in seen.items() if schemas else ():
            where = self._places.of(catalog)[id].path
            self._add_readable((where, schemas, (_ALL,)), tuple(numbers), 1)
        everyone = tuple(number for _, number, _ in by_level.get(("system", False), ()))
        for name, patterns in engine.catalogs.items() if everyone else ():
            for pattern in patterns:
                schema, _, table = pattern.partition(".")
                self._add_readable(((name,), (schema,), (table,)), everyone, 0)

    def _add_readable(
        self, path: Sequence[Sequence[str]], numbers: tuple[int, ...], start: int
    ) -> None:
        """Lets readers see a table's containers, from the level `start` on, and read the table."""
        for depth, level in enumerate(self._service.path(self._service.levels["table"])):
            accesses = [
                one.name
                for one in self._service.accesses.values()
                if one.reads == level.name or {*one.opens.get(level.name, ("",))} <= {*level.any}
            ]
            if depth >= start and accesses:
                items = [_item(accesses, roles=[self._role_of(numbers)])]
                self._add(self._resources(level, path[: depth + 1]), items)

    def _permanently_visible(self, one: Readers, level: Level) -> BitMap:
        seen = self._now.visible_places(one.any, level)
        return seen if self._later is None else seen & self._later.visible_places(one.any, level)

    # --- filters and masks ---

    def _add_limits(self) -> None:
        reading = self._service.reading
        for table, bound in sorted(self._bound.items()):
            assert reading is not None  # noqa: S101 — INVARIANT: limits apply to a read
            level = self._service.levels[reading.reads]
            names = named(self._service, level)
            path = self._places.of(level)[table].path
            where = dict(zip(names, ((part,) for part in path), strict=False))
            self._add_filters(reading.name, where, bound)
            self._add_masks(reading.name, where, level, bound)

    def _add_filters(
        self, access: str, where: Mapping[str, Sequence[str]], bound: Mapping[str, Bound]
    ) -> None:
        by_condition: dict[str, list[str]] = {}
        for name, one in bound.items():
            if one.condition:
                by_condition.setdefault(one.condition, []).append(name)
        items = [
            {**_item([access], roles=[self._role(names)]), "rowFilterInfo": {"filterExpr": sql}}
            for sql, names in sorted(by_condition.items())
        ]
        if items:
            self._add(_resources(where), items, type=_FILTER, kind="rowFilterPolicyItems")

    def _add_masks(
        self,
        access: str,
        where: Mapping[str, Sequence[str]],
        level: Level,
        bound: Mapping[str, Bound],
    ) -> None:
        by_column: dict[str, dict[str, list[str]]] = {}
        for name, one in bound.items():
            for column, sql in one.columns:
                by_column.setdefault(column, {}).setdefault(sql, []).append(name)
        (column_level,) = level.rest
        for column, by_sql in sorted(by_column.items()):
            items = [
                {**_item([access], roles=[self._role(names)]), "dataMaskInfo": _mask_info(sql)}
                for sql, names in sorted(by_sql.items())
            ]
            resources = _resources({**where, column_level: (column,)})
            # If a tag has a mask, Ranger evaluates only the first policy of the highest priority,
            # so each column gets such a policy. A wildcard means NULL, as in policies about tags.
            is_first = self._naming.by_tags and not is_pattern(column)
            priority = _OVERRIDE if is_first else _NORMAL
            self._add(resources, items, type=_MASK, kind=_MASK_ITEMS, priority=priority)

    # --- roles ---

    def _role_of(self, numbers: tuple[int, ...]) -> str:
        """The role of all these readers, composed of roles of named principals if possible."""
        found = self._role_names.get(numbers)
        if found is None:
            found = self._role_names[numbers] = self._role_of_parts(numbers)
        return found

    def _role_of_parts(self, numbers: tuple[int, ...]) -> str:
        left = whole = BitMap(numbers)
        roles = set()
        for index in self._together.inside(numbers):
            part = self._together.parts[index]
            if len(part) < len(whole) and len(part & left) > 1:
                roles.add(self._role_of_part(index))
                left = left - part
        if not roles:
            return self._role_of_all(whole)
        roles |= {self._role_of_reader(number) for number in left}
        return self._role_of_roles(roles)

    def _role_of_part(self, index: int) -> str:
        found = self._part_roles.get(index)
        if found is None:
            found = self._part_roles[index] = self._role_of_all(self._together.parts[index])
        return found

    def _role_of_all(self, numbers: BitMap) -> str:
        """The role that contains the roles of readers."""
        roles = {self._role_of_reader(number) for number in numbers}
        return next(iter(roles)) if len(roles) == 1 else self._role_of_roles(roles)

    def _role_of_reader(self, number: int) -> str:
        found = self._reader_roles.get(number)
        if found is None:
            found = self._reader_roles[number] = self._role(self._readers[number].names)
        return found

    def _role_of_roles(self, roles: Iterable[str]) -> str:
        names = sorted(roles)
        name = role_name(["", *names])
        self._roles.setdefault(name, {"name": name, "roles": [{"name": one} for one in names]})
        return name

    def _role(self, users: Iterable[str]) -> str:
        names = sorted(users)
        name = role_name(names)
        self._roles.setdefault(name, {"name": name, "users": [{"name": one} for one in names]})
        return name

    # --- documents ---

    def _policy_document(self) -> Json:
        return {
            "serviceName": self._naming.service,
            "serviceId": 1,
            "policies": list(numbered(self._policies, LABEL)),
            "serviceDef": definition(self._service),
            "auditMode": "audit-default",
            "serviceConfig": {},
        }

    def _role_document(self) -> Json:
        return {
            "serviceName": self._naming.service,
            "rangerRoles": [
                {"id": id, "isEnabled": True, "users": [], "groups": [], "roles": [], **role}
                for id, (_, role) in enumerate(sorted(self._roles.items()), 1)
            ],
        }


def _item(
    accesses: Sequence[str], *, roles: Sequence[str] = (), groups: Sequence[str] = ()
) -> Json:
    return {
        "accesses": [{"type": access, "isAllowed": True} for access in accesses],
        "users": [],
        "groups": list(groups),
        "roles": list(roles),
        "conditions": [],
        "delegateAdmin": False,
    }


def _mask_info(sql: str) -> Json:
    if sql == HIDDEN_VALUE:
        return {"dataMaskType": "MASK_NULL"}
    return {"dataMaskType": "CUSTOM", "valueExpr": sql}


def _resources(values: Mapping[str, Sequence[str]], *, recursive: bool = False) -> Json:
    return {
        name: {"values": list(each), "isExcludes": False, "isRecursive": recursive}
        for name, each in values.items()
    }


def _until(end: float) -> Json:
    """The last second before the time at which something begins or ends.

    >>> _until(4_070_908_800.0)["endTime"], _until(4_070_908_800_000.0)["endTime"]
    ('2098/12/31 23:59:59', '9999/12/31 23:59:59')
    """
    last = datetime.fromtimestamp(min(int(end) - 1, _LAST), UTC)
    return {
        "startTime": _BEGINNING,
        "endTime": last.strftime("%Y/%m/%d %H:%M:%S"),
        "timeZone": "UTC",
    }


def _grants(rows: Rows, id: int) -> Grants:
    """The grants on one place."""
    found: dict[str, list[int]] = {}
    for access, number, ids in rows:
        if id in ids:
            found.setdefault(access, []).append(number)
    return tuple((access, tuple(numbers)) for access, numbers in sorted(found.items()))
