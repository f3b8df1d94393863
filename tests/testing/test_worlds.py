"""Random worlds are well formed, reproducible, and cover every feature."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import get_args

import pytest

from lakewarden.kernel import expression as rules
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.expression import Anyone, Nobody, Node
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import GROUP, IMPLIED, USER
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement import Condition, Effect, Matching, On, Owners, Scope, Where
from lakewarden.kernel.statement_file import read_statements, write_statement
from lakewarden.testing.questions import ask
from lakewarden.testing.world_draft import ANY_SUBRESOURCE, NOW, operation_class
from lakewarden.testing.worlds import Size, World, make
from tests.agreement.harness import SYSTEMS, system
from tests.oracle import oracle as oracles
from tests.oracle.oracle import Oracle

every_system = pytest.mark.parametrize("name", SYSTEMS)


def some(name: str, count: int, first: int = 0) -> Iterator[World]:
    return (make(system(name), seed) for seed in range(first, first + count))


@pytest.mark.by_day(4)
@every_system
def test_a_world_is_made_of_rows_that_the_kernel_takes(name: str) -> None:
    for world in some(name, 20):
        model, spelling = world.system.model, world.system.spelling
        compile(world.facts, model, spelling, now=NOW, revision=1)


@every_system
def test_every_name_is_of_its_system_s_grammar(name: str) -> None:
    for world in some(name, 20):
        spelling = world.system.spelling
        for row in world.facts.entities:
            assert spelling.parse(row.entity.type, row.entity.name) == row.entity


@every_system
def test_every_statement_can_be_written_down_and_read_back(name: str) -> None:
    for world in some(name, 20):
        kept = [s for s in world.facts.statements if s.owners != Owners(frozenset())]
        tables = [write_statement(s) for s in kept]
        read = read_statements(
            tables, world.system.model, world.system.spelling, "world", builtin=True
        )
        assert list(read) == kept


@every_system
def test_nobody_is_stored_twice_and_everybody_is_named(name: str) -> None:
    for world in some(name, 20):
        people = world.facts.principals
        assert len(set(people)) == len(people)
        assert {p.kind for p in people} >= {USER, GROUP}
        assert all(p.name for p in people)
        assert IMPLIED not in {p.kind for p in people}


def test_a_world_is_of_about_the_size_that_was_asked_for() -> None:
    for name in ("gravitino", "cdap", "datahub"):
        sizes = [len(world.facts.entities) for world in some(name, 10)]
        assert all(12 <= size <= 40 for size in sizes)
        large = make(system(name), 1, Size(entities=60, users=15, groups=6, roles=6))
        assert 45 <= len(large.facts.entities) <= 80
        assert len([p for p in large.facts.principals if p.kind == USER]) >= 10


_SHOWN = """
from lakewarden.testing.questions import ask
from lakewarden.testing.worlds import make
from tests.agreement.harness import system
for name in ("gravitino", "datahub", "everything"):
    world = make(system(name), 5)
    facts = world.facts
    print([sorted(map(repr, rows)) for rows in (facts.entities, facts.owners)])
    print([[s.id, sorted(s.privileges), sorted(s.principals), s.scope] for s in facts.statements])
    print([(r.principal, r.operation, r.target, sorted(r.roles or ())) for r in ask(world, 7, 20)])
"""


def test_the_same_seed_makes_the_same_world_in_every_process() -> None:
    def shown(hash_seed: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", _SHOWN],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    assert shown("1") == shown("2")


# --- coverage of the worlds ---


def constant(node: Node) -> bool:
    """Whether the rule's verdict is the same for everybody."""
    match node:
        case Anyone() | Nobody():
            return True
        case rules.Or(parts):
            return any(isinstance(part, Anyone) for part in parts)
        case _:
            return False


def contested(model: Model) -> set[str]:
    """The classes of operations with verdicts that may differ."""
    return {
        operation_class(operation.name)
        for operation in model.operations.values()
        if not any(constant(rule) for rule in operation.rules.values())
    }


def answers(name: str, worlds: int) -> Iterator[tuple[World, Request, bool]]:
    for seed, world in enumerate(some(name, worlds)):
        oracle = Oracle(world.facts, world.system.model, world.system.spelling)
        for request in ask(world, seed, 40):
            try:
                yield world, request, oracle.check(request)
            except WardenError:
                continue


@pytest.mark.by_day(4)
@every_system
def test_each_class_of_operations_is_allowed_and_denied_often_enough(name: str) -> None:
    verdicts: dict[str, Counter[bool]] = defaultdict(Counter)
    kinds = contested(system(name).model)
    for _, request, allowed in answers(name, max(60, 2 * len(kinds))):
        verdicts[operation_class(request.operation)][allowed] += 1
    for kind in kinds:
        counts = verdicts[kind]
        share = counts[True] / (counts[True] + counts[False])
        assert 0.05 <= share <= 0.95, (kind, counts)


