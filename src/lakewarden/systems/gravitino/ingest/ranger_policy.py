"""Apache Ranger's policies, roles and users, in the format of its REST API and console exports.

A file holds one or more of these, as lists or concatenated:

    policies     GET /service/public/v2/api/policy, the console's export and what plugins
                 download (`{"policies": […], "tagPolicies": {"policies": […]}}`)
    roles        GET /service/public/v2/api/roles: who holds a role
    users        GET /service/xusers/users (`{"vXUsers": […]}`): who is in which group

An unknown key of a policy is an error for the whole file: the key may restrict access.

SOURCE: apache/ranger@8e7716cd3c36: REST and policy JSON as in ecosystem reference 6.1, 6.2;
apache/ranger, VXUser (`name`, `groupNameList`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.toml_section import Section
from lakewarden.names.canonical import quoted

ACCESS: Final = 0

TAG: Final = "tag"
"""The type of services with policies about tags."""

_TIME = "%Y/%m/%d %H:%M:%S"
_NO_MASK = "MASK_NONE"
_TYPES: Final = {"database": "hive", "catalog": "trino", "tag": TAG}
"""A service's type by the outermost level of its resources, if nothing else tells the type."""

_MEANINGLESS: Final = (
    *("guid", "version", "createdBy", "updatedBy", "createTime", "updateTime", "createDate"),
    *("updateDate", "description", "resourceSignature", "isAuditEnabled", "policyLabels"),
    *("options", "id"),
)
"""Keys of a policy that do not matter for access."""

_AROUND_POLICIES: Final = (
    *("serviceName", "serviceId", "serviceDef", "serviceConfig", "auditMode", "policyVersion"),
    *("policyUpdateTime", "metaDataInfo", "startIndex", "pageSize", "totalCount", "resultSize"),
    *("sortType", "sortBy", "queryTimeMS"),
)
"""Keys of a download or an export that do not matter for access."""


class Level(NamedTuple):
    """A policy's values for one level of a resource; `excludes`: all but these values."""

    values: tuple[str, ...]
    excludes: bool = False


Resource = dict[str, Level]


class Window(NamedTuple):
    """A period, in seconds; `exact` unless it only holds at times within the period."""

    start: float | None = None
    end: float | None = None
    exact: bool = True


class Item(NamedTuple):
    """Grantees and their accesses. A `conditional` item only applies under a condition."""

    accesses: frozenset[str]
    users: tuple[str, ...]
    groups: tuple[str, ...]
    roles: tuple[str, ...]
    conditional: bool = False
    delegates: bool = False


@dataclass(frozen=True, slots=True)
class Policy:
    """An enabled policy. `limits` are masks and row filters that hide something."""

    name: str
    service: str
    type: str
    kind: int
    resources: tuple[Resource, ...]
    allow: tuple[Item, ...] = ()
    allow_exceptions: tuple[Item, ...] = ()
    deny: tuple[Item, ...] = ()
    deny_exceptions: tuple[Item, ...] = ()
    limits: tuple[Item, ...] = ()
    denies_all_else: bool = False
    overrides: bool = False
    conditional: bool = False
    windows: tuple[Window, ...] = ()
    where: str = ""

    @property
    def restricts(self) -> bool:
        """Whether the policy removes access that another one gives."""
        return bool(self.deny or self.limits or self.denies_all_else)


@dataclass(frozen=True, slots=True)
class Role:
    """The holders of a role."""

    name: str
    users: tuple[str, ...]
    groups: tuple[str, ...]
    roles: tuple[str, ...]


@dataclass(slots=True)
class Ranger:
    """The content of all files. `groups_of` is by user; `disabled` counts policies."""

    policies: list[Policy] = field(default_factory=list)
    roles: dict[str, Role] = field(default_factory=dict)
    groups_of: dict[str, tuple[str, ...]] = field(default_factory=dict)
    disabled: int = 0

    def add_record(self, value: object, where: str) -> None:
        """Adds one record. Raises `BadInput`."""
        section = Section(value, where)
        names = set(section.names())
        if {"policies", "tagPolicies"} & names:
            self._exported_policies(section)
        elif "vXUsers" in names:
            for user in section.tables("vXUsers"):
                self._user(user)
        elif "resources" in names:
            self._policy(section)
        elif "groupNameList" in names:
            self._user(section)
        elif "roles" in names and "name" not in names:
            for role in section.tables("roles"):
                self._role(role)
        elif {"name", "users"} <= names:
            self._role(section)
        else:
            expected = "expected policies, roles or users as Ranger's REST API gives them"
            raise BadInput(expected, where=where)

    def _exported_policies(self, section: Section) -> None:
        if section.take("policyDeltas"):
            raise BadInput("expected all policies, got changes", where=section.at("policyDeltas"))
        tags = section.take("tagPolicies")
        if tags is not None:
            self._exported_policies(Section(tags, section.at("tagPolicies")))
        for zone in section.named("securityZones"):
            raise _of_zone(zone, section.at("securityZones"))
        for policy in section.tables("policies"):
            self._policy(policy)
        for key in _AROUND_POLICIES:
            section.take(key)
        section.close()

    def _user(self, section: Section) -> None:
        self.groups_of[section.text("name")] = section.texts("groupNameList")

    def _role(self, section: Section) -> None:
        members = [
            tuple(member.text("name") for member in section.tables(key))
            for key in ("users", "groups", "roles")
        ]
        name = section.text("name")
        self.roles[name] = Role(name, *members)

    def _policy(self, section: Section) -> None:
        policy, enabled = _read(section)
        if enabled:
            self.policies.append(policy)
        else:
            self.disabled += 1


