"""A review says what the kernel decides: of every user, on every entity, for every question."""

from __future__ import annotations

import pytest

from lakewarden.kernel.entity import NO_RESOURCE
from lakewarden.kernel.listing import listing
from lakewarden.kernel.request import Reason, Request
from lakewarden.testing.draft import NOW
from tests.agreement import harness
from tests.pipeline.review.whole import Reviewed, review, some

WORLDS = 2


@pytest.mark.parametrize("name", harness.SYSTEMS)
@pytest.mark.parametrize("form", ["as shipped", "bitmaps"])
def test_a_review_is_exact(name: str, form: str) -> None:
    for world in some(name, 9_000, WORLDS):
        with harness.form(form):
            found = review(world)
            _classes_say_what_is_decided(found)
            _counts_are_those_of_listings(found)


def _classes_say_what_is_decided(found: Reviewed) -> None:
    snapshot = found.matrix.snapshot
    acting, tree = snapshot.coded.acting, snapshot.coded.tree
    users = [id for id in acting.stored if acting.principals[id].kind == "user"]
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
                request = Request(acting.principals[user], question.name, entity, NOW)
                decision = found.unowned.decide(request)
                beyond = acting.is_beyond(acting.principals[user])
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


def _counts_are_those_of_listings(found: Reviewed) -> None:
    snapshot = found.matrix.snapshot
    acting = snapshot.coded.acting
    for type, number, question in found.questions():
        classes = found.classes.get((type, number), [])
        gains = found.gains.get((type, number), {})
        for user in acting.stored:
            principal = acting.principals[user]
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
