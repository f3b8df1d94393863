"""The scenario files over HTTP: every case with an operation that a route checks.

A case's question becomes a request (`calls`); a 403 counts as a no. Each request is undone, so all
cases of a file use the same world. Questions that no single HTTP request checks are left out, and
counted: see `is_askable`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest

from lakewarden import models
from lakewarden.kernel.change import (
    EntityAdded,
    MembershipChanged,
    PrincipalChanged,
    RelationChanged,
    StatementAdded,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import Facts
from lakewarden.service import scenario_file
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.effect import DocumentChanged
from lakewarden.service.scenario_file import find
from lakewarden.service.scenarios import Case, Question, Scenario, run
from lakewarden.service.state import State
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap import names as cdap
from lakewarden.systems.cdap.http.ids import program_type
from lakewarden.systems.cdap.http.programs import DEBUGGABLE
from tests.systems.cdap.http.calls import (
    AFTERWARDS,
    ASKED_WITH,
    CALLS,
    FILTERS,
    HITS,
    NO_ROUTE,
    SEARCH,
    Call,
    paths,
    schedules_of,
)
from tests.systems.cdap.http.wire import REALM, Wire

T = TypeVar("T")

SCENARIOS = Path(__file__).parents[3] / "scenarios"
FILES = [path for model in ("cdap", "cdap_parent_write") for path in find(SCENARIOS / model)]


@cache
def read(path: Path) -> Scenario:
    """The scenario of a file, cached because several modules read it during collection."""
    return scenario_file.read(path)


PASSED = {200, 201, 202, 204, 207, 404, 409, 501}
"""Statuses after a passed check."""

RESERVED = ("default", "system", "cdap")


class _Undone(Exception):
    """Rolls back a write that would have succeeded."""


class Trial:
    """A decision service whose writes are authorized and performed, then rolled back."""

    def __init__(self, service: DecisionService) -> None:
        self._service = service

    @property
    def state(self) -> State:
        return self._service.state

    def __getattr__(self, name: str) -> Any:
        return getattr(self._service, name)

    def write(self, actor: Actor, task: Callable[[WriteTransaction], T], **how: bool) -> T:
        found: list[T] = []

        def undone(transaction: WriteTransaction) -> None:
            found.append(task(transaction))
            raise _Undone

        try:
            self._service.write(actor, undone, **how)
        except _Undone:
            return found[0]
        raise AssertionError("a trial ends undone")


class _Session:
    """A server with one world; see `lakewarden.service.scenarios.Session`."""

    def __init__(self, wire: Wire, facts: Facts) -> None:
        self._wire = wire
        self._entities = [row.entity for row in facts.entities]

    def check(self, question: Question) -> bool:
        shown = FILTERS.get(question.operation or "")
        if shown is not None:
            return question.entity in self._shown(question.principal, question.operation or "")
        made = CALLS[question.operation or ""](question)
        status, text = self._ask(made, question.principal, question.groups)
        passed = PASSED | AFTERWARDS.get(question.operation or "", frozenset())
        if status != 403 and status not in passed:
            raise AssertionError(f"{made}: {status} {text}")
        return status != 403

    def listing(
        self,
        user: Principal,
        operation: str,
        within: Entity | None,
        *,
        groups: frozenset[Principal] = frozenset(),
        roles: frozenset[Principal] | None = None,
    ) -> frozenset[Entity]:
        assert not groups
        assert roles is None
        spelling = self._system.spelling
        if operation in FILTERS:
            found = self._shown(user, operation)
        else:
            rules = self._system.model.operation(operation).rules
            asked = (one for one in self._entities if one.type in rules or "any" in rules)
            found = {one for one in asked if self.check(Question(user, operation, None, one))}
        if within is None:
            return frozenset(found)
        return frozenset(one for one in found if _is_below(one, within, spelling.parent))

    @property
    def _system(self) -> Any:
        return self._wire.service.state.realm(REALM).system

    def _shown(self, user: Principal, operation: str) -> set[Entity]:
        if operation == HITS:
            return self._hits(user) & set(self._entities)
        below, type, named = FILTERS[operation]
        spaces = [one.name for one in self._entities if one.type == "namespace"]
        if not below:
            _, answer = self._ask(Call("GET", "namespaces"), user)
            return {Entity(type, one["name"]) for one in answer} & set(self._entities)
        shown: set[Entity] = set()
        for space, path in product(spaces, paths(below)):
            status, found = self._ask(Call("GET", f"namespaces/{space}{path}"), user)
            if status != 403:
                names = found if isinstance(found, dict) else [named(one) for one in found]
                shown |= {Entity(type, f"{space}.{name}") for name in names}
        return shown & set(self._entities)

    def _hits(self, user: Principal) -> set[Entity]:
        """The hits of a search for everything: in each namespace, and in all at once."""
        found: list[set[Entity]] = []
        spaces = [one.name for one in self._entities if one.type == "namespace"]
        for place in ("", *(f"namespaces/{space}/" for space in spaces)):
            status, answer = self._ask(Call("GET", f"{place}{SEARCH}"), user)
            ids = [] if status == 403 else [row["entityId"] for row in answer["results"]]
            own = (id for id in ids if id["entity"].lower() in cdap.TYPES)
            found.append({cast("Entity", cdap.from_authorizable(id)) for id in own})
        assert found[0] == set().union(*found[1:])
        return found[0]

    def _ask(
        self, call: Call, user: Principal, groups: frozenset[Principal] = frozenset()
    ) -> tuple[int, Any]:
        names = tuple(sorted(group.name for group in groups))
        return self._wire.ask(*call[:3], user=user.name, groups=names, headers=call.headers)


def _is_below(entity: Entity, within: Entity, parent: Callable[[Entity], Entity | None]) -> bool:
    above = parent(entity)
    return above is not None and (above == within or _is_below(above, within, parent))


class _Target:
    """Servers in a folder; see `lakewarden.service.scenarios.Target`."""

    def __init__(self, folder: Path, scenario: Scenario) -> None:
        self._wire = Wire(
            folder, profile=scenario.model_name, settings=dict(scenario.settings), bare=True
        )

    def prepare(self, system: object, facts: Facts, now: float) -> _Session:
        self._wire.service.write(
            SYSTEM, lambda transaction: transaction.change(REALM, *effects(facts))
        )
        self._wire.service = Trial(self._wire.service)  # type: ignore[assignment]
        return _Session(self._wire, facts)

    def close(self) -> None:
        self._wire.__exit__(None, None, None)


def effects(facts: Facts) -> Iterator[Any]:
    rows = sorted(facts.entities, key=lambda row: row.entity.name.count("."))
    for row in sorted(rows, key=lambda row: row.entity.type != "namespace"):
        yield EntityAdded(row.entity, row.parent)
        if row.entity.type == "artifact":
            yield DocumentChanged(row.entity, {"versions": {"1.0": {}}})
        if row.entity.type == "application":
            there = (one.entity for one in rows if one.parent == row.entity)
            yield DocumentChanged(row.entity, {"schedules": schedules_of(there)})
    yield from (RelationChanged(row, True) for row in facts.relations)
    yield from (PrincipalChanged(principal, True) for principal in facts.principals)
    yield from (MembershipChanged(row, True) for row in facts.memberships)
    yield from map(StatementAdded, facts.statements)


def is_askable(scenario: Scenario, case: Case) -> bool:
    """Whether one request checks exactly the case's question.

    Creations and deployments check something else if the object exists, and the reverse. Deleting
    a namespace also checks its contents. In the older profile, a grant on a missing entity is a
    404. Reserved names are never assigned, and an application is made from an artifact of its own
    namespace or of the platform.
    """
    operation = case.operation or ""
    if operation not in CALLS and operation not in FILTERS:
        return False
    if operation == "artifact.refresh_system":
        return case.on == Entity("namespace", "system")
    stored = {row.entity for row in scenario.facts.entities}
    is_new = operation in ("namespace.create", "application.deploy")
    is_old = operation in ("namespace.recreate", "application.redeploy")
    if operation.startswith("namespace.") and (is_new or is_old) and case.on.name in RESERVED:
        return False
    if any(_is_elsewhere(one, case.on) for one in case.targets.values()):
        return False
    if case.lists is not None and operation == "namespace.delete":
        return False
    if operation == "program.debug":
        asked = {case.on} if case.lists is None else stored
        return all(can_be_debugged(one) for one in asked if one.type == "program")
    if case.lists is not None:
        needs_targets = bool(scenario.system.model.operation(operation).targets)
        return not is_new and not (needs_targets and operation not in FILTERS)
    if operation in FILTERS:
        return case.on in stored
    if operation == "application.update" and case.on not in stored:
        return False
    if operation == "application.deploy_with_artifact" and case.on in stored:
        return False
    if operation == "namespace.delete":
        inside = (one for one in stored if scenario.system.spelling.parent(one) == case.on)
        return scenario.model_name == "cdap_parent_write" or not any(inside)
    return not (is_new and case.on in stored) and not (is_old and case.on not in stored)


def can_be_debugged(program: Entity) -> bool:
    """Whether programs of the type can be debugged: others are 501 for every caller."""
    return program_type(program) in DEBUGGABLE


def _is_elsewhere(target: Entity, on: Entity) -> bool:
    """Whether an artifact is in a namespace that a deployment there cannot name."""
    places = {target.name.partition(".")[0], on.name.partition(".")[0]} - {"system"}
    return target.type == "artifact" and len(places) > 1


def asked_over_http(path: Path) -> Scenario:
    """The scenario with the cases that are checked over HTTP."""
    scenario = read(path)
    cases = tuple(case for case in scenario.cases if is_askable(scenario, case))
    return replace(scenario, cases=cases)


ASKED = [path for path in FILES if asked_over_http(path).cases]


@pytest.mark.parametrize("path", ASKED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_server_answers_as_the_scenario_says(path: Path, tmp_path: Path) -> None:
    scenario = asked_over_http(path)
    target = _Target(tmp_path, scenario)
    try:
        failures = run(scenario, target)
    finally:
        target.close()
    assert [str(failure) for failure in failures] == []


def test_every_operation_is_asked_over_http_or_says_why_not() -> None:
    declared = set(models.load("cdap").operations)
    alone = {name for name in declared if {name, name.partition(".")[0]} & set(NO_ROUTE)}
    told = [set(CALLS), set(ASKED_WITH), set(FILTERS), alone]
    assert set().union(*told) == declared
    assert sum(map(len, told)) == len(declared)