@pytest.mark.nightly
def test_every_form_of_a_rule_comes_out_true_and_false(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[tuple[type, bool]] = set()
    meets = oracles._Question.meets

    def noted(self: oracles._Question, node: Node, e: Entity) -> bool:
        truth = meets(self, node, e)
        seen.add((type(node), truth))
        return truth

    monkeypatch.setattr(oracles._Question, "meets", noted)
    list(answers("everything", 60))
    forms = {(node, truth) for node in get_args(Node) for truth in (True, False)}
    assert forms - seen == {(Anyone, False), (Nobody, True)}


def leaves(scope: Scope) -> Iterator[str]:
    yield type(scope).__name__
    if isinstance(scope, Where):
        for criterion in scope.criteria:
            yield f"{criterion.field} {criterion.condition.value}"


@pytest.mark.parametrize("name", ["datahub", "everything"])
def test_every_field_is_compared_in_every_way(name: str) -> None:
    fields = system(name).model.fields
    granting = [name for name, field in fields.items() if field.grants]
    wanted = {f"{field} {condition.value}" for field in granting for condition in Condition}
    for world in some(name, 120):
        wanted -= {leaf for s in world.facts.statements for leaf in leaves(s.scope)}
        if not wanted:
            return
    assert wanted == set()


@pytest.mark.parametrize(
    ("name", "scopes"),
    [
        ("gravitino", {"On", "Anything"}),
        ("cdap", {"On", "Matching", "Anything"}),
        ("datahub", {"On", "Where", "Anything"}),
        ("everything", {"On", "Matching", "Where", "Anything"}),
    ],
)
def test_every_kind_of_scope_that_a_model_admits_is_used(name: str, scopes: set[str]) -> None:
    found = {type(s.scope).__name__ for world in some(name, 30) for s in world.facts.statements}
    assert found == scopes


def test_a_deny_appears_where_the_model_has_one_and_nowhere_else() -> None:
    for name in SYSTEMS:
        effects = {s.effect for world in some(name, 20) for s in world.facts.statements}
        assert (Effect.DENY in effects) is system(name).model.denies


def features(world: World, request: Request) -> Iterator[str]:
    """The special features of a request."""
    model, stored = world.system.model, {row.entity for row in world.facts.entities}
    for part in ("targets", "lists", "attributes", "subresources", "groups"):
        if getattr(request, part):
            yield part
    if request.roles is not None:
        yield "active roles" if request.roles else "no active role"
    if ANY_SUBRESOURCE in request.subresources:
        yield "any sub-resource"
    if request.operation not in model.operations:
        yield "bare privilege" if request.operation in model.privileges else "older name"
    if request.principal not in world.facts.principals:
        yield "stranger"
    if request.principal.kind != USER:
        yield "no user"
    if request.target == NO_RESOURCE:
        yield "no resource"
    elif not request.target.name:
        yield "type alone"
    elif request.target not in stored:
        yield "not stored, judged" if model.judged(request.target.type) else "not stored, denied"


def statement_features(world: World) -> Iterator[str]:
    for s in world.facts.statements:
        if s.owners is not None:
            typed = "any type" if s.owners.types is None else "types" if s.owners.types else "none"
            yield f"owners of {typed}"
        if s.constraint is not None:
            yield "constraint"
        if not s.active:
            yield "inactive"
        for edge in (s.valid_from, s.valid_until):
            if edge is not None:
                yield f"window {(edge > NOW) - (edge < NOW)}"
        if any(word in world.system.model.spelled for word in s.privileges):
            yield "older name of a privilege"
        for principal in s.principals:
            yield f"to {principal.kind}"
        if isinstance(s.scope, (On, Matching)) and isinstance(s.scope, On):
            stored = s.scope.entity in {row.entity for row in world.facts.entities}
            yield "on what is stored" if stored else "on what is only named"


@pytest.mark.nightly
def test_the_questions_bring_everything_that_a_request_may_bring() -> None:
    seen: Counter[str] = Counter()
    for world, request, allowed in answers("everything_open", 80):
        seen.update(f"{feature}: {allowed}" for feature in features(world, request))
    wanted = {
        "targets",
        "lists",
        "attributes",
        "subresources",
        "groups",
        "active roles",
        "no active role",
        "any sub-resource",
        "bare privilege",
        "older name",
        "stranger",
        "no user",
        "no resource",
        "type alone",
        "not stored, judged",
    }
    assert {f"{feature}: {verdict}" for feature in wanted for verdict in (True, False)} <= set(seen)
    assert any("not stored, denied" in features(w, r) for w, r, _ in answers("gravitino", 40))


def test_the_statements_bring_everything_that_a_statement_may_bring() -> None:
    wanted = {
        "owners of any type",
        "owners of types",
        "owners of none",
        "constraint",
        "inactive",
        "window -1",
        "window 0",
        "window 1",
        "older name of a privilege",
        "to user",
        "to group",
        "to role",
        "to implied",
        "on what is stored",
        "on what is only named",
    }
    for world in some("everything", 60):
        wanted -= set(statement_features(world))
        if not wanted:
            return
    assert wanted == set()


def test_some_worlds_have_moved_entities_cycles_and_lonely_ones() -> None:
    seen: Counter[str] = Counter()
    wanted = ("moved", "lonely", "cycle", "nested groups", "implied member")
    for world in some("everything", 150):
        spelling = world.system.spelling
        oracle = Oracle(world.facts, world.system.model, spelling)
        for entity, parent in world.facts.entities:
            spelled = spelling.parent(entity)
            seen["moved"] += spelled is not None and spelled != parent
            seen["lonely"] += parent is not None and parent not in oracle.stored
            above = oracle.ancestors(entity)
            seen["cycle"] += bool(above) and oracle.stored.get(above[-1]) is not None
        groups = {(m.member.kind, m.of.kind) for m in world.facts.memberships}
        seen["nested groups"] += (GROUP, GROUP) in groups
        seen["implied member"] += any(kind == IMPLIED for kind, _ in groups)
        if all(seen[what] for what in wanted):
            return
    assert all(seen[what] for what in wanted), seen
