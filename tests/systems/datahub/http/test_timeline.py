"""The history of an entity."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from tests.systems.datahub.http.wire import Wire

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
PATH = f"/openapi/v2/timeline/v1/{quote(ORDERS, safe='')}"
ASPECTS: list[tuple[str, str, dict[str, Any], int]] = [
    ("OWNERSHIP", "ownership", {"owners": [{"owner": "urn:li:corpuser:ana", "type": "NONE"}]}, 1),
    ("TAG", "globalTags", {"tags": [{"tag": "urn:li:tag:a"}, {"tag": "urn:li:tag:b"}]}, 2),
    ("GLOSSARY_TERM", "glossaryTerms", {"terms": [{"urn": "urn:li:glossaryTerm:t"}]}, 1),
    ("DOMAIN", "domains", {"domains": ["urn:li:domain:d"]}, 1),
    ("DOCUMENTATION", "datasetProperties", {"description": "orders"}, 1),
    ("DOCUMENTATION", "institutionalMemory", {"elements": [{"url": "https://x"}]}, 1),
    ("TECHNICAL_SCHEMA", "schemaMetadata", {"fields": [{"fieldPath": "a"}]}, 1),
    ("STRUCTURED_PROPERTY", "structuredProperties", {"properties": []}, 0),
    ("APPLICATION", "applications", {"applications": ["urn:li:application:x"]}, 1),
]


@pytest.mark.parametrize(("category", "aspect", "value", "events"), ASPECTS)
def test_what_is_kept_was_added_when_it_was_written(
    wire: Wire, category: str, aspect: str, value: dict[str, Any], events: int
) -> None:
    wire.put((ORDERS, aspect, value))
    (told,) = wire.good("GET", f"{PATH}?categories={category}")
    assert told["timestamp"] == pytest.approx(wire.service.clock() * 1_000, abs=60_000)
    assert told["actor"] == "urn:li:corpuser:system"
    assert [one["category"] for one in told["changeEvents"]] == [category] * events
    assert all(one["entityUrn"] == ORDERS for one in told["changeEvents"])
    assert wire.good("GET", f"{PATH}?categories=VERSIONING") == []


def test_categories_and_times_pick_what_is_told(wire: Wire) -> None:
    wire.put(*((ORDERS, aspect, value) for _, aspect, value, _ in ASPECTS))
    both = wire.good("GET", f"{PATH}?categories=TAG,OWNER")
    assert [one["versionStamp"] for one in both] == ["globalTags:0", "ownership:0"]
    later = both[0]["timestamp"] + 1
    assert wire.good("GET", f"{PATH}?categories=TAG&startTime={later}") == []
    assert wire.good("GET", f"{PATH}?categories=TAG&endTime=1") == []


def test_the_timeline_has_a_privilege_of_its_own(wire: Wire) -> None:
    wire.put((ORDERS, "globalTags", {"tags": []}))
    wire.grant("page", "VIEW_ENTITY_PAGE", to="eve")
    assert wire.bad("GET", f"{PATH}?categories=TAG", user="eve") == 403
    wire.grant("timeline", "GET_TIMELINE_PRIVILEGE", to="eve", URN=[ORDERS])
    assert len(wire.good("GET", f"{PATH}?categories=TAG", user="eve")) == 1


@pytest.mark.parametrize("asked", ["", "?categories=LIKES", "?categories=TAG&startTime=x"])
def test_what_makes_no_sense_is_400(wire: Wire, asked: str) -> None:
    assert wire.bad("GET", f"{PATH}{asked}") == 400


def test_what_nobody_wrote_as_an_aspect_has_no_known_past(wire: Wire) -> None:
    assert wire.good("GET", f"{PATH}?categories=TAG,OWNERSHIP") == []
