"""Statements that rules call useless are: their removal changes no answer in random worlds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest

from lakewarden.analysis.lint.catalogue import RULES
from lakewarden.analysis.lint.finding import Finding, Rule
from lakewarden.analysis.lint.lint_context import of_facts
from lakewarden.analysis.lint.run import lint
from lakewarden.kernel.entity import NO_RESOURCE
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import compile
from lakewarden.service.system import System, load_system
from lakewarden.testing.worlds import Size, make

NOW = 1_700_000_000.0
every_world = pytest.mark.parametrize(
    "seeds",
    [range(10), pytest.param(range(10, 30), marks=pytest.mark.nightly)],
    ids=["day", "night"],
)
SIZE = Size(entities=14, users=4, groups=3, roles=3, statements=20, goals=4)
STEP = 9
"""One in this many operations and privileges is tested, different ones in each world."""

SYSTEMS = ("gravitino", "datahub", "cdap")

EVERY_ANSWER = ("duplicate-statement", "shadowed-statement", "unheld-role")
"""Rules whose findings affect no privilege and no operation."""

EVERY_OPERATION = {"bypassed-deny": 60, "idle-deny": 5, "unreachable-privilege": 5}
"""Rules whose findings affect no operation, but perhaps the bare privilege, each with the number of
worlds to search by day; nightly three times as many."""


def snapshot_of(system: System, facts: Facts) -> Matrix:
    return Matrix(compile(facts, system.model, system.spelling, now=NOW))


def answers(matrix: Matrix, names: Iterable[str], users: Iterable[Principal]) -> Iterator[bool]:
    tree = matrix.snapshot.coded.tree
    entities = [NO_RESOURCE, *(tree.entity(id) for id in tree.stored)]
    for name in names:
        operation = matrix.operation(name)
        for entity in entities:
            if operation.rule_or_none(entity.type) is None:
                continue
            for user in users:
                yield matrix.decide(Request(user, name, entity, NOW)).allow


def useless(finding: Finding, facts: Facts) -> list[str]:
    """The ids of a finding's statements."""
    if finding.place.kind == "statement":
        return [finding.place.name]
    named = Principal(finding.place.kind, finding.place.name)
    return [s.id for s in facts.statements if s.principals == {named} and s.owners is None]


def check(system: System, facts: Facts, rules: list[Rule], names: list[str]) -> int:
    context = of_facts(facts, system.model, system.spelling, now=NOW)
    found = lint("realm", context, rules)
    users = sorted(p for p in facts.principals if p.kind == USER)
    # A stranger is a user who was never stored, as in a `who` query for nobody.
    users.append(Principal(USER, "urn:li:corpuser:stranger"))
    before = list(answers(snapshot_of(system, facts), names, users)) if found else []
    for one in found:
        gone = set(useless(one, facts))
        kept = [s for s in facts.statements if s.id not in gone]
        after = snapshot_of(system, replace(facts, statements=kept))
        assert list(answers(after, names, users)) == before, (one.rule.id, one.place, one.says)
    return len(found)


def single(facts: Facts, rule: str) -> Facts:
    """The facts with one privilege per statement, for rules that report one of several."""
    if rule not in EVERY_OPERATION:
        return facts
    statements = [
        replace(s, id=f"{s.id}/{word}", privileges=frozenset({word}))
        for s in facts.statements
        for word in sorted(s.privileges)
    ]
    return replace(facts, statements=statements)


@pytest.mark.by_day(3)
@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("rule", EVERY_ANSWER)
@every_world
def test_without_it_every_answer_stays(name: str, rule: str, seeds: range) -> None:
    system = load_system(name)
    names = [*system.model.operations, *system.model.privileges]
    for seed in seeds:
        check(system, make(system, seed, SIZE).facts, [RULES[rule]], names[seed % STEP :: STEP])


@pytest.mark.by_day(1)
@pytest.mark.parametrize("times", [1, pytest.param(3, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("rule", EVERY_OPERATION)
def test_without_it_every_operation_stays(rule: str, times: int) -> None:
    system = load_system("gravitino")
    found = 0
    for seed in range(EVERY_OPERATION[rule] * times):
        facts = single(make(system, seed, SIZE).facts, rule)
        names = list(system.model.operations)[seed % 3 :: 3]
        found += check(system, facts, [RULES[rule]], names)
    assert found


@pytest.mark.parametrize("name", [*SYSTEMS, "cdap_parent_write", "control"])
@every_world
def test_every_rule_gets_through_every_world(name: str, seeds: range) -> None:
    system = load_system(name)
    for seed in seeds:
        facts = make(system, seed, SIZE).facts
        context = of_facts(facts, system.model, system.spelling, now=NOW)
        first = lint("realm", context, RULES.values())
        again = of_facts(
            replace(facts, statements=facts.statements[::-1]),
            system.model,
            system.spelling,
            now=NOW,
        )
        assert lint("realm", again, RULES.values()) == first
