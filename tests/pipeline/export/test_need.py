"""The need of a class, and its users: ties of several parts, which are rare in random worlds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pyroaring import BitMap

from lakewarden.kernel.edges import Edges
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.pipeline.export.need import (
    NOTHING,
    Need,
    NeedMatcher,
    Needs,
    Tie,
    need_of,
    need_text,
)
from lakewarden.pipeline.review.audience import Audience, People
from lakewarden.pipeline.review.reduction import Reduction
from lakewarden.pipeline.review.residue import Admins, Compared, Itself, Owned, Residues
from tests.pipeline.review.whole import compiled, some

SCHEMA = Owned(("schema",), None)
OWN = Owned((), None)
TYPED = Owned((), ("business", ""))
SELF = Itself((), exactly=False)
EXACTLY = Itself(("a", "b"), exactly=True)
BEN = Compared("subject.ben", "==", True)


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    (world,) = some("gravitino", 9_000, 1)
    return compiled(world)


def people_of(snapshot: Snapshot) -> People:
    return People(snapshot.coded.memberships, snapshot.coded.ownerships, snapshot.table)


def test_ties_come_together_where_all_parts_are_needed(snapshot: Snapshot) -> None:
    people, residues = people_of(snapshot), Residues()
    everyone = people.users.everyone
    ben = BitMap([everyone.min()])
    needs = Needs(people, residues, Audience(people, residues, {BEN: ben}))
    own, schema, told = (residues.number(one) for one in (OWN, SCHEMA, BEN))
    either = residues.any_of([schema, told])
    both = residues.all_of([own, either])
    assert needs.of(both) == {
        frozenset({OWN}): ben,
        frozenset({OWN, SCHEMA}): everyone,
    }
    assert needs.of(residues.any_of([both, told])) == {
        NOTHING: ben,
        frozenset({OWN, SCHEMA}): everyone,
    }
    assert needs.of(residues.any_of([own, residues.all_of([schema, own])])) == {
        frozenset({OWN}): everyone
    }
    nobody = residues.all_of([residues.number(Compared("subject.none", "==", True)), own])
    assert needs.of(nobody) == {}


@pytest.mark.parametrize(
    "need",
    [frozenset({TYPED}), frozenset({SCHEMA, OWN}), frozenset({TYPED, SELF})],
    ids=["one", "two levels", "typed and self"],
)
def test_who_meets_a_need_has_every_tie(need: Need) -> None:
    found = 0
    for world in some("gravitino", 9_000, 3):
        snapshot = compiled(world)
        memberships, labels = snapshot.coded.memberships, len(snapshot.coded.ownerships)
        # Groups own much, so some user owns here by one group and there by another.
        edges = [
            (id, owner, owner % labels)
            for id in range(len(snapshot.coded.tree))
            for owner, one in enumerate(memberships.principals)
            if one.kind != "role" and (id + owner) % 3
        ]
        owners = Edges.build(len(snapshot.coded.tree), edges)
        snapshot = replace(snapshot, coded=replace(snapshot.coded, owners=owners))
        found += _as_one_by_one(snapshot, need)
    assert found


def _as_one_by_one(snapshot: Snapshot, need: Need) -> int:
    """Compares with single decisions for every user, tie and entity; the number of matches."""
    people, reduction = people_of(snapshot), Reduction(snapshot, Residues())
    ids = np.array(snapshot.coded.tree.stored, dtype=np.int32)
    met = NeedMatcher(reduction, people).of(need, ids)
    said = {
        (entity, user)
        for exactly, pairs in met.items()
        for entity, principal in zip(*(cells.tolist() for cells in pairs), strict=True)
        for user in people.one(principal, exactly=exactly)
    }
    expected = {
        (id, user)
        for id in ids.tolist()
        for user in people.users.everyone
        if all(_has(snapshot, tie, id, user) for tie in need)
    }
    assert said == expected
    return len(said)


def _has(snapshot: Snapshot, tie: Tie, id: int, user: int) -> bool:
    coded = snapshot.coded
    acts = coded.memberships.acts_as(coded.memberships.principals[user])
    at = int(snapshot.path(tie.path)[id])
    if at < 0:
        return False
    if isinstance(tie, Itself):
        kind = coded.model.principal_kind(coded.tree.entity(at))
        return kind is not None and any(coded.memberships.principals[one] == kind for one in acts)
    return any(
        owner in acts and (tie.types is None or coded.ownerships[label] in tie.types)
        for owner, label in coded.owners.of(at)
    )


def test_a_need_is_read_back_from_its_text() -> None:
    needs: tuple[Need, ...] = (NOTHING, frozenset({OWN}), frozenset({TYPED, SELF, EXACTLY}))
    for need in needs:
        assert need_of(need_text(need)) == need


def test_what_does_not_turn_on_ownership_needs_nothing(snapshot: Snapshot) -> None:
    people, residues = people_of(snapshot), Residues()
    audience = Audience(people, residues)
    number = residues.number(Admins())
    users = audience.stated(number)
    assert Needs(people, residues, audience).of(number) == ({NOTHING: users} if users else {})
