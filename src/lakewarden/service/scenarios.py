"""Scenarios: a small world with its expected answers, run against any target.

A target is anything that answers: the compiled kernel, the tests' literal evaluator, a server
behind its wire protocol. It gets the facts once per time, and then the questions.
`lakewarden.service.scenario_file` reads scenarios.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.statement_file import principal_text
from lakewarden.service.system import System

NOW = 1_700_000_000.0
"""The time of a case's question unless it names another one (seconds since the epoch)."""

Value = str | bool | float


@dataclass(frozen=True, slots=True)
class Case:
    """One expectation. Exactly one of `operation` and `privilege` is set.

    `lists` is None for a check. For a listing it contains each user's expected entities, `within`
    the container or, if that is None, everywhere. `lists_sent` are the lists of entities that a
    check sends, as are `targets`, `attributes`, `subresources` and `groups`. `roles` None: every
    role that is held is active.
    """

    title: str
    rows: tuple[str, ...] = ()
    operation: str | None = None
    privilege: str | None = None
    on: Entity = NO_RESOURCE
    allow: tuple[Principal, ...] = ()
    deny: tuple[Principal, ...] = ()
    within: Entity | None = None
    lists: Mapping[Principal, frozenset[Entity]] | None = None
    targets: Mapping[str, Entity] = field(default_factory=dict)
    lists_sent: Mapping[str, tuple[Entity, ...]] = field(default_factory=dict)
    attributes: Mapping[str, Value] = field(default_factory=dict)
    subresources: tuple[Entity, ...] = ()
    groups: frozenset[Principal] = frozenset()
    roles: frozenset[Principal] | None = None
    now: float = NOW


@dataclass(frozen=True, slots=True)
class Scenario:
    """The content of a file: the world as facts, and the cases in file order."""

    model_name: str
    settings: Mapping[str, str]
    title: str
    source: str
    path: Path
    system: System
    facts: Facts
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a target.

    Whether the principal may do the operation, or has the privilege (exactly one of the two is
    set), given the other data of the request.
    """

    principal: Principal
    operation: str | None
    privilege: str | None
    entity: Entity
    targets: Mapping[str, Entity] = field(default_factory=dict)
    lists: Mapping[str, tuple[Entity, ...]] = field(default_factory=dict)
    attributes: Mapping[str, Value] = field(default_factory=dict)
    subresources: tuple[Entity, ...] = ()
    groups: frozenset[Principal] = frozenset()
    roles: frozenset[Principal] | None = None
    now: float = NOW


class Session(Protocol):
    """A target with one world at one time."""

    def check(self, question: Question) -> bool:
        """Whether the answer is yes."""
        ...

    def listing(
        self,
        user: Principal,
        operation: str,
        within: Entity | None,
        *,
        groups: frozenset[Principal] = frozenset(),
        roles: frozenset[Principal] | None = None,
    ) -> frozenset[Entity]:
        """The stored entities on which the operation's own rule allows the user.

        Only entities below `within`, excluding itself; None: anywhere. `groups` and `roles` are
        passed only if a case names them.
        """
        ...


class Target(Protocol):
    """Something that answers authorization questions."""

    def prepare(self, system: System, facts: Facts, now: float) -> Session:
        """A session over these facts, queried only at `now` (seconds since the epoch)."""
        ...


@dataclass(frozen=True, slots=True)
class Failure:
    """A case with a different answer of the target; `expected` and `actual` are texts."""

    path: Path
    title: str
    user: str
    expected: str
    actual: str

    def __str__(self) -> str:
        return (
            f"{self.path}: {self.title}: {self.user}: expected {self.expected}, got {self.actual}"
        )


def run(scenario: Scenario, target: Target) -> list[Failure]:
    """The cases whose result differs from the expected one, in file order.

    An error that the target raises counts as a wrong answer. The world is prepared once for each
    time in the cases.
    """
    sessions: dict[float, Session] = {}
    failures: list[Failure] = []
    for case in scenario.cases:
        if case.now not in sessions:
            sessions[case.now] = target.prepare(scenario.system, scenario.facts, case.now)
        answers = _checked(case, sessions[case.now])
        if case.lists is not None:
            answers = _listed(case, case.lists, sessions[case.now])
        failures += [
            Failure(scenario.path, case.title, principal_text(user), expected, actual)
            for user, expected, actual in answers
            if expected != actual
        ]
    return failures


def question(case: Case, user: Principal) -> Question:
    """The question of a case for one of its users."""
    return Question(
        principal=user,
        operation=case.operation,
        privilege=case.privilege,
        entity=case.on,
        targets=case.targets,
        lists=case.lists_sent,
        attributes=case.attributes,
        subresources=case.subresources,
        groups=case.groups,
        roles=case.roles,
        now=case.now,
    )


def _checked(case: Case, session: Session) -> Iterator[tuple[Principal, str, str]]:
    for decision, users in (("allow", case.allow), ("deny", case.deny)):
        for user in users:
            try:
                actual = "allow" if session.check(question(case, user)) else "deny"
            except WardenError as error:
                actual = f"error: {error}"
            yield user, decision, actual


def _listed(
    case: Case, lists: Mapping[Principal, frozenset[Entity]], session: Session
) -> Iterator[tuple[Principal, str, str]]:
    for user, expected in lists.items():
        try:
            actual = _texts(_listing(case, user, session))
        except WardenError as error:
            actual = f"error: {error}"
        yield user, _texts(expected), actual


def _listing(case: Case, user: Principal, session: Session) -> frozenset[Entity]:
    operation = case.operation or ""
    if not case.groups and case.roles is None:
        return session.listing(user, operation, case.within)
    return session.listing(user, operation, case.within, groups=case.groups, roles=case.roles)


def _texts(entities: Iterable[Entity]) -> str:
    return "[" + ", ".join(sorted(str(entity) for entity in entities)) + "]"
