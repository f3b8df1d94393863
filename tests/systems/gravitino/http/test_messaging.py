"""A messaging catalog always has the schema `default`, and no other."""

from __future__ import annotations

import pytest

from lakewarden.kernel.change import EntityDropped
from lakewarden.kernel.entity import Entity
from lakewarden.service.actor import SYSTEM
from tests.systems.gravitino.http.small_lake import ML
from tests.systems.gravitino.http.wire import REALM, Json, Wire

MSG = f"{ML}/catalogs/msg"
DEFAULT = f"{MSG}/schemas/default"
COMMENT: Json = {"updates": [{"@type": "setProperty", "property": "a", "value": "b"}]}


def test_the_default_schema_exists_with_its_catalog_and_has_no_owner(lake: Wire) -> None:
    listed = lake.good("GET", f"{MSG}/schemas")["identifiers"]
    assert listed == [{"namespace": ["lk", "msg"], "name": "default"}]
    assert lake.good("GET", DEFAULT)["schema"]["name"] == "default"
    assert lake.ask("GET", f"{ML}/owners/schema/msg.default") == (200, {"code": 0})
    others = (lake.good("GET", f"{ML}/catalogs/{name}/schemas") for name in ("fil", "mod", "rel"))
    assert [[one["name"] for one in found["identifiers"]] for found in others] == [["s"]] * 3


def test_no_other_is_made_and_it_is_neither_made_again_altered_nor_dropped(lake: Wire) -> None:
    for name in ("s", "default"):
        status, answer = lake.ask("POST", f"{MSG}/schemas", {"name": name})
        assert (status, answer["type"]) == (405, "UnsupportedOperationException")
    for method, body in (("PUT", COMMENT), ("DELETE", None)):
        for suffix in ("", "?cascade=true"):
            status, answer = lake.ask(method, DEFAULT + suffix, body)
            assert (status, answer["code"]) == (400, 1001), answer
            assert "`default`" in answer["message"]
    assert lake.bad("DELETE", f"{MSG}/schemas/s") == (405, 1006, "UnsupportedOperationException")
    assert lake.bad("PUT", f"{MSG}/schemas/s", COMMENT)[0] == 404
    assert lake.good("GET", f"{DEFAULT}/topics")["identifiers"][0]["name"] == "p"
    assert lake.ask("GET", f"{MSG}/schemas/s")[0] == 404


def test_who_may_not_is_refused_before_the_kind_of_catalog_is_looked_at(lake: Wire) -> None:
    for method, path, body in (
        ("POST", f"{MSG}/schemas", {"name": "s"}),
        ("PUT", DEFAULT, COMMENT),
        ("DELETE", DEFAULT, None),
    ):
        assert lake.ask(method, path, body, user="eve")[0] == 403


def test_a_catalog_that_has_nothing_else_is_empty(lake: Wire) -> None:
    body = {"name": "more", "type": "MESSAGING", "provider": "kafka"}
    lake.good("POST", f"{ML}/catalogs", body)
    more = f"{ML}/catalogs/more"
    assert lake.ask("DELETE", more)[0] == 409  # in use
    lake.good("PATCH", more, {"inUse": False})
    assert lake.good("DELETE", more)["dropped"] is True
    assert lake.ask("GET", f"{more}/schemas/default")[0] == 404


@pytest.mark.parametrize(
    ("provider", "schema", "status"),
    [
        ("hive", "default", 200),
        ("jdbc-postgresql", "public", 200),
        ("hive", "public", 409),
        ("jdbc-mysql", "default", 409),
    ],
)
def test_a_schema_that_comes_with_a_provider_does_not_hold_up_the_drop(
    lake: Wire, provider: str, schema: str, status: int
) -> None:
    lake.good(
        "POST", f"{ML}/catalogs", {"name": "more", "type": "RELATIONAL", "provider": provider}
    )
    more = f"{ML}/catalogs/more"
    lake.good("POST", f"{more}/schemas", {"name": schema})
    lake.good("PATCH", more, {"inUse": False})
    assert lake.ask("DELETE", more)[0] == status


def test_default_can_be_made_where_an_import_left_it_out(lake: Wire) -> None:
    schema = Entity("schema", "lk:msg.default")
    dropped = (EntityDropped(Entity("topic", "lk:msg.default.p")), EntityDropped(schema))
    lake.service.write(SYSTEM, lambda transaction: transaction.change(REALM, *dropped))
    assert lake.ask("GET", DEFAULT)[0] == 404
    assert lake.good("POST", f"{MSG}/schemas", {"name": "default"})["schema"]["name"] == "default"
