"""Facts that depend on tables and columns, and the effects of their changes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lakewarden.analysis.lint.lint_context import LintContext
from lakewarden.analysis.lint.rules.obligations import idle_obligation
from lakewarden.kernel.change import StatementAdded, StatementRemoved
from lakewarden.kernel.obligations import obligations
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Effect, On, Where
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.actor import SYSTEM
from lakewarden.service.statements import stored
from tests.systems.gravitino.http.small_lake import COLUMNS, ML, REL, S, T
from tests.systems.gravitino.http.wire import REALM, Json, Wire

OBJECTS = f"{ML}/objects"
TAGGED = [{"field": "TAG", "values": ["lk:pii"]}]


def tag(lake: Wire, path: str) -> None:
    """Puts the tag `pii` on the object at `type/name`."""
    if lake.ask("GET", f"{ML}/tags/pii")[0] == 404:
        lake.good("POST", f"{ML}/tags", {"name": "pii"})
    lake.good("POST", f"{OBJECTS}/{path}/tags", {"tagsToAdd": ["pii"], "tagsToRemove": None})


def tagged(lake: Wire) -> list[str]:
    found = lake.good("GET", f"{ML}/tags/pii/objects")["metadataObjects"]
    return [one["fullName"] for one in found]


def alter(lake: Wire, path: str, *updates: Json) -> None:
    lake.good("PUT", path, {"updates": list(updates)})


def test_a_column_keeps_its_tag_under_another_name(lake: Wire) -> None:
    tag(lake, "column/rel.s.t.name")
    rename = {"@type": "renameColumn", "oldFieldName": ["name"], "newFieldName": "title"}
    alter(lake, T, rename)
    assert tagged(lake) == ["rel.s.t.title"]


def test_a_column_keeps_its_tag_when_the_table_is_renamed(lake: Wire) -> None:
    tag(lake, "column/rel.s.t.name")
    alter(lake, T, {"@type": "rename", "newName": "t2"})
    assert tagged(lake) == ["rel.s.t2.name"]


def test_a_tag_goes_with_its_column(lake: Wire) -> None:
    tag(lake, "column/rel.s.t.name")
    alter(lake, T, {"@type": "deleteColumn", "fieldName": ["name"], "ifExists": False})
    assert tagged(lake) == []
    alter(lake, T, ADD)
    assert tagged(lake) == []


def test_two_columns_can_change_names(lake: Wire) -> None:
    tag(lake, "column/rel.s.t.name")
    alter(lake, T, renamed("name", "x"), renamed("id", "name"), renamed("x", "id"))
    assert tagged(lake) == ["rel.s.t.id"]


DELETE: Json = {"@type": "deleteColumn", "fieldName": ["name"], "ifExists": False}
ADD: Json = {"@type": "addColumn", "fieldName": ["name"], "type": "string"}


def renamed(old: str, new: str) -> Json:
    return {"@type": "renameColumn", "oldFieldName": [old], "newFieldName": new}


RENAME, UNNAMED = renamed("name", "title"), renamed("name", "*")


def limit(lake: Wire, **stated: Any) -> None:
    system = lake.service.state.realm(REALM).system
    on = {} if "where" in stated else {"on": "table:lk:rel.s.t"}
    table = {"id": "limit", **on, **stated}
    (one,) = read_statements([table], system.model, system.spelling, "test")
    lake.service.write(SYSTEM, lambda transaction: transaction.change(REALM, StatementAdded(one)))


@pytest.mark.parametrize(
    ("stated", "update", "needed"),
    [
        ({"effect": "filter", "expression": "name = 'x'"}, DELETE, True),
        ({"effect": "filter", "expression": "name = 'x'"}, RENAME, True),
        ({"effect": "filter", "expression": "id = 1"}, DELETE, False),
        ({"effect": "filter", "on": "schema:lk:rel.s", "expression": "name = 'x'"}, DELETE, True),
        ({"effect": "mask", "expression": "sql 'lower(name)'"}, RENAME, True),
        # A mask of all columns still has other columns, one of a column would have none.
        ({"effect": "mask", "expression": "null"}, DELETE, False),
        ({"effect": "mask", "on": "column:lk:rel.s.t.name", "expression": "null"}, DELETE, True),
        ({"effect": "mask", "on": "column:lk:rel.s.t.name", "expression": "null"}, RENAME, False),
        ({"effect": "mask", "on": "column:lk:rel.s.t.name", "expression": "null"}, UNNAMED, True),
        ({"effect": "mask", "on": "column:lk:rel.s.t.id", "expression": "null"}, DELETE, False),
        ({"effect": "mask", "where": TAGGED, "expression": "null"}, DELETE, True),
        ({"effect": "mask", "where": TAGGED, "expression": "null"}, RENAME, False),
    ],
)
def test_a_column_that_a_filter_or_mask_needs_is_dropped_by_force_alone(
    lake: Wire, stated: Json, update: Json, needed: bool
) -> None:
    tag(lake, "column/rel.s.t.name")
    limit(lake, **stated, **{"except": ["owners"]})
    body = {"updates": [update]}
    status, found = lake.ask("PUT", T, body)
    assert status == (400 if needed else 200), found
    if needed:
        assert "`name`" in found["message"]
        assert "`limit`" in found["message"]
        assert len(lake.good("GET", T)["table"]["columns"]) == 2
        lake.good("PUT", f"{T}?force=true", body)


MORE = {"@type": "addColumn", "fieldName": ["more"], "type": "string"}


@pytest.mark.parametrize("update", [DELETE, MORE, renamed("id", "more")])
@pytest.mark.parametrize("query", ["", "?force=true"])
def test_whom_a_filter_binds_changes_no_columns(lake: Wire, update: Json, query: str) -> None:
    limit(lake, effect="filter", expression="name = 'x' or more is null")
    status, found = lake.ask("PUT", f"{T}{query}", {"updates": [update]})
    assert (status, found["code"]) == (403, 1008)
    assert "binds you" in found["message"]
    alter(lake, T, {"@type": "updateComment", "newComment": "still"})


VIEW: Json = {"name": "v", "representations": [{"dialect": "trino", "sql": "SELECT 1"}]}


@pytest.mark.parametrize(
    ("stated", "path", "bound"),
    [
        ({"effect": "filter", "expression": "id = 1"}, T, True),
        ({"effect": "mask", "on": "column:lk:rel.s.t.gone", "expression": "null"}, T, True),
        ({"effect": "mask", "where": TAGGED, "expression": "null"}, T, True),
        ({"effect": "mask", "on": "column:lk:rel.s.t.name", "expression": "null"}, REL, True),
        ({"effect": "filter", "expression": "id = 1"}, ML, True),
        (
            {"effect": "filter", "on": "view:lk:rel.s.v", "expression": "id = 1"},
            f"{S}/views/v",
            True,
        ),
        ({"effect": "filter", "expression": "id = 1"}, f"{S}/views/v", False),
        ({"effect": "filter", "expression": "id = 1"}, f"{ML}/catalogs/fil", False),
        ({"effect": "mask", "where": TAGGED, "expression": "null"}, f"{ML}/tags/pii", False),
        ({"effect": "mask", "on": "metalake:lk", "expression": "null"}, f"{ML}/tags/pii", False),
    ],
)
def test_whom_a_filter_or_mask_binds_renames_neither_the_table_nor_what_it_lies_in(
    lake: Wire, stated: Json, path: str, bound: bool
) -> None:
    """Engines keep using the old name, which would then have no filter."""
    tag(lake, "column/rel.s.t.name")
    lake.good("POST", f"{S}/views", VIEW)
    limit(lake, **stated)
    rename = {"updates": [{"@type": "rename", "newName": "renamed"}]}
    status, found = lake.ask("PUT", f"{path}?force=true", rename)
    assert status == (403 if bound else 200), found
    assert not bound or "you may not rename it" in found["message"]
    limit(lake, **stated, to=["user:bob"])
    if bound:
        lake.good("PUT", path, rename)


COLUMN = "column:lk:rel.s.t.name"
REPLACED: list[list[Json]] = [
    [DELETE, ADD],
    [DELETE, renamed("id", "name")],
    [renamed("name", "x"), {**DELETE, "fieldName": ["x"]}, ADD],
]


@pytest.mark.parametrize("updates", REPLACED)
@pytest.mark.parametrize(
    "stated",
    [
        {"effect": "filter", "expression": "name = 'x' or name is null"},
        {"effect": "mask", "on": COLUMN, "expression": "null"},
        {"effect": "mask", "where": TAGGED, "expression": "null"},
    ],
)
def test_a_column_that_another_one_replaces_at_once_is_needed_as_well(
    lake: Wire, stated: Json, updates: list[Json]
) -> None:
    tag(lake, "column/rel.s.t.name")
    limit(lake, **stated)
    assert lake.ask("PUT", f"{T}?force=true", {"updates": updates})[0] == 403
    limit(lake, **stated, **{"except": ["owners"]})
    assert lake.ask("PUT", T, {"updates": updates})[0] == 400
    lake.good("PUT", f"{T}?force=true", {"updates": updates})
    assert tagged(lake) == []


def test_a_mask_goes_with_its_column_to_the_name_of_one_that_is_deleted(lake: Wire) -> None:
    tag(lake, "column/rel.s.t.name")
    limit(lake, on=COLUMN, effect="mask", expression="null", **{"except": ["owners"]})
    alter(lake, T, {**DELETE, "fieldName": ["id"]}, renamed("name", "id"))
    assert binding(lake, "column:lk:rel.s.t.id", "mask") == ["limit"]
    assert tagged(lake) == ["rel.s.t.id"]


def binding(lake: Wire, name: str, effect: str, user: str = "bob") -> list[str]:
    """The filters or masks that bind a user there."""
    state = lake.service.state.realm(REALM)
    request = Request(Principal(USER, user), "", state.system.entity(name), lake.service.clock())
    return [one.id for one in obligations(state.matrix, request, Effect(effect))]


@pytest.mark.parametrize(
    ("path", "again"),
    [
        (T, [(f"{S}/tables", {"name": "t", "columns": COLUMNS})]),
        (
            f"{S}?cascade=true",
            [
                (f"{REL}/schemas", {"name": "s"}),
                (f"{S}/tables", {"name": "t", "columns": COLUMNS}),
            ],
        ),
        (
            f"{ML}?force=true",
            [
                ("metalakes", {"name": "lk"}),
                (f"{ML}/catalogs", {"name": "rel", "type": "relational", "provider": "hive"}),
                (f"{REL}/schemas", {"name": "s"}),
                (f"{S}/tables", {"name": "t", "columns": COLUMNS}),
            ],
        ),
    ],
    ids=["table", "schema", "metalake"],
)
@pytest.mark.parametrize(
    ("on", "effect"),
    [("table:lk:rel.s.t", "filter"), ("table:lk:rel.s.t", "mask"), (COLUMN, "mask")],
)
def test_a_table_made_again_shows_no_more_than_before(
    lake: Wire, path: str, again: list[tuple[str, Json]], on: str, effect: str
) -> None:
    limit(lake, on=on, effect=effect, expression="null" if effect == "mask" else "id = 1")
    asked = "table:lk:rel.s.t" if effect == "filter" else COLUMN
    assert binding(lake, asked, effect) == ["limit"]
    assert lake.good("DELETE", path)["dropped"]
    assert binding(lake, asked, effect) == ["limit"]
    for where, body in again:
        lake.good("POST", where, body)
    assert binding(lake, asked, effect) == ["limit"]
    system = lake.service.state.realm(REALM).system
    assert stored(lake.service.state.realm(REALM))["limit"].scope == On(system.entity(on))


def test_a_view_that_takes_the_name_of_a_table_keeps_to_its_filters(lake: Wire) -> None:
    limit(lake, effect="filter", expression="id = 1")
    assert lake.good("DELETE", T)["dropped"]
    lake.good("POST", f"{S}/views", {**VIEW, "name": "t"})
    assert binding(lake, "view:lk:rel.s.t", "filter") == ["limit"]
    assert binding(lake, "view:lk:rel.s.v", "filter") == []


def test_a_mask_by_a_tag_of_a_view_binds_on_its_columns(lake: Wire) -> None:
    lake.good("POST", f"{S}/views", VIEW)
    tag(lake, "view/rel.s.v")
    limit(lake, effect="mask", where=TAGGED, expression="null")
    assert binding(lake, "column:lk:rel.s.v.id", "mask") == ["limit"]
    assert binding(lake, "column:lk:rel.s.t.id", "mask") == []


def test_a_mask_on_a_column_binds_the_next_one_of_its_name(lake: Wire) -> None:
    limit(lake, on=COLUMN, effect="mask", expression="null", **{"except": ["owners"]})
    lake.good("PUT", f"{T}?force=true", {"updates": [DELETE]})
    snapshot = lake.service.state.realm(REALM).matrix.snapshot
    assert [one.place.name for one in idle_obligation.find(LintContext(snapshot))] == ["limit"]
    alter(lake, T, ADD)
    assert binding(lake, COLUMN, "mask") == ["limit"]


def test_a_mask_on_a_column_that_is_gone_follows_the_table_to_its_new_name(lake: Wire) -> None:
    limit(lake, on=COLUMN, effect="mask", expression="null", **{"except": ["owners"]})
    lake.good("PUT", f"{T}?force=true", {"updates": [DELETE]})
    alter(lake, T, {"@type": "rename", "newName": "u"})
    alter(lake, f"{S}/tables/u", ADD)
    assert binding(lake, "column:lk:rel.s.u.name", "mask") == ["limit"]
    alter(lake, REL, {"@type": "rename", "newName": "moved"})
    assert binding(lake, "column:lk:moved.s.u.name", "mask") == ["limit"]


def test_a_mask_by_a_tag_follows_the_tag_and_its_metalake_to_their_new_names(lake: Wire) -> None:
    tag(lake, "column/rel.s.t.name")
    alter(lake, f"{ML}/tags/pii", {"@type": "rename", "newName": "plain"})
    lake.good("POST", f"{ML}/tags", {"name": "pi"})
    values = [{"field": "TAG", "values": ["lk:gone", "lk:plain", "other:plain"]}]
    limit(lake, effect="mask", where=values, expression="null", **{"except": ["user:admin"]})
    assert binding(lake, COLUMN, "mask") == ["limit"]
    alter(lake, f"{ML}/tags/plain", {"@type": "rename", "newName": "private"})
    alter(lake, f"{ML}/tags/pi", {"@type": "rename", "newName": "plain"})
    assert binding(lake, COLUMN, "mask") == ["limit"]
    alter(lake, ML, {"@type": "rename", "newName": "sea"})
    assert binding(lake, "column:sea:rel.s.t.name", "mask") == ["limit"]
    scope = stored(lake.service.state.realm(REALM))["limit"].scope
    assert isinstance(scope, Where)
    assert scope.criteria[0].values == ("sea:gone", "sea:private", "other:plain")


def test_the_beginning_of_tags_stays_unless_the_metalake_is_renamed(lake: Wire) -> None:
    tag(lake, "column/rel.s.t.name")
    values = [{"field": "TAG", "condition": "STARTS_WITH", "values": ["lk:pii", "lk"]}]
    limit(lake, effect="mask", where=values, expression="null", **{"except": ["user:admin"]})
    alter(lake, f"{ML}/tags/pii", {"@type": "rename", "newName": "pii_old"})
    alter(lake, ML, {"@type": "rename", "newName": "sea"})
    assert binding(lake, "column:sea:rel.s.t.name", "mask") == ["limit"]
    scope = stored(lake.service.state.realm(REALM))["limit"].scope
    assert isinstance(scope, Where)
    # A metalake `lk2` is not affected.
    assert scope.criteria[0].values == ("sea:pii", "lk", "sea")


def test_a_filter_that_is_deleted_does_not_come_back(lake: Wire) -> None:
    limit(lake, effect="filter", expression="id = 1")
    lake.good("DELETE", T)
    lake.service.write(SYSTEM, lambda one: one.change(REALM, StatementRemoved("limit")))
    lake.good("POST", f"{S}/tables", {"name": "t", "columns": COLUMNS})
    assert binding(lake, "table:lk:rel.s.t", "filter") == []


def test_columns_with_any_name_are_kept_but_cannot_be_named(lake: Wire) -> None:
    columns = [{"name": "weight in kg.", "type": "double"}, {"name": "*", "type": "double"}]
    lake.good("POST", f"{S}/tables", {"name": "odd", "columns": columns})
    shown = lake.good("GET", f"{S}/tables/odd")["table"]["columns"]
    assert [one["name"] for one in shown] == ["weight in kg.", "*"]


def test_a_table_made_again_has_nothing_of_the_old_one(lake: Wire) -> None:
    statistics = f"{OBJECTS}/table/rel.s.t/statistics"
    lake.good("PUT", statistics, {"updates": {"custom-rows": 1}})
    partition = {"type": "list", "name": "p", "lists": []}
    lake.good("POST", f"{T}/partitions", {"partitions": [partition]})
    tag(lake, "table/rel.s.t")
    lake.good("DELETE", T)
    lake.good("POST", f"{S}/tables", {"name": "t", "columns": COLUMNS})
    assert lake.good("GET", statistics)["statistics"] == []
    assert lake.good("GET", f"{T}/partitions")["names"] == []
    assert tagged(lake) == []


@pytest.mark.parametrize("accept", ["application/vnd.gravitino.v1+json", "*/*", "text/html", ""])
def test_the_first_version_of_the_api_is_served(lake: Wire, accept: str) -> None:
    assert lake.ask("GET", T, headers={"accept": accept})[0] == 200


def test_another_version_of_the_api_is_not(lake: Wire) -> None:
    reply = lake.send("GET", T, headers={"accept": "application/vnd.gravitino.v2+json"})
    assert (reply.status, json.loads(reply.body)["code"]) == (406, 1001)


WORDS = [
    {"partitioning": [{"strategy": "weekly", "fieldName": ["id"]}]},
    {"partitioning": [{"fieldName": ["id"]}]},
    {"distribution": {"strategy": "random", "number": 4}},
    {"distribution": {"strategy": "hash", "number": True}},
    {"sortOrders": [{"direction": "up"}]},
    {"sortOrders": [{"direction": "ASC", "nullOrdering": "nulls"}]},
]


@pytest.mark.parametrize("members", WORDS)
def test_a_word_that_clients_do_not_know_is_refused(lake: Wire, members: Json) -> None:
    body = {"name": "u", "columns": COLUMNS, **members}
    illegal = (400, 1001, "IllegalArgumentException")
    assert lake.bad("POST", f"{S}/tables", body) == illegal


def test_members_that_are_null_are_as_if_they_were_left_out(lake: Wire) -> None:
    term = {"type": "field", "fieldName": ["id"]}
    body = {
        "distribution": {"strategy": None, "number": 4, "funcArgs": None},
        "sortOrders": [{"sortTerm": term, "direction": None}],
        "partitioning": [{"strategy": "identity", "fieldName": ["id"], "assignments": None}],
    }
    lake.good("POST", f"{S}/tables", {"name": "u", "columns": COLUMNS, **body})
    shown = lake.good("GET", f"{S}/tables/u")["table"]
    assert shown["distribution"] == {"strategy": "hash", "number": 4, "funcArgs": []}
    assert shown["sortOrders"] == [{"sortTerm": term}]
    assert shown["partitioning"] == [{"strategy": "identity", "fieldName": ["id"]}]
