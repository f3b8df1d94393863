"""What a target holds of ours: roles, each with its members, grants and row policies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

import msgspec

DATABASE: Final = "database"
SCHEMA: Final = "schema"
TABLE: Final = "table"
COLUMN: Final = "column"
LEVELS: Final = (DATABASE, SCHEMA, TABLE, COLUMN)
"""What privileges are granted on, from the outermost."""

Path = tuple[str, ...]
"""Where an object lies in the database: the names from the schema on; the database has none."""


@dataclass(frozen=True, slots=True, order=True)
class Grant:
    """A privilege on an object."""

    path: Path
    privilege: str

    @property
    def level(self) -> str:
        """What kind of object it is about.

        >>> Grant(("sales", "orders"), "SELECT").level
        'table'
        """
        return LEVELS[len(self.path)]


@dataclass(frozen=True, slots=True, order=True)
class RowPolicy:
    """The rows of a table that the members of a role may read, as a condition in SQL."""

    path: Path
    condition: str


@dataclass(frozen=True, slots=True)
class Role:
    """A role of ours: all of its members have all of its grants, within its row policies."""

    members: frozenset[str]
    grants: frozenset[Grant] = frozenset()
    policies: frozenset[RowPolicy] = frozenset()

    @property
    def is_empty(self) -> bool:
        """Whether nobody gets anything by it."""
        return not (self.members and (self.grants or self.policies))


@dataclass(frozen=True, slots=True)
class Roles:
    """Roles by their names in the target."""

    roles: Mapping[str, Role] = field(default_factory=dict)

    def digest(self) -> str:
        """The same for the same roles, whatever their order."""
        return sha256(msgspec.json.encode(as_data(self))).hexdigest()

    def holders(self) -> Mapping[Grant, frozenset[str]]:
        """Who has each grant, by whatever roles."""
        members: dict[Grant, list[frozenset[str]]] = {}
        for role in self.roles.values():
            for grant in role.grants:
                members.setdefault(grant, []).append(role.members)
        return {
            grant: each[0] if len(each) == 1 else each[0].union(*each[1:])
            for grant, each in members.items()
        }


def as_data(roles: Roles) -> dict[str, object]:
    """The roles as JSON values, in one order."""
    return {
        name: {
            "members": sorted(role.members),
            "grants": [[list(one.path), one.privilege] for one in sorted(role.grants)],
            "policies": [[list(one.path), one.condition] for one in sorted(role.policies)],
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
            )
            for name, role in data.items()
        }
    )


def _path(parts: object) -> Path:
    return tuple(map(str, parts)) if isinstance(parts, Iterable) else ()
