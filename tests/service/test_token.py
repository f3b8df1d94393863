"""Tokens: who may create them, their lifetime, and their stored form."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lakewarden.kernel.errors import BadInput, LimitExceeded, Unknown
from lakewarden.service import realms, token
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.realm import DIRECTORY, Realm
from lakewarden.service.token import DAY, LONGEST, PREFIX, Issued, digest
from lakewarden.testing.world_draft import NOW
from tests.service.opened_services import ADMIN, EVE, LAKE, opened


@pytest.fixture
def service(tmp_path: Path) -> Iterator[DecisionService]:
    with opened(tmp_path) as service:
        yield service


def made(
    service: DecisionService,
    actor: Actor,
    user: str,
    directory: str = DIRECTORY,
    **terms: Any,
) -> Issued:
    found = service.write(
        actor,
        lambda transaction: token.create(transaction, user, directory, token.Terms(**terms)),
    )
    assert isinstance(found, Issued)
    return found


def test_a_token_has_256_random_bits_and_is_kept_as_a_digest_alone(
    service: DecisionService,
) -> None:
    one, other = made(service, EVE, "eve"), made(service, EVE, "eve")
    assert one.text != other.text
    assert one.text.startswith(PREFIX)
    assert len(one.text.removeprefix(PREFIX)) == 43
    assert service.state.tokens[digest(one.text)] == one.token
    assert one.text not in str(service.state.tokens)
    with service.reading() as reading:
        assert one.text not in str([row.body for row in reading.audit()])


def test_a_token_is_good_for_a_day_unless_said_otherwise(service: DecisionService) -> None:
    assert made(service, EVE, "eve").token.expires == NOW + DAY
    assert made(service, EVE, "eve", seconds=60.0).token.expires == NOW + 60


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_a_token_without_a_future_is_refused(service: DecisionService, seconds: float) -> None:
    with pytest.raises(BadInput, match="more than 0 seconds"):
        made(service, EVE, "eve", seconds=seconds)


def test_a_token_for_ever_is_refused(service: DecisionService) -> None:
    made(service, EVE, "eve", seconds=LONGEST)
    for seconds in (LONGEST + 1, float("inf")):
        with pytest.raises(LimitExceeded):
            made(service, EVE, "eve", seconds=seconds)


def test_a_title_is_short_and_readable(service: DecisionService) -> None:
    made(service, EVE, "eve", title="x" * 200)
    with pytest.raises(LimitExceeded):
        made(service, EVE, "eve", title="x" * 201)
    with pytest.raises(BadInput):
        made(service, EVE, "eve", title="a\nb")


def test_a_token_for_one_realm_is_of_a_realm_of_the_directory(service: DecisionService) -> None:
    assert made(service, EVE, "eve", realm=LAKE).token.realm == LAKE
    with pytest.raises(Unknown):
        made(service, EVE, "eve", realm="absent")
    service.write(ADMIN, lambda d: realms.create(d, Realm("far", "gravitino", "other")))
    with pytest.raises(BadInput, match="in another directory"):
        made(service, EVE, "eve", realm="far")


def test_only_administrators_make_and_see_those_of_others(service: DecisionService) -> None:
    denied = service.write(EVE, lambda transaction: token.create(transaction, "ana"))
    assert isinstance(denied, Denied)
    made(service, ADMIN, "ana")
    assert isinstance(token.listed(service.state, EVE, "main", "ana", NOW), Denied)
    assert isinstance(token.listed(service.state, EVE, "main", None, NOW), Denied)
    found = token.listed(service.state, ADMIN, "main", None, NOW)
    assert not isinstance(found, Denied)
    assert [one.user for one in found] == ["ana"]


def test_one_s_own_are_listed_the_oldest_first_and_without_those_that_expired(
    service: DecisionService,
) -> None:
    made(service, EVE, "eve", seconds=10.0, title="short")
    made(service, EVE, "eve", title="long")
    now = token.listed(service.state, EVE, "main", "eve", NOW)
    later = token.listed(service.state, EVE, "main", "eve", NOW + 10)
    assert not isinstance(now, Denied)
    assert not isinstance(later, Denied)
    assert {one.title for one in now} == {"short", "long"}
    assert [one.title for one in later] == ["long"]


def test_a_revoked_token_is_gone_at_once_and_for_other_processes_too(
    service: DecisionService,
) -> None:
    issued = made(service, EVE, "eve")
    other = DecisionService(service.store, clock=service.clock)
    other.open()
    assert (
        service.write(EVE, lambda transaction: token.revoke(transaction, issued.token.id)) is None
    )
    assert service.state.tokens == {}
    assert other.catch_up().tokens == {}


def test_somebody_else_s_token_and_none_at_all_are_refused_alike(service: DecisionService) -> None:
    issued = made(service, ADMIN, "ana")
    refused = [service.write(EVE, partial(token.revoke, id=id)) for id in (issued.token.id, "t0")]
    assert isinstance(refused[0], Denied)
    assert refused[0] == refused[1]
    assert len(service.state.tokens) == 1


def test_revoking_twice_is_the_same_as_once_and_other_directories_are_left_alone(
    service: DecisionService,
) -> None:
    service.write(ADMIN, lambda d: realms.create(d, Realm("far", "gravitino", "other")))
    issued = made(service, ADMIN, "ana", directory="other")
    id = issued.token.id
    assert service.write(ADMIN, lambda transaction: token.revoke(transaction, id)) is None
    assert len(service.state.tokens) == 1
    for _ in range(2):
        assert (
            service.write(ADMIN, lambda transaction: token.revoke(transaction, id, "other")) is None
        )
    assert service.state.tokens == {}


def test_one_s_own_token_may_be_revoked_twice_and_nobody_else_learns_of_it(
    service: DecisionService,
) -> None:
    own, other = made(service, EVE, "eve").token.id, made(service, ADMIN, "ana").token.id
    for _ in range(2):
        assert service.write(EVE, partial(token.revoke, id=own)) is None
    refused = [service.write(EVE, partial(token.revoke, id=other))]
    assert service.write(ADMIN, partial(token.revoke, id=other)) is None
    refused += [service.write(EVE, partial(token.revoke, id=id)) for id in (other, "t" + "0" * 24)]
    assert isinstance(refused[0], Denied)
    assert refused[0] == refused[1] == refused[2]
    namesake = Actor("eve", directory="other")
    assert isinstance(service.write(namesake, partial(token.revoke, id=own)), Denied)
