"""The content of a plan: the changes at a revision, and the resulting change of access.

A plan has a digest of all its changes, and a JSON form, which the server sends and `lakewarden plan
--format json` prints. Parsing the JSON gives the same plan with the same digest.
`lakewarden.service.plan_access` defines the form of the access.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lakewarden.analysis.access import Access
from lakewarden.expressions.lookup import LookupTable, read_lookup, write_lookup
from lakewarden.kernel.principal import ROLE, Principal
from lakewarden.kernel.relations import MembershipRow
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.statement_file import (
    principal_text,
    read_principal,
    read_statements,
    write_statement,
)
from lakewarden.kernel.toml_section import Section
from lakewarden.service.effect import canonical
from lakewarden.service.plan_access import access_table, read_access
from lakewarden.service.system import System

FORMAT: Final = 2


@dataclass(frozen=True, slots=True)
class Edit:
    """A statement before and after; None: absent.

    `was` equal to `now`: only the mark changes.
    """

    id: str
    was: Statement | None
    now: Statement | None


@dataclass(frozen=True, slots=True)
class LookupEdit:
    """A lookup table before and after; None: absent."""

    name: str
    was: LookupTable | None
    now: LookupTable | None


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes at a revision, and the resulting change of access.

    `is_empty`: there are no changes. `foreign` counts the statements of other keepers.
    """

    realm: str
    keeper: str
    adopts: bool
    revision: int
    edits: tuple[Edit, ...]
    new_roles: tuple[Principal, ...]
    gone_roles: tuple[Principal, ...]
    new_members: tuple[MembershipRow, ...]
    gone_members: tuple[MembershipRow, ...]
    foreign: int
    is_empty: bool
    access: Access = field(repr=False)
    lookups: tuple[LookupEdit, ...] = ()

    @property
    def digest(self) -> str:
        """Identifies the changes, the realm and the revision."""
        return self.digest_at(self.revision)

    def digest_at(self, revision: int) -> str:
        """The digest that the plan would have at that revision."""
        body = canonical({**self._changes(), "revision": revision})
        return hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()

    def table(self) -> dict[str, object]:
        """The plan as JSON: the input of `lakewarden apply`, and the access."""
        return {
            **self._changes(),
            "digest": self.digest,
            "foreign": self.foreign,
            "pending": not self.is_empty,
            "access": access_table(self.access),
        }

    def _changes(self) -> dict[str, object]:
        lookups = [
            {"name": edit.name, "was": _lookup(edit.was), "now": _lookup(edit.now)}
            for edit in self.lookups
        ]
        return {
            # Only if there are any, so plans of files without lookups stay the same.
            **({"lookups": lookups} if lookups else {}),
            "format": FORMAT,
            "realm": self.realm,
            "keeper": self.keeper,
            "adopts": self.adopts,
            "revision": self.revision,
            "statements": [
                {"id": edit.id, "was": _table(edit.was), "now": _table(edit.now)}
                for edit in self.edits
            ],
            "roles": {
                "new": [role.name for role in self.new_roles],
                "gone": [role.name for role in self.gone_roles],
            },
            "members": {
                "new": [_pair(row) for row in self.new_members],
                "gone": [_pair(row) for row in self.gone_members],
            },
        }


def _lookup(lookup: LookupTable | None) -> dict[str, object] | None:
    return None if lookup is None else write_lookup(lookup)


def _read_lookup(table: Mapping[str, Any] | None) -> LookupTable | None:
    return None if table is None else read_lookup(Section(table, "the plan"))


def _table(statement: Statement | None) -> dict[str, object] | None:
    return None if statement is None else write_statement(statement)


def _pair(row: MembershipRow) -> list[str]:
    return [principal_text(row.member), principal_text(row.of)]


def read_plan(table: Mapping[str, Any], system: System) -> Plan:
    """The plan from the result of `Plan.table`. Raises `BadInput` for invalid statements."""
    return Plan(
        realm=table["realm"],
        keeper=table["keeper"],
        adopts=table["adopts"],
        revision=table["revision"],
        edits=tuple(
            Edit(edit["id"], _statement(edit["was"], system), _statement(edit["now"], system))
            for edit in table["statements"]
        ),
        new_roles=_roles(table["roles"]["new"]),
        gone_roles=_roles(table["roles"]["gone"]),
        new_members=_members(table["members"]["new"]),
        gone_members=_members(table["members"]["gone"]),
        foreign=table["foreign"],
        is_empty=not table["pending"],
        access=read_access(table["access"]),
        lookups=tuple(
            LookupEdit(edit["name"], _read_lookup(edit["was"]), _read_lookup(edit["now"]))
            for edit in table.get("lookups", ())
        ),
    )


def _statement(table: Mapping[str, Any] | None, system: System) -> Statement | None:
    if table is None:
        return None
    (statement,) = read_statements([table], system.model, system.spelling, "the plan", builtin=True)
    return statement


def _roles(names: Sequence[str]) -> tuple[Principal, ...]:
    return tuple(Principal(ROLE, name) for name in names)


def _members(pairs: Sequence[Sequence[str]]) -> tuple[MembershipRow, ...]:
    return tuple(MembershipRow(read_principal(member), read_principal(of)) for member, of in pairs)
