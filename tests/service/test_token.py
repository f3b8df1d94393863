"""Tokens: who makes them, how long they are good, what is kept of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from lakewarden.kernel.errors import BadInput, LimitExceeded, Unknown
from lakewarden.service import realms, token
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.plane import Plane
from lakewarden.service.realm import Realm
from lakewarden.service.token import DAY, LONGEST, PREFIX, Issued, digest
from lakewarden.testing.draft import NOW
from tests.service.planes import ADMIN, EVE, LAKE, opened


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[Plane]:
    with opened(tmp_path) as plane:
        yield plane


def made(plane: Plane, actor: Actor, user: str, **how: object) -> Issued:
    found = plane.write(actor, lambda desk: token.create(desk, user, **how))  # type: ignore[arg-type]
    assert isinstance(found, Issued)
    return found


def test_a_token_has_256_random_bits_and_is_kept_as_a_digest_alone(plane: Plane) -> None:
    one, other = made(plane, EVE, "eve"), made(plane, EVE, "eve")
    assert one.text != other.text
    assert one.text.startswith(PREFIX)
    assert len(one.text.removeprefix(PREFIX)) == 43
    assert plane.state.tokens[digest(one.text)] == one.token
    assert one.text not in str(plane.state.tokens)
    with plane.reading() as reading:
        assert one.text not in str([row.body for row in reading.audit()])


def test_a_token_is_good_for_a_day_unless_said_otherwise(plane: Plane) -> None:
    assert made(plane, EVE, "eve").token.expires == NOW + DAY
    assert made(plane, EVE, "eve", seconds=60.0).token.expires == NOW + 60


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_a_token_without_a_future_is_refused(plane: Plane, seconds: float) -> None:
    with pytest.raises(BadInput, match="more than 0 seconds"):
        made(plane, EVE, "eve", seconds=seconds)


def test_a_token_for_ever_is_refused(plane: Plane) -> None:
    made(plane, EVE, "eve", seconds=LONGEST)
    for seconds in (LONGEST + 1, float("inf")):
        with pytest.raises(LimitExceeded):
            made(plane, EVE, "eve", seconds=seconds)


def test_a_title_is_short_and_readable(plane: Plane) -> None:
    made(plane, EVE, "eve", title="x" * 200)
    with pytest.raises(LimitExceeded):
        made(plane, EVE, "eve", title="x" * 201)
    with pytest.raises(BadInput):
        made(plane, EVE, "eve", title="a\nb")


def test_a_token_for_one_realm_is_of_a_realm_of_the_directory(plane: Plane) -> None:
    assert made(plane, EVE, "eve", realm=LAKE).token.realm == LAKE
    with pytest.raises(Unknown):
        made(plane, EVE, "eve", realm="absent")
    plane.write(ADMIN, lambda d: realms.create(d, Realm("far", "gravitino", "other")))
    with pytest.raises(BadInput, match="in another directory"):
        made(plane, EVE, "eve", realm="far")


def test_only_administrators_make_and_see_those_of_others(plane: Plane) -> None:
    denied = plane.write(EVE, lambda desk: token.create(desk, "ana"))
    assert isinstance(denied, Denied)
    made(plane, ADMIN, "ana")
    assert isinstance(token.listed(plane.state, EVE, "main", "ana", NOW), Denied)
    assert isinstance(token.listed(plane.state, EVE, "main", None, NOW), Denied)
    found = token.listed(plane.state, ADMIN, "main", None, NOW)
    assert not isinstance(found, Denied)
    assert [one.user for one in found] == ["ana"]


def test_one_s_own_are_listed_the_oldest_first_and_without_those_that_expired(
    plane: Plane,
) -> None:
    made(plane, EVE, "eve", seconds=10.0, title="short")
    made(plane, EVE, "eve", title="long")
    now = token.listed(plane.state, EVE, "main", "eve", NOW)
    later = token.listed(plane.state, EVE, "main", "eve", NOW + 10)
    assert not isinstance(now, Denied)
    assert not isinstance(later, Denied)
    assert {one.title for one in now} == {"short", "long"}
    assert [one.title for one in later] == ["long"]


def test_a_revoked_token_is_gone_at_once_and_for_other_processes_too(plane: Plane) -> None:
    issued = made(plane, EVE, "eve")
    other = Plane(plane.store, clock=plane.clock)
    other.open()
    assert plane.write(EVE, lambda desk: token.revoke(desk, issued.token.id)) is None
    assert plane.state.tokens == {}
    assert other.catch_up().tokens == {}


def test_somebody_else_s_token_and_none_at_all_are_refused_alike(plane: Plane) -> None:
    issued = made(plane, ADMIN, "ana")
    refused = [plane.write(EVE, partial(token.revoke, id=id)) for id in (issued.token.id, "t0")]
    assert isinstance(refused[0], Denied)
    assert refused[0] == refused[1]
    assert len(plane.state.tokens) == 1


def test_revoking_twice_is_the_same_as_once_and_other_directories_are_left_alone(
    plane: Plane,
) -> None:
    plane.write(ADMIN, lambda d: realms.create(d, Realm("far", "gravitino", "other")))
    issued = made(plane, ADMIN, "ana", directory="other")
    id = issued.token.id
    assert plane.write(ADMIN, lambda desk: token.revoke(desk, id)) is None
    assert len(plane.state.tokens) == 1
    for _ in range(2):
        assert plane.write(ADMIN, lambda desk: token.revoke(desk, id, "other")) is None
    assert plane.state.tokens == {}


def test_one_s_own_token_may_be_revoked_twice_and_nobody_else_learns_of_it(plane: Plane) -> None:
    own, other = made(plane, EVE, "eve").token.id, made(plane, ADMIN, "ana").token.id
    for _ in range(2):
        assert plane.write(EVE, partial(token.revoke, id=own)) is None
    refused = [plane.write(EVE, partial(token.revoke, id=other))]
    assert plane.write(ADMIN, partial(token.revoke, id=other)) is None
    refused += [plane.write(EVE, partial(token.revoke, id=id)) for id in (other, "t" + "0" * 24)]
    assert isinstance(refused[0], Denied)
    assert refused[0] == refused[1] == refused[2]
    namesake = Actor("eve", directory="other")
    assert isinstance(plane.write(namesake, partial(token.revoke, id=own)), Denied)
