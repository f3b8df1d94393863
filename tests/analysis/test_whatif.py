"""The difference between two snapshots agrees exactly with the decisions."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.analysis import cell, tally
from lakewarden.analysis.whatif import Difference, Row, difference
from lakewarden.kernel import incremental_compile
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput, WardenError
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import Snapshot, compile
from lakewarden.service.system import System, load_system
from lakewarden.service.warden import Warden
from lakewarden.testing.changes import change
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import make
from tests.agreement import harness
from tests.agreement.conftest import a_share_of_the_examples
from tests.agreement.harness import SYSTEMS
from tests.analysis.lakes import lake

Allowed = set[tuple[Principal, Entity, str]]

seeds = st.integers(0, 2**32 - 1)
every_system = pytest.mark.parametrize("name", SYSTEMS)
few = a_share_of_the_examples(128)  # every user, entity and privilege is checked


def compiled(system: System, facts: Facts) -> Snapshot:
    return compile(facts, system.model, system.spelling, now=NOW)


def people(*snapshots: Snapshot) -> list[Principal]:
    known = {
        s.coded.memberships.principals[i] for s in snapshots for i in s.coded.memberships.stored
    }
    return sorted(p for p in known if p.kind == USER)


def allowed(snapshot: Snapshot, users: Sequence[Principal]) -> Allowed:
    """Every user, stored entity and privilege that `decide` allows."""
    matrix, tree = Matrix(snapshot), snapshot.coded.tree
    places = [NO_RESOURCE, *(tree.entity(id) for id in tree.stored)]
    return {
        (user, place, privilege)
        for user in users
        for place in places
        for privilege in snapshot.model.privileges
        if matrix.decide(Request(user, privilege, place, NOW)).allow
    }


def counted(found: Difference) -> Counter[tuple[str, bool, str]]:
    """The number of (user, entity) pairs for each privilege, direction and type of entity."""
    counts: Counter[tuple[str, bool, str]] = Counter()
    for row in found.rows:
        counts[row.privilege, row.gained, row.type] += row.pairs
    return +counts


def check(before: Snapshot, after: Snapshot) -> None:
    """Compares the difference with the decisions."""
    users = people(before, after)
    old, new = allowed(before, users), allowed(after, users)
    found = difference(before, after)
    expected: Counter[tuple[str, bool, str]] = Counter()
    for gained, triples in ((True, new - old), (False, old - new)):
        for _, entity, privilege in triples:
            expected[privilege, gained, entity.type] += 1
    assert counted(found) == expected
    assert (found.gained, found.lost) == (len(new - old), len(old - new))
    concerned = {user for user, _, _ in old ^ new}
    assert {user for row in found.rows for user in row.users} == concerned
    assert found.users == len(concerned)
    text_of = [row for row in found.rows if row.users]
    if not any(row.others for row in found.rows):
        assert found.entities == len({entity for _, entity, _ in old ^ new})
    for row in text_of:
        triples = new - old if row.gained else old - new
        mine = {(u, e) for u, e, p in triples if p == row.privilege and u in row.users}
        assert row.others or row.sample in {entity for _, entity in mine}
        assert row.pairs <= len(mine)
        assert {user for user, _ in mine} == set(row.users)


def somebodys(before: Snapshot, after: Snapshot) -> None:
    """Users who are not stored gain and lose only in the rows for strangers."""
    user = Principal(USER, "nobody-knows-me")
    old, new = allowed(before, [user]), allowed(after, [user])
    found = difference(before, after)
    text_of = {(row.privilege, row.gained, row.type) for row in found.rows if row.others}
    expected = {(p, True, e.type) for _, e, p in new - old}
    assert text_of == expected | {(p, False, e.type) for _, e, p in old - new}


def rewritten(facts: Facts, other: Facts, seed: int) -> Facts:
    """The facts with statements and memberships of another world among them."""
    cut = seed % 5
    others = [replace(s, id=f"other:{s.id}") for s in other.statements[cut:]]
    return replace(
        facts,
        statements=(*facts.statements[cut:], *others),
        memberships=(*facts.memberships[: cut + 1], *other.memberships[cut:]),
    )


@pytest.mark.by_day(3)
@every_system
@few
@given(seed=seeds)
def test_other_statements_and_memberships_differ_as_the_decisions_do(name: str, seed: int) -> None:
    system = harness.system(name)
    world = make(system, seed, harness.SMALL)
    other = make(system, seed + 1, harness.SMALL)
    before = compiled(system, world.facts)
    try:
        after = compiled(system, rewritten(world.facts, other.facts, seed))
    except WardenError:
        return  # the other world's statements name entities that are not stored here
    check(before, after)
    check(after, before)
    somebodys(before, after)


@pytest.mark.by_day(3)
@every_system
@few
@given(seed=seeds)
def test_changes_of_every_kind_differ_as_the_decisions_do(name: str, seed: int) -> None:
    system = harness.system(name)
    facts = make(system, seed, harness.SMALL).facts
    before = compiled(system, facts)
    matrix = Matrix(before)
    for step in range(3):
        made, facts = change(system, facts, seed + step)
        matrix = incremental_compile.apply(matrix, [made], now=NOW, revision=step)
    check(before, matrix.snapshot)
    check(before, compiled(system, facts))


@pytest.mark.by_day(3)
@every_system
@few
@given(seed=seeds)
def test_without_classes_the_same_is_counted(name: str, seed: int) -> None:
    system = harness.system(name)
    facts = make(system, seed, harness.SMALL).facts
    before = compiled(system, facts)
    after = compiled(system, replace(facts, statements=facts.statements[::2]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cell, "CLASS_LIMIT", 1)
        check(before, after)


@pytest.mark.by_day(3)
@every_system
@few
@given(seed=seeds)
def test_where_there_are_too_many_parts_the_same_is_counted_by_type(name: str, seed: int) -> None:
    system = harness.system(name)
    facts = make(system, seed, harness.SMALL).facts
    before = compiled(system, facts)
    after = compiled(system, replace(facts, statements=facts.statements[::2]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tally, "PART_LIMIT", 0)
        check(before, after)


@every_system
@few
@given(seed=seeds)
def test_nothing_differs_from_itself(name: str, seed: int) -> None:
    system = harness.system(name)
    facts = make(system, seed, harness.SMALL).facts
    assert difference(compiled(system, facts), compiled(system, facts)) == Difference((), 0, 0)


def text_of(row: Row) -> str:
    verb = "gain" if row.gained else "lose"
    names = ",".join(user.name for user in row.users)
    return f"{names} {verb} {row.privilege} on {row.entities} {row.type} ({row.sample.name})"


def test_a_wider_grant_shows_what_it_adds_and_nothing_else() -> None:
    w = lake()
    before = w.matrix.snapshot
    w.state(id="read", to="role:lk:readers", privileges=["SELECT_TABLE"], on="catalog:lk:c")
    found = difference(before, w.matrix.snapshot)
    assert [text_of(row) for row in found.rows] == [
        "ana,ben gain SELECT_TABLE on 1 catalog (lk:c)",
        "ana,ben gain SELECT_TABLE on 1 schema (lk:c.p)",
        "ana,ben gain SELECT_TABLE on 1 table (lk:c.p.secret)",
    ]
    assert (found.gained, found.lost, found.users, found.entities) == (6, 0, 2, 3)
    assert {row.role_set for row in found.rows} == {(Principal("role", "lk:readers"),)}


def test_who_leaves_a_role_loses_what_it_gave() -> None:
    w = lake()
    before = w.matrix.snapshot
    w.remove_member("role:lk:readers", "user:ben")
    found = difference(before, w.matrix.snapshot)
    assert [text_of(row) for row in found.rows] == [
        "ben lose SELECT_TABLE on 2 table (lk:c.s.t)",
        "ben lose SELECT_TABLE on 1 schema (lk:c.s)",
    ]


def test_a_deny_takes_away_and_lifting_it_gives_back() -> None:
    w = lake()
    before = w.matrix.snapshot
    w.state(id="no", effect="deny", to="user:ben", privileges=["SELECT_TABLE"], on="table:lk:c.s.u")
    after = w.matrix.snapshot
    assert [text_of(row) for row in difference(before, after).rows] == [
        "ben lose SELECT_TABLE on 1 table (lk:c.s.u)"
    ]
    assert [text_of(row) for row in difference(after, before).rows] == [
        "ben gain SELECT_TABLE on 1 table (lk:c.s.u)"
    ]


def test_everybody_includes_whoever_is_not_stored() -> None:
    w = lake()
    before = w.matrix.snapshot
    w.state(id="all", to="all-users", privileges=["SELECT_TABLE"], on="table:lk:c.p.secret")
    (row,) = difference(before, w.matrix.snapshot).rows
    assert row.others
    assert [user.name for user in row.users] == ["ana", "ben"]


def test_what_differs_from_owner_to_owner_is_counted_exactly() -> None:
    first = "urn:li:dataset:(urn:li:dataPlatform:hive,a,PROD)"
    second = "urn:li:dataset:(urn:li:dataPlatform:hive,b,PROD)"
    w = Warden("datahub", clock=lambda: NOW)
    w.add_entities(first, second)
    w.add_members("urn:li:corpGroup:staff", "ana", "ben")
    w.set_owner(first, "ana")
    w.set_owner(second, "urn:li:corpGroup:staff")
    before = w.matrix.snapshot
    w.state(id="own", to="owners", privileges=["EDIT_ENTITY"], where=[])
    found = difference(before, w.matrix.snapshot)
    mine = [row for row in found.rows if row.privilege == "EDIT_ENTITY"]
    assert sum(row.pairs for row in mine) == 3
    assert found.entities == 2


def test_what_was_compared_is_kept_by_nothing_afterwards() -> None:
    """Not even until garbage collection: a plan of each import would keep two snapshots."""
    before, after = (compiled(load_system("cdap"), Facts()) for _ in range(2))
    gc.disable()
    try:
        counts = sys.getrefcount(before), sys.getrefcount(after)
        difference(before, after)
        assert (sys.getrefcount(before), sys.getrefcount(after)) == counts
    finally:
        gc.enable()


def test_snapshots_of_different_models_are_not_compared() -> None:
    empty = compiled(load_system("cdap"), Facts())
    with pytest.raises(BadInput, match="under one model"):
        difference(empty, compiled(load_system("datahub"), Facts()))