def _read(section: Section) -> tuple[Policy, bool]:
    zone = section.text("zoneName", "")
    if zone:
        raise _of_zone(zone, section.where)
    resources = [_resource(section, "resources")]
    additional = section.take("additionalResources")
    for index, item in enumerate(additional if isinstance(additional, list) else ()):
        inner = Section({"resources": item}, f"{section.at('additionalResources')}[{index}]")
        resources.append(_resource(inner, "resources"))
    policy = Policy(
        name=section.text("name"),
        service=section.text("service"),
        type=section.text("serviceType", "") or _TYPES.get(next(iter(resources[0]), ""), ""),
        kind=_number(section, "policyType"),
        resources=tuple(resources),
        allow=_items(section, "policyItems"),
        allow_exceptions=_items(section, "allowExceptions", takes_all=True),
        deny=_items(section, "denyPolicyItems", takes_all=True),
        deny_exceptions=_items(section, "denyExceptions"),
        limits=(*_masks(section), *_filters(section)),
        denies_all_else=section.flag("isDenyAllElse"),
        overrides=_number(section, "policyPriority") > 0,
        conditional=bool(section.take("conditions")),
        windows=tuple(_window(table) for table in section.tables("validitySchedules")),
        where=section.where,
    )
    enabled = section.flag("isEnabled", default=True)
    for key in _MEANINGLESS:
        section.take(key)
    section.close()
    return policy, enabled


def _of_zone(zone: str, where: str) -> BadInput:
    """The error for a zone: without zones, its policies and those outside would reach further."""
    message = f"there are policies of the security zone {quoted(zone)}: zones have no counterpart"
    return BadInput(f"{message}, and without them access would be wider", where=where)


def _number(section: Section, key: str) -> int:
    return int(section.number(key) or 0)


def _resource(section: Section, key: str) -> Resource:
    resource: Resource = {}
    for level, inner in section.named(key).items():
        values = inner.texts("values")
        resource[level] = Level(values, inner.flag("isExcludes"))
        inner.take("isRecursive")
        inner.close()
        if not values:
            raise BadInput("expected at least one value", where=inner.at("values"))
    return resource


def _items(section: Section, key: str, *, takes_all: bool = False) -> tuple[Item, ...]:
    return tuple(_item(table, takes_all=takes_all) for table in section.tables(key))


def _item(section: Section, *, takes_all: bool = True) -> Item:
    """`takes_all`: an access that the item does not allow counts, too."""
    accesses = set()
    for access in section.tables("accesses"):
        type = access.text("type").lower()
        if access.flag("isAllowed", default=True) or takes_all:
            accesses.add(type)
        access.close()
    item = Item(
        accesses=frozenset(accesses),
        users=section.texts("users"),
        groups=section.texts("groups"),
        roles=section.texts("roles"),
        conditional=bool(section.take("conditions")),
        delegates=section.flag("delegateAdmin"),
    )
    section.close()
    return item


def _masks(section: Section) -> Iterator[Item]:
    for table in section.tables("dataMaskPolicyItems"):
        info = Section(table.take("dataMaskInfo") or {}, table.at("dataMaskInfo"))
        item = _item(table)
        if info.text("dataMaskType", "") != _NO_MASK:
            yield item


def _filters(section: Section) -> Iterator[Item]:
    for table in section.tables("rowFilterPolicyItems"):
        info = Section(table.take("rowFilterInfo") or {}, table.at("rowFilterInfo"))
        item = _item(table)
        if info.text("filterExpr", "").strip():
            yield item


def _window(section: Section) -> Window:
    recurs = bool(section.take("recurrences"))
    name = section.text("timeZone", "")
    zone = _zone(name)
    start, end = _moment(section, "startTime", zone), _moment(section, "endTime", zone)
    section.close()
    # Without a time zone, the times are those of Ranger's own host, which is unknown here.
    if zone is None:
        return Window(exact=False)
    return Window(start, end, exact=not recurs)


def _zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _moment(section: Section, key: str, zone: ZoneInfo | None) -> float | None:
    text = section.text(key, "")
    if not text:
        return None
    try:
        moment = datetime.strptime(text, _TIME).replace(tzinfo=zone or UTC)
    except ValueError:
        expected = "expected a time such as `2026/11/21 00:00:00`"
        raise BadInput(f"{expected}, got {quoted(text)}", where=section.at(key)) from None
    return moment.timestamp()
