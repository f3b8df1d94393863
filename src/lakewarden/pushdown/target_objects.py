"""The objects and users of a target, on which and to whom something can be granted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lakewarden.pushdown.foreign_keys import Change
from lakewarden.pushdown.grants import TABLE_DEPTH, Path


@dataclass(frozen=True, slots=True)
class TargetObjects:
    """The objects and users of a database, whatever their grants: only these can be in grants.

    `columns` has the types of the columns of each table and view by path, `views` the paths of
    the views, `without_policies` tables that cannot have row policies, `roles` the names of all
    roles there that are not ours; one has at most `longest_role` bytes. Without `row_policies`,
    users with a filter read through a masking view; `no_views` says why there can be no views. A
    role of others with the comment `mark` becomes ours. `unlimited` are other users, whom no grant
    limits.
    `refused_users` are users who cannot be given roles, `refused` objects on which nothing can be
    granted, with the reasons. `descendants` are the tables that are read and written with a
    table, such as its partitions, at any depth; grants on them do not limit that. `effects` are
    the changes that a change of a table also makes in others, whoever makes it; see
    `foreign_keys`. `encoding` is Python's name of the encoding of all texts there.
    """

    users: frozenset[str]
    schemas: frozenset[str]
    columns: Mapping[Path, Mapping[str, str]]
    views: frozenset[Path] = frozenset()
    without_policies: frozenset[Path] = frozenset()
    roles: frozenset[str] = frozenset()
    longest_role: int = 63
    row_policies: bool = True
    no_views: str = ""
    mark: str = ""
    unlimited: frozenset[str] = frozenset()
    refused_users: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[Path, str] = field(default_factory=dict)
    descendants: Mapping[Path, frozenset[Path]] = field(default_factory=dict)
    effects: Mapping[Change, frozenset[Change]] = field(default_factory=dict)
    encoding: str = "utf-8"

    def can_encode(self, text: str) -> bool:
        """Whether the database's encoding has all characters of the text."""
        return text.encode(self.encoding, "ignore").decode(self.encoding) == text

    def has(self, path: Path) -> bool:
        """Whether the database, a schema, a table or a column exists."""
        if len(path) < TABLE_DEPTH:
            return {*path} <= self.schemas
        return path[:TABLE_DEPTH] in self.columns and {*path[TABLE_DEPTH:]} <= {
            *self.columns[path[:TABLE_DEPTH]]
        }


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of a realm that a database holds: one catalog of a metalake."""

    metalake: str
    catalog: str
