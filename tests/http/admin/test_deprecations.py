"""Deprecations are announced in headers and in the description, until the removal."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from lakewarden.http.admin import openapi
from lakewarden.http.admin.deprecations import DEPRECATED, Deprecation
from lakewarden.http.admin.dialect import ENDPOINTS, Admin
from tests.app.serving import Served
from tests.app.threaded import threaded

SINCE, SUNSET = date(2027, 1, 31), date(2027, 9, 1)
EARLIER, SOONER = date(2026, 12, 1), date(2027, 6, 1)
USE = "use the other one."
PLANTED = {
    "GET /server/health": Deprecation(SINCE, SUNSET, USE),
    "GET /audit ?last": Deprecation(SINCE, SUNSET, USE),
    "NewRealm.directory": Deprecation(SINCE, SUNSET, USE),
    "SettingsResponse.settings": Deprecation(EARLIER, SUNSET, USE),
    "GET /server/settings": Deprecation(SINCE, SOONER, USE),
}
ANNOUNCED = {
    "deprecation": "@1801353600",
    "sunset": "Wed, 01 Sep 2027 00:00:00 GMT",
    "link": '</openapi.json>; rel="deprecation"; type="application/json"',
}


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A server of a release with some deprecations."""
    Admin()  # creates the process-wide description before these deprecations exist
    for name, deprecation in PLANTED.items():
        monkeypatch.setitem(DEPRECATED, name, deprecation)
    with threaded(tmp_path, admin="admin") as served:
        yield served


def announced(served: Served, method: str, path: str, body: object = None) -> dict[str, str]:
    answer = served.ask(method, f"/api/v1{path}", body, user="admin")
    return {name: answer.headers[name] for name in ANNOUNCED if name in answer.headers}


def test_an_endpoint_announces_it_in_every_answer(served: Served) -> None:
    assert announced(served, "GET", "/server/health") == ANNOUNCED
    assert announced(served, "GET", "/server/health?unknown=1") == ANNOUNCED
    assert announced(served, "GET", "/realms") == {}


def test_a_parameter_or_member_announces_it_to_who_uses_it(served: Served) -> None:
    assert announced(served, "GET", "/audit?last=1") == ANNOUNCED
    assert announced(served, "GET", "/audit") == {}
    realm = {"name": "r", "model": "cdap"}
    assert announced(served, "POST", "/realms", {**realm, "directory": "main"}) == ANNOUNCED
    assert announced(served, "POST", "/realms", {**realm, "name": "s"}) == {}


def test_of_several_the_first_days_count(served: Served) -> None:
    assert announced(served, "GET", "/server/settings") == {
        **ANNOUNCED,
        "deprecation": "@1796083200",
        "sunset": "Tue, 01 Jun 2027 00:00:00 GMT",
    }


def test_deprecations_are_in_the_api_description(monkeypatch: pytest.MonkeyPatch) -> None:
    before = openapi.document(ENDPOINTS, "0")
    for name, deprecation in PLANTED.items():
        monkeypatch.setitem(DEPRECATED, name, deprecation)
    now = openapi.document(ENDPOINTS, "0")
    said = {"deprecated": True, "x-sunset": "2027-09-01", "description": f"Deprecated: {USE}"}
    health = now["paths"]["/api/v1/server/health"]["get"]
    assert {name: health[name] for name in said} == said
    audit = now["paths"]["/api/v1/audit"]["get"]["parameters"]
    (last,) = (one for one in audit if "deprecated" in one)
    assert (last["name"], last["x-sunset"]) == ("last", "2027-09-01")
    assert last["description"].endswith(f". Deprecated: {USE}")
    member = now["components"]["schemas"]["NewRealm"]["properties"]["directory"]
    assert said.items() <= member.items()
    assert before == _without(now)


def _without(described: Any) -> Any:
    """A description without all deprecation notes."""
    match described:
        case {"deprecated": True, "x-sunset": _, "description": str(text), **rest}:
            before = text.removesuffix(f"Deprecated: {USE}").removesuffix(". ")
            return _without({**rest, **({"description": before} if before else {})})
        case dict():
            return {name: _without(value) for name, value in described.items()}
        case list():
            return [_without(one) for one in described]
        case _:
            return described


def test_the_table_names_what_there_is_and_leaves_half_a_year() -> None:
    types = {t for one in ENDPOINTS for t in (one.request, one.response) if t is not None}
    there = {one.key for one in ENDPOINTS}
    there |= {f"{one.key} ?{parameter.name}" for one in ENDPOINTS for parameter in one.query}
    there |= {f"{type.__name__}.{name}" for type in types for name in type.__struct_fields__}
    assert set(PLANTED) | set(DEPRECATED) <= there
    for name, deprecation in {**PLANTED, **DEPRECATED}.items():
        assert (deprecation.sunset - deprecation.since).days >= 120, name
