"""Every denied write is a row of the audit trail, each time and with its own operation (R-50)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple

import pytest

from lakewarden.systems.cdap.settings import CdapSettings
from tests.systems.cdap.http.estate import CLICKS, SHOP, SPACE, build
from tests.systems.cdap.http.wire import BOSS, Json, Wire

OWNED: Final = f"{SPACE}/streams/owned"
GONE: Final = f"unrecoverable/{SPACE}"
FROM_ETL: Final[Json] = {"artifact": {"name": "etl", "version": "1.0"}, "principal": "eve@CORP"}


@pytest.fixture
def new(wire: Wire) -> Wire:
    """The estate in the later profile."""
    return wire.built(build)


def owned(wire: Wire) -> None:
    """A stream with an owner, whom no request repeats."""
    wire.grant(BOSS, "kerberosprincipal:eve@CORP", "ADMIN")
    wire.good("PUT", OWNED, {"principal": "eve@CORP"})


def without_resets(wire: Wire) -> None:
    """Unrecoverable operations are disabled."""
    options = CdapSettings(unrecoverable_reset=False)
    wire.services = replace(wire.services, systems={"cdap": options})


class Denied(NamedTuple):
    """A denied request, and its entry in the audit trail."""

    method: str
    path: str
    body: object
    user: str
    operation: str
    target: str
    prepare: Callable[[Wire], None] = lambda _: None


DENIED: Final = (
    Denied("PUT", OWNED, {}, BOSS, "stream.create", "stream:sales.owned", owned),
    Denied(
        *("PUT", f"{OWNED}/properties", {"ttl": 1}, BOSS),
        *("stream.update_properties", "stream:sales.owned", owned),
    ),
    Denied(
        *("PUT", SHOP, FROM_ETL, BOSS),
        *("application.redeploy", "application:sales.shop", owned),
    ),
    Denied("DELETE", GONE, None, "eve", "namespace.delete", "namespace:sales", without_resets),
    Denied(
        *("DELETE", f"{GONE}/datasets", None, BOSS),
        *("dataset.drop_all", "namespace:sales", without_resets),
    ),
    Denied("POST", f"{CLICKS}/truncate", None, "eve", "stream.truncate", "stream:sales.clicks"),
    Denied(
        *("POST", f"{SHOP}/schedules/none/resume", None, "eve"),
        *("schedule.list", "application:sales.shop"),
    ),
)


@pytest.mark.parametrize("denied", DENIED, ids=lambda one: f"{one.method} {one.path}")
def test_a_denied_write_is_audited_each_time(new: Wire, denied: Denied) -> None:
    denied.prepare(new)
    before, revision = audited(new), new.service.state.revision
    for _ in range(2):
        assert new.status(denied.method, denied.path, denied.body, user=denied.user) == 403
    rows = audited(new)[len(before) :]
    expected = {
        "actor": denied.user,
        "operation": denied.operation,
        "target": denied.target,
        "outcome": "deny",
    }
    assert [{name: row[name] for name in expected} for row in rows] == [expected, expected]
    assert new.service.state.revision == revision


def test_denied_deletions_of_many_are_audited_by_name_as_far_as_there_is_room(
    old: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakewarden.systems.cdap.http.deleting.MOST_LISTED", 2)
    old.built(build)
    for name in ("a", "b"):
        old.good("PUT", f"{SPACE}/streams/{name}")
    before = audited(old)
    status, body = old.ask("DELETE", f"{SPACE}/streams", user="eve")
    assert (status, len(body["errors"])) == (207, 3)
    rows = [row for row in audited(old)[len(before) :] if row["outcome"] == "deny"]
    assert [row["target"] for row in rows] == ["stream:sales.a", "stream:sales.b"]
    assert [row["details"].get("more") for row in rows] == [None, 1]


def audited(wire: Wire) -> list[Json]:
    """The events of the audit trail."""
    with wire.store.reading() as reading:
        return [json.loads(row.body) for row in reading.audit()]
