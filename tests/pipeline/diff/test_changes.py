"""The differences on a block are exactly the kernel's differing decisions there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from lakewarden.analysis.whatif import difference
from lakewarden.kernel.change import RelationChanged
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.relations import Facts, RelationRow
from lakewarden.kernel.snapshot import Snapshot, compile
from lakewarden.pipeline.diff import rule_evaluator
from lakewarden.pipeline.diff.access_changes import Change, changes
from lakewarden.pipeline.diff.part import Comparison
from lakewarden.pipeline.diff.question import OPERATION, PRIVILEGE, Question
from lakewarden.pipeline.diff.user_numbering import (
    Everyone,
    NumberedPeople,
    Stated,
    UserNumbering,
    everyone,
    with_all_users,
)
from lakewarden.service.system import System
from lakewarden.service.warden import Warden
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import make
from tests.agreement import harness
from tests.agreement.conftest import a_share_of_the_examples
from tests.agreement.harness import SYSTEMS
from tests.pipeline.diff.brute import Fact, allowed, split

seeds = st.integers(0, 2**32 - 1)
every_system = pytest.mark.parametrize("name", SYSTEMS)
few = a_share_of_the_examples(128)  # every user, entity and request is checked


def compiled(system: System, facts: Facts) -> Snapshot:
    return compile(facts, system.model, system.spelling, now=NOW)


def with_all(snapshot: Snapshot, users: Everyone) -> Snapshot:
    coded = snapshot.coded
    return replace(
        snapshot, coded=replace(coded, memberships=with_all_users(coded.memberships, users))
    )


def people_of(snapshot: Snapshot, users: Everyone) -> NumberedPeople:
    numbering = UserNumbering(snapshot.coded.memberships, users)
    return NumberedPeople(numbering, snapshot.coded.ownerships, snapshot.table)


def stated_by(snapshot: Snapshot, users: Everyone) -> Stated:
    table = snapshot.table
    in_force = {id: s for id, s in table.statements.items() if table.in_force(id)}
    return Stated(in_force, people_of(snapshot, users))


def compared(before: Snapshot, after: Snapshot) -> tuple[Everyone, list[Change]]:
    users = everyone(before.coded.memberships, after.coded.memberships)
    old, new = with_all(before, users), with_all(after, users)
    comparison = Comparison(before.model, stated_by(old, users), stated_by(new, users))
    everything = BitMap(range(len(old.coded.tree)))
    return users, list(changes(old, new, comparison, everything))


def triples(found: Iterable[Change], users: Everyone, snapshot: Snapshot) -> set[tuple[bool, Fact]]:
    """The single facts of changes; each may occur only once."""
    told = [
        (part.gained, Fact(users[user], part.question, snapshot.coded.tree.entity(id)))
        for change in found
        for part in change.parts
        for user in BitMap.deserialize(part.users)
        for id in change.ids
    ]
    assert len(told) == len(set(told))
    return set(told)


def check(before: Snapshot, after: Snapshot) -> None:
    users, found = compared(before, after)
    expected = split(allowed(before, users), allowed(after, users))
    assert triples(found, users, before) == expected
    assert counted(found, before) == planned(before, after)


def counted(found: Iterable[Change], snapshot: Snapshot) -> Counter[tuple[str, bool, str]]:
    """The number of stored users and entities for each privilege, direction and type."""
    counts: Counter[tuple[str, bool, str]] = Counter()
    for change in found:
        for part in change.parts:
            if part.question.kind == PRIVILEGE:
                users = BitMap.deserialize(part.users) - BitMap([0])
                pairs = len(users) * len(change.ids)
                counts[part.question.name, part.gained, change.type] += pairs
    return +counts


def planned(before: Snapshot, after: Snapshot) -> Counter[tuple[str, bool, str]]:
    """The same, as counted by `lakewarden plan`."""
    counts: Counter[tuple[str, bool, str]] = Counter()
    for row in difference(before, after).rows:
        counts[row.privilege, row.gained, row.type] += row.pairs
    return +counts


def rewritten(facts: Facts, other: Facts, seed: int) -> Facts:
    """The facts with statements and memberships of another world among them."""
    cut = seed % 5
    others = [replace(s, id=f"other:{s.id}") for s in other.statements[cut:]]
    return replace(
        facts,
        statements=(*facts.statements[cut:], *others),
        memberships=(*facts.memberships[: cut + 1], *other.memberships[cut:]),
        owners=facts.owners[seed % 2 :],
    )


@pytest.mark.by_day(2, turns=True)
@every_system
@few
@given(seed=seeds)
def test_other_statements_people_and_owners_differ_as_the_decisions_do(
    name: str, seed: int
) -> None:
    system = harness.system(name)
    facts = make(system, seed, harness.SMALL).facts
    other = make(system, seed + 1, harness.SMALL).facts
    before = compiled(system, facts)
    try:
        after = compiled(system, rewritten(facts, other, seed))
    except WardenError:
        return  # the other world's statements name entities that are not stored here
    check(before, after)
    check(after, before)


@pytest.mark.by_day(2, turns=True)
@every_system
@few
@given(seed=seeds)
def test_other_statements_alone_differ_as_the_decisions_do(name: str, seed: int) -> None:
    system = harness.system(name)
    facts = make(system, seed, harness.SMALL).facts
    before = compiled(system, facts)
    after = compiled(system, replace(facts, statements=facts.statements[seed % 3 :: 3]))
    check(before, after)
    check(after, before)


@few
@given(seed=seeds)
def test_residues_that_are_discarded_between_questions_change_nothing(seed: int) -> None:
    system = harness.system("datahub")
    facts = make(system, seed, harness.SMALL).facts
    other = make(system, seed + 1, harness.SMALL).facts
    before = compiled(system, facts)
    try:
        after = compiled(system, rewritten(facts, other, seed))
    except WardenError:
        return  # the other world's statements name entities that are not stored here
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rule_evaluator, "_RESIDUES", 4)
        check(before, after)


@pytest.mark.by_day(2, turns=True)
@every_system
@few
@given(seed=seeds)
def test_with_more_classes_than_are_kept_the_same_differs(name: str, seed: int) -> None:
    system = harness.system(name)
    facts = make(system, seed, harness.SMALL).facts
    with harness.form("bitmaps"):
        before = compiled(system, facts)
        after = compiled(system, replace(facts, statements=facts.statements[::2]))
        check(before, after)


def lake() -> Warden:
    """A lake with three tables, in which readers may read one schema."""
    w = Warden("gravitino", clock=lambda: NOW)
    w.add_entities("metalake:lk", "catalog:lk:c", "schema:lk:c.s", "schema:lk:c.p")
    w.add_entities("table:lk:c.s.t", "table:lk:c.s.u", "table:lk:c.p.secret")
    w.add_members("members:lk", "user:ana", "user:ben", "user:eve")
    w.add_members("role:lk:readers", "user:ana", "user:ben")
    use = ["USE_CATALOG", "USE_SCHEMA"]
    w.state(id="use", to="members:lk", privileges=use, on="catalog:lk:c")
    w.state(id="read", to="role:lk:readers", privileges=["SELECT_TABLE"], on="schema:lk:c.s")
    return w


def told(before: Snapshot, after: Snapshot) -> set[tuple[str, ...]]:
    """Gains and losses on tables, with users, numbers, and causes."""
    users, found = compared(before, after)
    return {
        (
            "gain" if part.gained else "lose",
            ",".join(users[user].name for user in BitMap.deserialize(part.users)),
            part.question.name,
            str(len(change.ids)),
            *part.principals,
            *part.statements,
        )
        for change in found
        for part in change.parts
        if change.type == "table" and part.question in LOOKED_AT
    }


LOOKED_AT = (Question(PRIVILEGE, "SELECT_TABLE"), Question(OPERATION, "table.load"))


def test_a_wider_grant_opens_by_the_statement_that_is_wider() -> None:
    w = lake()
    before = w.matrix.snapshot
    w.state(id="read", to="role:lk:readers", privileges=["SELECT_TABLE"], on="catalog:lk:c")
    assert told(before, w.matrix.snapshot) == {
        ("gain", "ana,ben", "SELECT_TABLE", "1", "role:lk:readers", "read"),
        ("gain", "ana,ben", "table.load", "1", "role:lk:readers", "read"),
    }


def test_a_deny_takes_away_by_itself_and_the_rule_as_a_whole_counts() -> None:
    w = lake()
    before = w.matrix.snapshot
    w.state(id="no", effect="deny", to="user:ben", privileges=["USE_SCHEMA"], on="schema:lk:c.s")
    after = w.matrix.snapshot
    assert told(before, after) == {("lose", "ben", "table.load", "2", "user:ben", "no")}
    assert told(after, before) == {("gain", "ben", "table.load", "2", "user:ben", "no")}


def test_whoever_joins_a_role_gains_through_it() -> None:
    w = lake()
    before = w.matrix.snapshot
    w.add_members("role:lk:readers", "user:eve")
    assert told(before, w.matrix.snapshot) == {
        ("gain", "eve", "SELECT_TABLE", "2", "role:lk:readers", "read"),
        ("gain", "eve", "table.load", "2", "role:lk:readers", "read"),
    }


def test_an_owner_gains_through_no_statement() -> None:
    w = lake()
    before = w.matrix.snapshot
    w.set_owner("table:lk:c.p.secret", "user:eve")
    assert ("gain", "eve", "table.load", "1") in told(before, w.matrix.snapshot)


def test_a_rule_that_follows_a_relation_differs_where_it_leads() -> None:
    w = Warden("datahub", clock=lambda: NOW)
    dataset = "dataset:urn:li:dataset:(urn:li:dataPlatform:hive,t,PROD)"
    query, beside = "query:urn:li:query:q", "query:urn:li:query:beside"
    w.add_entities(dataset, query, beside)
    w.add_members("group:urn:li:corpGroup:g", "user:urn:li:corpuser:ana")
    about = RelationRow("subject", w.system.entity(query), w.system.entity(dataset))
    w.apply([RelationChanged(about, True)])
    before = w.matrix.snapshot
    reading = {"privileges": ["VIEW_ENTITY_PAGE"], "on": dataset}
    w.state(id="read", to="user:urn:li:corpuser:ana", **reading)
    found = compared(before, w.matrix.snapshot)[1]
    queries = {
        (part.question.name, before.coded.tree.names[id], part.statements)
        for change in found
        for part in change.parts
        for id in change.ids
        if change.type == "query"
    }
    assert ("query.read", "urn:li:query:q", ("read",)) in queries
    assert {name for _, name, _ in queries} == {"urn:li:query:q"}


def test_another_title_is_no_difference() -> None:
    w = lake()
    before = w.matrix.snapshot
    scope = {"privileges": ["SELECT_TABLE"], "on": "schema:lk:c.s"}
    w.state(id="read", to="role:lk:readers", title="Readers", **scope)
    assert compared(before, w.matrix.snapshot)[1] == []
