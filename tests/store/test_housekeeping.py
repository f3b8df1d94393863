"""Housekeeping on either engine: only expired rows and old counts are deleted."""

from __future__ import annotations

import json
from typing import Final

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.service import housekeeping, realms, session, token
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.housekeeping import REMOVED, Removed, remove_expired
from lakewarden.service.realm import DIRECTORY, Realm, Token
from lakewarden.service.token import DAY, Issued, Terms
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.store import SqlStore
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.access_token import entity_of
from lakewarden.testing.world_draft import NOW
from tests.administrators import make_administrator

EVE: Final = Actor("eve", credential="test")
HUB: Final = "hub"
TABLE: Final = Entity("table", "lk:c.s.t")
DAYS: Final = {"token_days": 30, "usage_days": 400}


@pytest.fixture
def service(store: SqlStore) -> DecisionService:
    """A realm of DataHub, with Eve as an administrator of lakewarden."""

    def make(transaction: WriteTransaction) -> None:
        realms.establish_control(transaction)
        make_administrator(transaction, EVE.user, DIRECTORY)
        realms.establish(transaction, Realm(HUB, "datahub"))

    opened = DecisionService(store, clock=lambda: NOW)
    opened.open()
    opened.write(SYSTEM, make)
    return opened


def made(service: DecisionService, days: float) -> Token:
    """A token of Eve's that is valid for so many days."""
    issued = service.write(
        EVE, lambda transaction: token.create(transaction, "eve", terms=Terms(days * DAY))
    )
    assert isinstance(issued, Issued)
    return issued.token


def at(service: DecisionService, days: float) -> None:
    """Moves the clock to so many days later."""
    service.clock = lambda: NOW + days * DAY


def removals(service: DecisionService) -> list[list[str]]:
    """The removed tokens in the audit trail, by write."""
    with service.reading() as reading:
        events = [json.loads(row.body) for row in reading.audit()]
    return [one["details"]["tokens"] for one in events if one["operation"] == REMOVED]


def test_expired_tokens_and_sessions_go_once_they_are_kept_long_enough(
    service: DecisionService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(housekeeping, "TOKENS", 2)
    short, long = [made(service, days).id for days in (1, 2, 3)], made(service, 60).digest
    signed_in = service.write(SYSTEM, lambda transaction: session.sign_in(transaction, EVE))
    revision = service.state.revision
    at(service, 30)
    assert remove_expired(service, **DAYS) == Removed()
    assert service.state.revision == revision
    at(service, 33.5)
    assert remove_expired(service, token_days=0, usage_days=0) == Removed()
    assert remove_expired(service, **DAYS) == Removed(tokens=4)
    assert list(service.state.tokens) == [long]
    fresh = DecisionService(service.store, clock=service.clock)
    fresh.open()
    assert list(fresh.state.tokens) == [long]
    assert [len(part) for part in removals(service)] == [2, 2]
    assert {signed_in.token.id, *short} == {id for part in removals(service) for id in part}
    assert remove_expired(service, **DAYS) == Removed()


def test_what_a_system_keeps_of_a_token_goes_with_it(service: DecisionService) -> None:
    def issue(transaction: WriteTransaction) -> Token:
        issued = token.issue(transaction, "eve", HUB, seconds=DAY, title="ci").token
        value = {"name": "ci", "actorUrn": "urn:li:corpuser:eve", "ownerUrn": "urn:li:corpuser:eve"}
        write = aspects.Write(entity_of(issued), "dataHubAccessTokenInfo", value)
        aspects.write(transaction, HUB, [write], "urn:li:corpuser:eve")
        return issued

    expired, revoked = (service.write(EVE, issue) for _ in range(2))

    def is_kept(one: Token) -> bool:
        with service.reading() as reading:
            return bool(reading.documents(HUB, [entity_of(one)]))

    assert is_kept(expired)
    service.write(EVE, lambda transaction: token.revoke(transaction, revoked.id))
    assert not is_kept(revoked)
    at(service, 40)
    assert remove_expired(service, **DAYS).tokens == 1
    assert not is_kept(expired)


def test_counts_of_use_go_after_their_days(
    service: DecisionService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(housekeeping, "USAGE_ROWS", 2)
    # NOW is a time on 2023-11-14.
    days = ("2022-10-01", "2022-10-10", "2022-10-11", "2023-11-14")
    for day in days:
        counts = {("lake", user, "table.load", TABLE): 1 for user in ("ana", "ben")}
        service.store.add_usage(day, counts)

    def kept() -> set[str]:
        with service.reading() as reading:
            return {row[0] for row in reading.usage("lake", "0001-01-01")}

    assert remove_expired(service, token_days=30, usage_days=0) == Removed()
    assert kept() == {*days}
    assert remove_expired(service, **DAYS) == Removed(usage_rows=4)
    assert kept() == {*days[2:]}
    assert remove_expired(service, **DAYS) == Removed()
