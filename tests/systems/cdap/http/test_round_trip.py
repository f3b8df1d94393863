"""T-34: data that is read and written back unchanged is accepted, and changes nothing."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.systems.cdap.http.estate import (
    API,
    CLICKS,
    ETL,
    NIGHTLY,
    ORDERS,
    SHOP,
    SPACE,
    build,
)
from tests.systems.cdap.http.wire import BOSS, Json, Wire

SCHEDULE: Final = f"{SHOP}/schedules/daily"
VIEW: Final = f"{CLICKS}/views/lines"
DAILY: Final[Json] = {
    "program": {"programName": "nightly", "programType": "WORKFLOW"},
    "trigger": {"type": "TIME", "cronExpression": "0 4 * * *"},
}

READ_AND_WRITTEN: Final = (
    (SPACE, "PUT", f"{SPACE}/properties"),
    (CLICKS, "PUT", f"{CLICKS}/properties"),
    (CLICKS, "PUT", CLICKS),
    (VIEW, "PUT", VIEW),
    (f"{ORDERS}/properties", "PUT", f"{ORDERS}/properties"),
    (f"{ETL}/properties", "PUT", f"{ETL}/properties"),
    (f"{API}/instances", "PUT", f"{API}/instances"),
    (f"{NIGHTLY}/runtimeargs", "PUT", f"{NIGHTLY}/runtimeargs"),
    (SCHEDULE, "POST", f"{SCHEDULE}/update"),
    *((f"{at}/preferences", "PUT", f"{at}/preferences") for at in (SPACE, SHOP, NIGHTLY, CLICKS)),
    ("preferences", "PUT", "preferences"),
    *(
        (f"{at}/metadata/{kind}?scope=user", "POST", f"{at}/metadata/{kind}")
        for at in (SPACE, ETL, SHOP, NIGHTLY, ORDERS, CLICKS)
        for kind in ("properties", "tags")
    ),
)
"""The place of each read, and the request and place of its write."""


@pytest.fixture
def estate(either: Wire) -> Wire:
    """The estate in either profile."""
    return either.built(build)


def documents(wire: Wire) -> Any:
    """All stored documents, of every type."""
    types = wire.service.state.realm("cdap").system.model.types
    with wire.service.reading() as reading:
        return {type: sorted(map(str, reading.documents_of("cdap", type))) for type in types}


def test_what_is_written_back_as_it_was_read_changes_nothing(estate: Wire) -> None:
    estate.grant(BOSS, "namespace:sales")
    estate.grant(BOSS, "instance:cdap")
    estate.good("PUT", SCHEDULE, DAILY)
    assert estate.status("PUT", VIEW, {"format": {"name": "csv"}}) == 201
    for path, method, written in READ_AND_WRITTEN:
        found = estate.good("GET", path)
        estate.good(method, written, found)
        assert estate.good("GET", path) == found, path
    before = documents(estate)
    for path, method, written in READ_AND_WRITTEN:
        estate.good(method, written, estate.good("GET", path))
        assert documents(estate) == before, path


@pytest.mark.parametrize("ttl", [2**63 - 1, 2**53 + 1, -1, 10**400])
def test_a_time_that_none_can_be_is_refused_by_name(estate: Wire, ttl: int) -> None:
    status, text = estate.ask("PUT", f"{CLICKS}/properties", {"ttl": ttl})
    bounded = 0 <= ttl <= (2**63 - 1) // 1_000
    assert (status == 200) is bounded
    assert bounded or "ttl" in text or "beyond 2^63-1" in text
