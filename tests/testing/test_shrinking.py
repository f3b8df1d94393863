"""A failing world is shrunk as far as the failure allows."""

from __future__ import annotations

from dataclasses import replace

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.relations import EntityRow, Facts
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Where
from lakewarden.testing.questions import ask
from lakewarden.testing.shrinking import smallest
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import World, make
from tests.agreement import harness
from tests.oracle.oracle import Oracle


def world(name: str, seed: int) -> tuple[World, list[Request]]:
    made = make(harness.system(name), seed)
    return made, ask(made, seed, 60)


def test_nothing_that_the_failure_needs_goes_and_everything_else_does() -> None:
    made, requests = world("gravitino", 3)
    system = made.system

    def fails(facts: Facts, request: Request) -> bool:
        return Oracle(facts, system.model, system.spelling).check(request)

    for request in [r for r in requests if fails(made.facts, r)][:6]:
        facts, small = smallest(made.facts, request, fails)
        assert fails(facts, small)
        for kind in ("entities", "statements", "owners", "memberships", "relations"):
            rows = getattr(facts, kind)
            for row in rows:
                less = replace(facts, **{kind: tuple(r for r in rows if r is not row)})
                assert kind == "entities" or not fails(less, small)
        assert len(facts.statements) <= 6
        assert all(len(s.privileges) == 1 and len(s.principals) == 1 for s in facts.statements)


def test_an_entity_goes_together_with_all_that_lies_below_it() -> None:
    made, requests = world("gravitino", 5)
    kept = next(r.entity for r in made.facts.entities if r.entity.type == "catalog")

    def fails(facts: Facts, request: Request) -> bool:
        return kept in {row.entity for row in facts.entities}

    facts, _ = smallest(made.facts, requests[0], fails)
    assert {row.entity.type for row in facts.entities} == {"catalog", "metalake"}
    assert not facts.statements
    assert not facts.memberships


def test_a_row_whose_parent_was_never_stored_may_stay() -> None:
    system = harness.system("cdap")
    entity, parent = Entity("dataset", "a.d"), Entity("namespace", "a")
    facts = Facts(entities=[EntityRow(entity, parent)])

    def fails(facts: Facts, request: Request) -> bool:
        return bool(facts.entities)

    request = ask(World(system, facts), 1, 1)[0]
    assert list(smallest(facts, request, fails)[0].entities) == [EntityRow(entity, parent)]


def test_statements_and_requests_lose_what_they_do_not_need() -> None:
    made, requests = world("everything", 11)
    dressed = replace(
        requests[0],
        groups=tuple(p for p in made.facts.principals if p.kind == "group"),
        roles=frozenset(),
        subresources=(Entity("label", "a"), Entity("label", "b")),
        attributes={"resource.level": 1},
        lists={"labels": (Entity("label", "a"), Entity("label", "b"))},
        now=NOW,
    )

    def fails(facts: Facts, request: Request) -> bool:
        said = sum(isinstance(s.scope, Where) and bool(s.scope.criteria) for s in facts.statements)
        return said > 0 and len(request.lists.get("labels", ())) > 0

    facts, small = smallest(made.facts, dressed, fails)
    (statement,) = facts.statements
    assert isinstance(statement.scope, Where)
    assert len(statement.scope.criteria) == 1
    assert statement.scope.criteria[0].values == ()
    assert (statement.constraint, statement.valid_from, statement.valid_until) == (None,) * 3
    assert (small.groups, small.roles, small.subresources, small.attributes) == ((), None, (), {})
    assert [len(items) for items in small.lists.values()] == [1]
