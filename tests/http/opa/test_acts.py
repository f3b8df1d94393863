"""Every act of Trino, for every user of a realm: the permitted users are those in `acts.toml`."""

from __future__ import annotations

import asyncio
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pytest

from lakewarden.app.build import Application
from lakewarden.config.settings import load
from lakewarden.engines import engine
from lakewarden.engines.mapping import EngineMapping
from lakewarden.http.opa import dialect
from lakewarden.service.decision_service import DecisionService
from lakewarden.store import open_store
from tests.app.asgi import AppClient, close
from tests.http.opa.session_world import CONFIGURATION, USERS, world_facts
from tests.http.opa.test_served import ROOT, furnish

ACTS: Final = engine.load("trino").acts
FILE: Final = tomllib.loads((Path(__file__).parent / "acts.toml").read_text("utf-8"))
ROWS: Final[Sequence[Mapping[str, Any]]] = FILE["ask"]
CONDITIONS: Final = {"GetRowFilters": "row-filters", "GetColumnMask": "column-masks"}
"""Acts that are answered with a condition, and the path of the request."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Realm:
    """The application, and its engine's token."""

    client: AppClient
    token: str

    def result(self, address: str, user: str, action: Json) -> Any:
        body = {"input": {"context": {"identity": {"user": user}}, "action": action}}
        target = f"/r/gravitino/opa/v1/{address}?token={self.token}"
        answer = self.client.ask("POST", target, json.dumps(body).encode(), user=None)
        assert answer.status == 200, answer.body
        found: Any = answer.json()
        return found["result"]


@pytest.fixture(name="realm", scope="module")
def _realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    folder = tmp_path_factory.mktemp("acts")
    with open_store(f"sqlite:///{folder}/store") as store:
        token, *_ = furnish(DecisionService(store), world_facts())
    (folder / "lakewarden.toml").write_text(CONFIGURATION)
    given = {"database": f"sqlite:///{folder}/store", "auth": "token"}
    given |= {"root_token": ROOT, "admin": "root"}
    application = Application(load(folder / "lakewarden.toml", given, {}))
    application.open()
    client = AppClient(application, asyncio.new_event_loop())
    as_root = [("Authorization", f"Bearer {ROOT}")]
    for kind, limits in FILE["limits"].items():
        for id, limit in limits.items():
            path, body = f"/api/v1/realms/gravitino/{kind}/{id}", json.dumps(limit).encode()
            answer = client.ask("PUT", path, body, as_root, user=None)
            assert answer.status == 200, answer.body
    yield Realm(client, token)
    close(client)


def names(text: str, *parts: str) -> Json:
    """A dotted name split into its parts, under Trino's keys."""
    return dict(zip(parts, text.split("."), strict=True))


def resource(kind: str, on: Mapping[str, Any]) -> Json:
    """The resource, in the form of a request."""
    match kind:
        case "none":
            return {}
        case "user":
            return {"user": {"user": on["user"], "groups": []}}
        case "systemSessionProperty":
            return {kind: {"name": on["property"]}}
        case "catalogSessionProperty":
            return {kind: {"catalogName": on["catalog"], "propertyName": on["property"]}}
        case "catalog":
            return {"catalog": {"name": on["catalog"]}}
        case "schema":
            return {"schema": names(on["schema"], "catalogName", "schemaName")}
        case "function":
            parts = "catalogName", "schemaName", "functionName"
            return {"function": names(on["function"], *parts)}
    parts = ("catalogName", "schemaName", "tableName")
    if kind == "column":
        return {"column": {**names(on["column"], *parts, "columnName"), "columnType": "varchar"}}
    columns = {"columns": on["columns"]} if "columns" in on else {}
    return {"table": {**names(on["table"], *parts), **columns}}


def allows(realm: Realm, user: str, act: str, on: Mapping[str, Any]) -> bool:
    kind = ACTS[act].resource
    about = resource(kind, on)
    action: Json = {"operation": act, "resource": about} if about else {"operation": act}
    if "to" in on:
        action["targetResource"] = resource(kind, {kind: on["to"]})
    if act in CONDITIONS:
        return realm.result(CONDITIONS[act], user, action) in ([], None)
    allowed = realm.result("allow", user, action)
    assert isinstance(allowed, bool)
    if ACTS[act].silent:
        # Lists are requested together, with the same outcome.
        listed = realm.result("batch", user, {"operation": act, "filterResources": [about]})
        assert listed == ([0] if allowed else []), (user, act, on)
    return allowed


def test_an_act_that_takes_all_of_a_schema_is_withheld_from_whom_a_filter_inside_binds(
    realm: Realm, monkeypatch: pytest.MonkeyPatch
) -> None:
    act, on = "ShowCreateSchema", {"schema": "memory.sales"}
    assert [allows(realm, user, act, on) for user in ("olga", "sara")] == [True, True]
    mapping_of = dialect._mapping

    def mapping(*about: Any) -> EngineMapping:
        found = mapping_of(*about)
        acts = {**found.engine.acts, act: replace(found.engine.acts[act], whole=True)}
        return replace(found, engine=replace(found.engine, acts=acts))

    monkeypatch.setattr(dialect, "_mapping", mapping)
    assert [allows(realm, user, act, on) for user in ("olga", "sara")] == [False, True]


def test_every_act_has_rows_for_who_may_and_who_may_not() -> None:
    assert {act for row in ROWS for act in row["acts"].split()} == ACTS.keys()
    assert {user for row in ROWS for user in row["may"].split()} == set(USERS)
    denied = {act for row in ROWS for act in row["acts"].split()
              if set(row["may"].split()) != set(USERS)}  # fmt: skip
    # Allowed to everybody: it only changes one's own queries.
    assert ACTS.keys() - denied == {"SetSystemSessionProperty"}


@pytest.mark.parametrize("user", USERS)
def test_every_act_is_allowed_to_whom_the_mapping_allows_it(realm: Realm, user: str) -> None:
    wrong = []
    for row in ROWS:
        on, may = row.get("on", {}), user in row["may"].split()
        wrong += [(act, on) for act in row["acts"].split() if allows(realm, user, act, on) != may]
    assert wrong == []
