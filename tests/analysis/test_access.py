"""The effect that a plan reports agrees exactly with the decisions about every operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.analysis import access as module
from lakewarden.analysis.access import Access, HeldChange, Reached, access
from lakewarden.analysis.tally import SOMEBODY
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.incremental_compile import apply
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.model import WAYS
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import compile
from lakewarden.service.system import System
from lakewarden.service.warden import Warden
from lakewarden.testing.changes import change
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import make
from tests.agreement import harness
from tests.agreement.conftest import a_share_of_the_examples
from tests.agreement.harness import SYSTEMS
from tests.analysis.lakes import lake

Allowed = set[tuple[Principal, Entity, str]]

few = a_share_of_the_examples(512)  # every user, entity and operation is checked


def allowed(matrix: Matrix, users: Sequence[Principal]) -> Allowed:
    """Every user, stored entity and operation that `decide` allows."""
    tree = matrix.snapshot.coded.tree
    places = [NO_RESOURCE, *(tree.entity(id) for id in tree.stored)]
    operations = matrix.snapshot.model.operations.values()
    return {
        (user, place, operation.name)
        for place in places
        for operation in operations
        if operation.rule_or_none(place.type) is not None
        for user in users
        if matrix.decide(Request(user, operation.name, place, NOW)).allow
    }


def check(before: Matrix, after: Matrix) -> None:
    """Compares the reported effect with the decisions."""
    memberships = [matrix.snapshot.coded.memberships for matrix in (before, after)]
    stored = {one.principals[id] for one in memberships for id in one.stored}
    users = sorted(p for p in stored if p.kind == USER)
    old, new = (allowed(matrix, [*users, SOMEBODY]) for matrix in (before, after))
    found = access(before, after, NOW)
    assert found.is_whole
    expected: Counter[tuple[str, bool, str]] = Counter()
    others = set()
    for gained, triples in ((True, new - old), (False, old - new)):
        for user, entity, operation in triples:
            if user == SOMEBODY:
                others.add((operation, gained, entity.type))
            else:
                expected[operation, gained, entity.type] += 1
    text_of: Counter[tuple[str, bool, str]] = Counter()
    for one in found.reached:
        for operation in one.operations:
            text_of[operation, one.gained, one.type] += one.pairs
    assert +text_of == expected
    assert others == {
        (operation, one.gained, one.type)
        for one in found.reached
        if one.others
        for operation in one.operations
    }
    concerned = {user for user, _, _ in old ^ new} - {SOMEBODY}
    assert found.users == len(concerned)
    assert {user for one in found.reached for user in one.users} == concerned
    assert found.entities == len({entity for _, entity, _ in old ^ new})
    assert (found.gained, found.lost) == (
        sum(count for (_, gained, _), count in expected.items() if gained),
        sum(count for (_, gained, _), count in expected.items() if not gained),
    )


@pytest.mark.by_day(3)
@pytest.mark.parametrize("name", SYSTEMS)
@few
@given(seed=st.integers(0, 2**32 - 1))
def test_what_changes_in_effect_is_what_the_decisions_say(name: str, seed: int) -> None:
    system = harness.system(name)
    before, after = _changed(system, seed)
    check(before, after)


def _changed(system: System, seed: int) -> tuple[Matrix, Matrix]:
    """A small world, and the same with fewer statements and memberships and one change."""
    facts = make(system, seed, harness.SMALL).facts
    fewer = replace(
        facts, statements=facts.statements[seed % 2 :: 2], memberships=facts.memberships[seed % 3 :]
    )
    matrices = [
        Matrix(compile(one, system.model, system.spelling, now=NOW)) for one in (facts, fewer)
    ]
    made, _ = change(system, fewer, seed)
    kinds = ("Statement", "Membership", "Principal", "EntityAdded", "EntityDropped")
    is_stated = type(made).__name__.startswith(kinds)
    after = apply(matrices[1], [made], now=NOW, revision=1) if is_stated else matrices[1]
    return (matrices[0], after) if seed % 5 else (after, matrices[0])


def text_of(one: Reached) -> str:
    verb = "+" if one.gained else "-"
    names = ",".join(user.name for user in one.users)
    return f"{verb} {names} {'+'.join(one.ways)} {one.entities} {one.type} ({one.sample.name})"


def line(found: Access, privilege: str, type: str) -> HeldChange:
    (one,) = [h for h in found.held if privilege in h.privileges and h.type == type]
    return one


def test_a_grant_shows_the_ways_that_it_opens() -> None:
    w = lake()
    before = w.matrix
    w.add_members("members:lk", "user:ana", "user:ben")
    w.state(
        id="use", to="role:lk:readers", privileges=["USE_CATALOG", "USE_SCHEMA"], on="metalake:lk"
    )
    found = access(before, w.matrix, NOW)
    ways = [text_of(one) for one in found.reached if one.ways]
    assert "+ ana,ben see+read 2 table (lk:c.s.t)" in ways
    assert "+ ana,ben see 2 schema (lk:c.s)" in ways
    counts = {(w.way, w.gained): (w.users, w.entities) for w in found.ways}
    assert counts["read", True] == (2, 2)
    assert counts["change", True] == counts["read", False] == (0, 0)


def test_what_lacks_a_gate_has_no_effect_yet_and_says_what_is_missing() -> None:
    w = lake()
    w.add_members("members:lk", "user:ana")
    w.state(id="use", to="user:ana", privileges=["USE_CATALOG", "USE_SCHEMA"], on="metalake:lk")
    w.retract("read")
    before = w.matrix
    w.state(id="read", to="role:lk:readers", privileges=["SELECT_TABLE"], on="schema:lk:c.s")
    found = access(before, w.matrix, NOW)
    assert [text_of(one) for one in found.reached if one.ways] == [
        "+ ana see+read 2 table (lk:c.s.t)"
    ]
    assert found.users == 1
    (idle,) = line(found, "SELECT_TABLE", "table").idle
    assert [user.name for user in idle.users] == ["ben"]
    assert {(need.privilege, need.entity.name) for need in idle.lacks} == {
        ("MEMBER", "lk"),
        ("USE_CATALOG", "lk:c"),
        ("USE_SCHEMA", "lk:c.s"),
    }
    assert line(found, "SELECT_TABLE", "schema").technical


def test_what_somebody_could_do_already_has_no_effect_and_lacks_nothing() -> None:
    w = lake()
    w.add_members("members:lk", "user:ana", "user:ben")
    w.state(id="use", to="user:ana", privileges=["USE_CATALOG", "USE_SCHEMA"], on="metalake:lk")
    w.state(id="change", to="user:ana", privileges=["MODIFY_TABLE"], on="metalake:lk")
    before = w.matrix
    w.retract("read")
    found = access(before, w.matrix, NOW)
    assert (found.reached, found.users) == ((), 0)
    (idle,) = line(found, "SELECT_TABLE", "table").idle
    assert ([user.name for user in idle.users], idle.lacks) == (["ana", "ben"], ())


def test_more_than_is_compared_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    w = lake()
    before = w.matrix
    w.add_members("members:lk", "user:ana")
    w.state(
        id="use", to="role:lk:readers", privileges=["USE_CATALOG", "USE_SCHEMA"], on="metalake:lk"
    )
    monkeypatch.setattr(module, "LISTINGS", 30)
    monkeypatch.setattr(module, "JUDGED", 0)
    found = access(before, w.matrix, NOW)
    assert not found.is_whole
    assert "+ ana see+read 2 table (lk:c.s.t)" in [
        text_of(one) for one in found.reached if one.ways
    ]
    assert all(one.idle == () for one in found.held)


def test_many_sets_of_entities_are_one_line_with_the_same_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    datasets = [f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)" for name in "abc"]
    w = Warden("datahub", clock=lambda: NOW)
    w.add_entities(*datasets)
    w.add_members("urn:li:corpGroup:staff", "ana", "ben", "cid")
    for dataset, owner in zip(datasets, ("ana", "ben", "cid"), strict=True):
        w.set_owner(dataset, owner)
    before = w.matrix
    w.state(id="own", to="owners", privileges=["DATA_READ_ONLY"], where=[])
    split = access(before, w.matrix, NOW)
    monkeypatch.setattr(module, "SETS", 1)
    together = access(before, w.matrix, NOW)
    for found, lines in ((split, 3), (together, 1)):
        mine = [one for one in found.reached if "iceberg.data.read" in one.operations]
        assert len(mine) == lines
        assert sum(one.pairs for one in mine) == 3
    assert [way for way in WAYS if together.ways == split.ways] == list(WAYS)
