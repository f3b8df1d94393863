"""Our roles in a target: each with members, grants, row policies and views."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

import msgspec

DATABASE: Final = "database"
SCHEMA: Final = "schema"
TABLE: Final = "table"
COLUMN: Final = "column"
LEVELS: Final = (DATABASE, SCHEMA, TABLE, COLUMN)
"""The levels of objects that privileges are granted on, from the outermost."""

GRANTABLE: Final = " WITH GRANT OPTION"
"""The suffix of a privilege with the grant option, in databases that record it per privilege."""

NESTED_IN: Final = "MEMBER OF "
"""The prefix of the grant that stands for the membership of our role in another role."""

EVERY_ROW: Final = "true"
"""The condition that matches every row."""

Path = tuple[str, ...]
"""The path of an object in the database: its names from the schema on; () is the database."""

TABLE_DEPTH: Final = 2
COLUMN_DEPTH: Final = 3
"""The lengths of the paths of a table and of a column."""


@dataclass(frozen=True, slots=True, order=True)
class Grant:
    """A privilege on an object."""

    path: Path
    privilege: str

    @property
    def level(self) -> str:
        """The kind of object that the grant is on.

        >>> Grant(("sales", "orders"), "SELECT").level
        'table'
        """
        return LEVELS[len(self.path)]


@dataclass(frozen=True, slots=True, order=True)
class RowPolicy:
    """The rows of a table that the members of a role may read, as an SQL condition."""

    path: Path
    condition: str


@dataclass(frozen=True, slots=True, order=True)
class MaskingView:
    """A table or view as the members of a role read it, who have no grant to read it directly.

    `path` is the path of the table or view; the engine's writer decides where the masking view
    is. `columns` are all its columns, in its order, each with the SQL expression that replaces its
    values, or "" if they are shown. `condition` filters the rows before they are masked. A role
    has at most one view of a path, and no user is a member of two roles with a view of one path.
    """

    path: Path
    columns: tuple[tuple[str, str], ...]
    condition: str


READ: Final = "SELECT"
"""The privilege that members of a role get as masking views instead."""

MASKED_READ: Final = "SELECT (masked)"
"""The name in plans for the right to a masking view; no engine has a privilege of that name."""


@dataclass(frozen=True, slots=True)
class Role:
    """One of our roles: all of its members have all of its grants, within its row policies.

    They read its masking views, too.
    """

    members: frozenset[str]
    grants: frozenset[Grant] = frozenset()
    policies: frozenset[RowPolicy] = frozenset()
    views: frozenset[MaskingView] = frozenset()

    @property
    def is_empty(self) -> bool:
        """Whether no user gets anything from it."""
        return not (self.members and (self.grants or self.policies or self.views))


@dataclass(frozen=True, slots=True)
class Roles:
    """Roles by their names in the target."""

    roles: Mapping[str, Role] = field(default_factory=dict)

    def digest(self) -> str:
        """A digest that does not depend on the order of the roles."""
        return sha256(msgspec.json.encode(as_data(self))).hexdigest()

    def holders(self) -> Mapping[Grant, frozenset[str]]:
        """The users who have each grant through any role; readers of masking views do not count."""
        return _holders((role.members, role.grants) for role in self.roles.values())

    def limited(self) -> Mapping[Path, frozenset[str]]:
        """The users from whom row policies hide rows of each table."""
        found: dict[Path, set[str]] = {}
        for role in self.roles.values():
            for policy in role.policies:
                if policy.condition != EVERY_ROW:
                    found.setdefault(policy.path, set()).update(role.members)
        return {path: frozenset(names) for path, names in found.items()}

    def readers(self) -> Mapping[Grant, frozenset[str]]:
        """The users who read each table through a masking view, as grants of `MASKED_READ`."""
        return _holders(
            (role.members, (Grant(view.path, MASKED_READ) for view in role.views))
            for role in self.roles.values()
        )


def _holders(
    given: Iterable[tuple[frozenset[str], Iterable[Grant]]],
) -> Mapping[Grant, frozenset[str]]:
    members: dict[Grant, list[frozenset[str]]] = {}
    for names, grants in given:
        for grant in grants:
            members.setdefault(grant, []).append(names)
    return {
        grant: each[0] if len(each) == 1 else each[0].union(*each[1:])
        for grant, each in members.items()
    }


def as_data(roles: Roles) -> dict[str, object]:
    """The roles as JSON values, in a fixed order."""
    return {
        name: {
            "members": sorted(role.members),
            "grants": [[list(one.path), one.privilege] for one in sorted(role.grants)],
            "policies": [[list(one.path), one.condition] for one in sorted(role.policies)],
            "views": [
                [list(one.path), [list(column) for column in one.columns], one.condition]
                for one in sorted(role.views)
            ],
        }
        for name, role in sorted(roles.roles.items())
    }


def from_data(data: Mapping[str, Mapping[str, list[list[object]]]]) -> Roles:
    """The roles that `as_data` wrote.

    >>> roles = Roles({"lw_a": Role(frozenset({"ana"}), frozenset({Grant(("s",), "USAGE")}))})
    >>> from_data(as_data(roles)) == roles
    True
    """
    return Roles(
        {
            name: Role(
                frozenset(map(str, role["members"])),
                frozenset(Grant(_path(path), str(privilege)) for path, privilege in role["grants"]),
                frozenset(
                    RowPolicy(_path(path), str(condition)) for path, condition in role["policies"]
                ),
                frozenset(_view(*one) for one in role.get("views", ())),
            )
            for name, role in data.items()
        }
    )


@dataclass(frozen=True, slots=True)
class KnownRoles:
    """What a store knows to be its own in a target: the roles of its pushes, and their members.

    `has_views`: whether some of them had masking views.
    """

    roles: frozenset[str] = frozenset()
    members: frozenset[str] = frozenset()
    has_views: bool = False

    def __or__(self, other: KnownRoles) -> KnownRoles:
        return KnownRoles(
            self.roles | other.roles,
            self.members | other.members,
            self.has_views or other.has_views,
        )


def known_roles(data: Mapping[str, Any]) -> KnownRoles:
    """What a store knows from the roles that `as_data` wrote.

    >>> known_roles({"lw_a": {"members": ["ana"], "grants": [], "policies": []}})
    KnownRoles(roles=frozenset({'lw_a'}), members=frozenset({'ana'}), has_views=False)
    """
    members = (map(str, role["members"]) for role in data.values())
    return KnownRoles(
        frozenset(data),
        frozenset[str]().union(*members),
        any(role.get("views") for role in data.values()),
    )


def _path(parts: object) -> Path:
    return tuple(map(str, parts)) if isinstance(parts, Iterable) else ()


def _view(path: object, columns: object, condition: object) -> MaskingView:
    pairs = map(_path, columns) if isinstance(columns, Iterable) else ()
    return MaskingView(_path(path), tuple((name, shown) for name, shown in pairs), str(condition))
