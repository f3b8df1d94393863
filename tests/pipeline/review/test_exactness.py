"""A review agrees with the kernel's decisions: for every user, entity and question.

For groups, it covers the classes in them: any of the entities, and all of them.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pyroaring import BitMap

from lakewarden.kernel.entity import NO_RESOURCE
from lakewarden.kernel.listing import listing
from lakewarden.kernel.model import WAYS
from lakewarden.kernel.principal import USER
from lakewarden.kernel.request import Reason, Request
from lakewarden.pipeline.review.audience import condition_text
from lakewarden.pipeline.review.residue import Free, Given, Itself, Owned, Residue
from lakewarden.testing.world_draft import NOW
from tests.agreement import harness
from tests.pipeline.review.whole import At, Class, Group, Reviewed, grouped, review, some

WORLDS = {"as shipped": 2, "bitmaps": 1}

LIMIT = 1
"""With such a small limit, nearly every matter of a small world exceeds it."""


@pytest.mark.by_day(3)
@pytest.mark.parametrize("name", harness.SYSTEMS)
@pytest.mark.parametrize("form", ["as shipped", "bitmaps"])
def test_a_review_is_exact(name: str, form: str) -> None:
    for world in some(name, 9_000, WORLDS[form]):
        with harness.form(form):
            found = review(world)
            _classes_say_what_is_decided(found)
            _counts_are_those_of_listings(found)
            groups, most, people = grouped(world, LIMIT)
            _groups_are_as_their_classes(found, groups, most)
            assert people == found.people
            _assets_name_who_reaches_them(found)


def _classes_say_what_is_decided(found: Reviewed) -> None:
    snapshot = found.matrix.snapshot
    memberships, tree = snapshot.coded.memberships, snapshot.coded.tree
    users = [id for id in memberships.stored if memberships.principals[id].kind == "user"]
    for type, number, question in found.questions():
        classes = found.classes.get((type, number), [])
        ids = list(snapshot.of_type(type)) if type else [0]
        assert sum(len(one.entities) for one in classes) <= len(ids) == found.census[type]
        for id in ids:
            here = [one for one in classes if id in one.entities]
            assert len(here) <= 1
            entity = tree.entity(id) if type else NO_RESOURCE
            kind = snapshot.model.principal_kind(entity)
            for user in users:
                request = Request(memberships.principals[user], question.name, entity, NOW)
                decision = found.unowned.decide(request)
                beyond = memberships.is_too_nested(memberships.principals[user])
                assert decision.reason is not Reason.ERROR or beyond, found.unowned.errors
                said = bool(here) and user in here[0].users
                is_self = kind is not None and kind in snapshot.subject(request.principal).named
                if said != decision.allow:
                    opens = here[0].opens if here else ()
                    how = "self" if is_self else "self at"
                    asked = f"{question.name} on {entity} by {request.principal}"
                    assert decision.allow, asked
                    assert any(how in way for way in opens), asked
                if found.matrix.decide(request).allow != decision.allow:
                    assert here[0].opens, f"{question.name} on {entity} by {request.principal}"


def _assets_name_who_reaches_them(found: Reviewed) -> None:
    snapshot, model = found.matrix.snapshot, found.model
    memberships, tree = snapshot.coded.memberships, snapshot.coded.tree
    users = [id for id in sorted(memberships.stored) if memberships.principals[id].kind == USER]
    assert found.people.keys() == set().union(*(snapshot.of_type(t) for t in found.census if t))
    for id, ways in found.people.items():
        for way, named in zip(WAYS, ways, strict=True):
            operation = model.reaching(way, tree.entity(id).type)
            assert (operation is None) == (named is None)
            for user in users:
                if operation is None or named is None:
                    continue
                request = Request(memberships.principals[user], operation, tree.entity(id), NOW)
                assert (user in named) == found.matrix.decide(request).allow, request


def _counts_are_those_of_listings(found: Reviewed) -> None:
    snapshot = found.matrix.snapshot
    memberships = snapshot.coded.memberships
    for type, number, question in found.questions():
        classes = found.classes.get((type, number), [])
        gains = found.gains.get((type, number), {})
        for user in memberships.stored:
            principal = memberships.principals[user]
            if principal.kind != "user":
                continue
            request = Request(principal, question.name, NO_RESOURCE, NOW)
            counted = sum(len(one.entities) for one in classes if user in one.users)
            counted += gains.get(user, 0)
            if type:
                expected = len(listing(found.matrix, request, type=type))
            else:
                expected = int(found.matrix.decide(request).allow)
            assert counted == expected, f"{question.name} on {type} by {principal}"


def _groups_are_as_their_classes(
    exact: Reviewed,
    groups: Mapping[At, Mapping[bytes, Group]],
    most: Mapping[At, Mapping[int, int]],
) -> None:
    assert groups
    for at, known in groups.items():
        entities = BitMap.union(BitMap(), *(group.entities for group in known.values()))
        assert len(entities) == exact.census[at[0]]
        assert sum(len(group.entities) for group in known.values()) == len(entities)
        for group in known.values():
            _is_as_its_classes(group, exact.classes.get(at, []))
        for user, n in exact.gains.get(at, {}).items():
            assert n <= most[at][user] <= len(entities)


def _is_as_its_classes(group: Group, classes: list[Class]) -> None:
    here = [one for one in classes if one.entities & group.entities]
    covered = sum(len(one.entities & group.entities) for one in here)
    nobody = [BitMap()] if covered < len(group.entities) else []
    assert group.some == BitMap.union(BitMap(), *(one.users for one in here))
    assert group.every == BitMap.intersection(*(one.users for one in here), *nobody)
    opened = {way for one in here for way in one.opens}
    said = {condition_text(atom) for atom in group.atoms if isinstance(atom, (Owned, Itself))}
    assert {part for way in opened for part in way.split(" and ")} <= said
    for one in here:
        assert _statements(one.atoms) <= _statements(group.atoms)


def _statements(atoms: frozenset[Residue]) -> set[str]:
    return {
        id for atom in atoms if isinstance(atom, (Given, Free, Owned)) for id in atom.statements
    }
