"""The small part of a realm: its statements, people, and containers with members of their own."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from lakewarden.kernel.change import (
    EntityAdded,
    EntityDropped,
    EntityRenamed,
    MembershipChanged,
    PrincipalChanged,
    StatementAdded,
    StatementRemoved,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.grants import Table, table
from lakewarden.kernel.implied import membership
from lakewarden.kernel.memberships import Memberships
from lakewarden.kernel.principal import GROUP, ROLE, SERVICE_ADMINS, Principal, members_of
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.statement_file import write_statement
from lakewarden.pipeline.check_rules import Key, on_cycles
from lakewarden.pipeline.index.index import Index
from lakewarden.pipeline.stream.events import Event
from lakewarden.service.defaults import default_statements
from lakewarden.service.effect import Effect
from lakewarden.service.system import System

_NESTED = (GROUP, ROLE)


@dataclass(slots=True)
class Policy:
    """The policy of a realm, while events are applied in order."""

    system: System
    statements: dict[str, Statement]
    stored: set[Principal]
    memberships: set[tuple[Principal, Principal]]
    members: set[Entity]
    _fixed: frozenset[str] = field(default=frozenset())

    @staticmethod
    def of(index: Index, memberships: Memberships) -> Policy:
        """The policy of an index with these memberships."""
        everyone = memberships.principals
        return Policy(
            system=index.system,
            statements={statement.id: statement for statement in index.statements()},
            stored={everyone[id] for id in memberships.stored},
            memberships={(everyone[m], everyone[g]) for m, g in memberships.edges()},
            members={Entity(*cells) for cells in index.manifest.facts["members"]},
            _fixed=index.system.model.immutable_ids,
        )

    def take(self, effects: Iterable[Effect]) -> None:
        """Applies effects in order; ignores those on other data."""
        for effect in effects:
            match effect:
                case StatementAdded(statement) if statement.id not in self._fixed:
                    self.statements[statement.id] = statement
                case StatementRemoved(id) if id not in self._fixed:
                    self.statements.pop(id, None)
                case PrincipalChanged(principal, present):
                    (self.stored.add if present else self.stored.discard)(principal)
                case MembershipChanged(row, present):
                    edge = (row.member, row.of)
                    (self.memberships.add if present else self.memberships.discard)(edge)
                case EntityAdded(entity, _) if entity.type in self._member_types:
                    self.members.add(entity)
                case EntityDropped(entity):
                    self.members.discard(entity)
                case EntityRenamed(entity, name) if entity in self.members:
                    self.members.remove(entity)
                    self.members.add(Entity(entity.type, name))

    @property
    def _member_types(self) -> frozenset[str]:
        return frozenset(self.system.model.membership_types)

    def stated(self) -> tuple[Statement, ...]:
        """The statements in the order of `lakewarden.pipeline.directory`."""
        known = self.statements
        defaults = [s.id for s in default_statements(self.system) if s.id in known]
        others = sorted(known.keys() - set(defaults))
        return tuple(known[id] for id in (*defaults, *others))

    def everything(self) -> tuple[Statement, ...]:
        """The statements, including implied ones."""
        return (*self.stated(), *(membership(entity) for entity in sorted(self.members)))

    def table(self, now: float) -> Table:
        """The table in force: scopes with their numbers; of principals only the names matter."""
        statements = {statement.id: statement for statement in self.everything()}
        named = {p for statement in statements.values() for p in statement.named}
        return table(statements, self.system.model, Memberships.build((), (), named), now)

    def closed_memberships(self, owners: Iterable[Principal]) -> Memberships:
        """The memberships, computed as in the index job; `owners` are all principals that own.

        Raises `BadInput` for cyclic memberships, which `ingest` would set aside.
        """
        mentioned = {SERVICE_ADMINS, *owners}
        mentioned.update(p for statement in self.everything() for p in statement.named)
        mentioned.update(members_of(entity.name) for entity in self.members)
        self._refuse_cycles()
        return Memberships.build(self.stored, self.memberships, mentioned)

    def _refuse_cycles(self) -> None:
        edges: dict[Key, list[Key]] = {}
        for member, of in self.memberships:
            if member.kind in _NESTED and of.kind in _NESTED:
                edges.setdefault(member, []).append(of)
        for kind, name in sorted(on_cycles(edges)):
            message = f"`{kind}:{name}` would be a member of itself"
            raise BadInput(f"{message}; ingest and index anew")


def text_of(stated: Iterable[Statement]) -> str:
    """The statements in the format of an index."""
    return "".join(f"{json.dumps(write_statement(s), ensure_ascii=False)}\n" for s in stated)


def effects(events: Iterable[Event]) -> Iterable[Effect]:
    """The effects of the events, in order."""
    return (event.effect for event in events)
