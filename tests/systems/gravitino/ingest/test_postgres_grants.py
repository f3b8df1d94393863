"""PostgreSQL's grants inverted: the result of each, which must never be more."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from lakewarden.service.source_row import BAD_NAME, BAD_STATEMENT, Row
from lakewarden.service.system import load_system
from lakewarden.systems.gravitino.ingest.grants import Catalog, Grants
from lakewarden.systems.gravitino.ingest.postgres_grants import (
    Item,
    Membership,
    Postgres,
    Relation,
    Role,
    Schema,
    read,
)

MODEL = load_system("gravitino").model
EMPTY = Postgres(owner="boss", items=(), roles=(), memberships=(), schemas=(), relations=())


def login(*names: str) -> list[Role]:
    return [Role(name, can_login=True) for name in names]


def group(*names: str) -> list[Role]:
    return [Role(name, can_login=False) for name in names]


def items(grantee: str, *privileges: str, option: bool = False) -> list[Item]:
    return [Item(grantee, privilege, option) for privilege in privileges]


def rows(found: Postgres, *, data: bool = False) -> list[Row]:
    grants = Grants(Catalog("lk", "pg"), MODEL, "postgresql://h/d")
    read(found, grants, takes_data_for_modify=data)
    return list(grants.rows())


def given(found: Postgres, *, data: bool = False) -> dict[str, tuple[list[str], list[str]]]:
    """By object: privileges and grantees."""
    tables = (json.loads(r.cells[1]) for r in rows(found, data=data) if r.table == "statements")
    return {table["on"]: (table["privileges"], table["to"]) for table in tables}


def cells(found: Postgres, table: str) -> list[tuple[str, ...]]:
    return [tuple(row.cells) for row in rows(found) if row.table == table]


def notes(found: Postgres) -> list[str]:
    return [f"{subject}: {what}" for subject, what in cells(found, "notes")]


def table(
    *granted: Item, owner: str = "boss", kind: str = "r", name: str = "t", secured: bool = False
) -> Relation:
    return Relation("s", name, kind, owner, granted, secured)


def test_login_roles_are_users_and_the_others_roles() -> None:
    found = replace(EMPTY, roles=[*login("ana"), *group("readers", "pg_monitor")])
    assert cells(found, "principals") == [("user", "ana"), ("role", "lk:readers")]
    assert cells(found, "entities") == [("user", "lk:ana"), ("role", "lk:readers")]
    assert cells(found, "memberships") == [("user", "ana", "implied", "members:lk")]


def test_nested_roles_are_flattened_as_far_as_they_inherit() -> None:
    memberships = [
        Membership("ana", "writers", inherits=True),
        Membership("writers", "readers", inherits=True),
        Membership("readers", "auditors", inherits=False),
        Membership("ben", "readers", inherits=False),
        Membership("readers", "writers", inherits=True),
    ]
    roles = [*login("ana", "ben"), *group("readers", "writers", "auditors")]
    found = replace(EMPTY, roles=roles, memberships=memberships)
    assert [row for row in cells(found, "memberships") if row[2] == "role"] == [
        ("user", "ana", "role", "lk:readers"),
        ("user", "ana", "role", "lk:writers"),
    ]
    assert notes(found) == [
        'readers: membership in role "auditors" without INHERIT',
        'ben: membership in role "readers" without INHERIT',
        'catalog:lk:pg: the owner role "boss": it is a role',
    ]


def test_each_level_has_its_privileges() -> None:
    found = replace(
        EMPTY,
        roles=[*login("boss"), *group("readers")],
        items=[*items("", "CONNECT", "TEMPORARY"), *items("readers", "CREATE")],
        schemas=[Schema("s", "boss", items("readers", "USAGE", "CREATE"))],
        relations=[
            table(*items("readers", "SELECT")),
            table(*items("", "SELECT"), kind="v", name="v"),
            table(*items("readers", "SELECT"), kind="m", name="m"),
            table(*items("readers", "SELECT"), kind="p", name="p"),
            table(*items("readers", "SELECT"), kind="f", name="f"),
            table(*items("readers", "SELECT"), kind="S", name="q"),
        ],
    )
    to = ["role:lk:readers"]
    assert given(found) == {
        "catalog:lk:pg": (["CREATE_SCHEMA"], to),
        "schema:lk:pg.s": (["CREATE_TABLE", "USE_SCHEMA"], to),
        "table:lk:pg.s.t": (["SELECT_TABLE"], to),
        "table:lk:pg.s.p": (["SELECT_TABLE"], to),
        "table:lk:pg.s.f": (["SELECT_TABLE"], to),
        "view:lk:pg.s.m": (["SELECT_VIEW"], to),
        "view:lk:pg.s.v": (["SELECT_VIEW"], ["members:lk"]),
    }
    assert notes(found) == [
        "catalog:lk:pg: TEMPORARY to PUBLIC",
        'schema:lk:pg.s: CREATE of views to role "readers"',
        'relation s.q: SELECT to role "readers"',
    ]


def test_everybody_is_whoever_is_a_user() -> None:
    found = replace(EMPTY, items=items("", "CONNECT"))
    assert given(found) == {"catalog:lk:pg": (["USE_CATALOG"], ["members:lk"])}


def test_a_role_called_like_everybody_is_not_everybody() -> None:
    found = replace(
        EMPTY,
        roles=group("PUBLIC"),
        items=[*items("", "CONNECT"), *items("PUBLIC", "CREATE")],
    )
    statements = [row for row in rows(found) if row.table == "statements"]
    by_id = {row.cells[0]: json.loads(row.cells[1]) for row in statements}
    assert by_id["PUBLIC on catalog:lk:pg"]["privileges"] == ["USE_CATALOG"]
    assert by_id['role "PUBLIC" on catalog:lk:pg']["to"] == ["role:lk:PUBLIC"]


def test_a_grant_to_a_user_reaches_whoever_inherits_that_user() -> None:
    found = replace(
        EMPTY,
        roles=login("ana", "app"),
        memberships=[Membership("ana", "app", inherits=True)],
        relations=[table(*items("app", "SELECT"))],
    )
    assert given(found)["table:lk:pg.s.t"] == (["SELECT_TABLE"], ["user:ana", "user:app"])


def test_changing_data_is_less_than_modify_table() -> None:
    written = items("readers", "SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE")
    found = replace(EMPTY, roles=group("readers"), relations=[table(*written)])
    rows = ["DELETE_ROWS", "INSERT_ROWS", "SELECT_TABLE", "UPDATE_ROWS"]
    assert given(found)["table:lk:pg.s.t"][0] == rows
    assert 'table:lk:pg.s.t: TRUNCATE to role "readers"' in notes(found)
    with_modify = sorted([*rows, "MODIFY_TABLE"])
    assert given(found, data=True)["table:lk:pg.s.t"][0] == with_modify


@pytest.mark.parametrize("word", ["INSERT", "UPDATE", "DELETE"])
def test_each_right_to_write_is_carried_as_itself(word: str) -> None:
    found = replace(EMPTY, roles=login("ana"), relations=[table(*items("ana", word))])
    assert given(found) == {"table:lk:pg.s.t": ([f"{word}_ROWS"], ["user:ana"])}


def on_columns(**options: Any) -> Postgres:
    listed = {
        "id": [*items("ana", "SELECT", "UPDATE", "REFERENCES"), *items("boss", "INSERT")],
        "mail.work": items("ana", "INSERT"),
    }
    relation = replace(table(**options), columns=listed)
    return replace(EMPTY, roles=login("ana", "boss"), relations=[relation])


def test_grants_on_columns_are_carried_on_columns() -> None:
    found = on_columns()
    assert given(found) == {
        "column:lk:pg.s.t.id": (["SELECT_COLUMN", "UPDATE_ROWS"], ["user:ana"]),
        "column:lk:pg.s.t.mail.work": (["INSERT_ROWS"], ["user:ana"]),
    }
    assert 'table:lk:pg.s.t: REFERENCES on the column `id` to role "ana"' in notes(found)


def test_grants_on_columns_of_views_and_of_secured_tables_are_noted() -> None:
    found = on_columns(kind="v", name="v")
    assert given(found) == {}
    noted = 'view:lk:pg.s.v: REFERENCES, SELECT, UPDATE on the column `id` to role "ana"'
    assert noted in notes(found)
    found = on_columns(secured=True)
    assert given(found) == {}
    what = 'INSERT, REFERENCES, SELECT, UPDATE on columns to role "ana", limited by row security'
    assert f"table:lk:pg.s.t: {what}" in notes(found)


def test_a_table_that_cannot_be_named_has_no_columns_of_another() -> None:
    found = on_columns(name="dot.ted")
    assert given(found) == {}
    noted = 'table:lk:pg.s.dot.ted: INSERT on the column `mail.work` to role "ana"'
    assert noted in notes(found)


@pytest.mark.parametrize("missing", ["SELECT", "INSERT", "UPDATE", "DELETE"])
def test_a_part_of_it_is_never_modify_table(missing: str) -> None:
    words = {"SELECT", "INSERT", "UPDATE", "DELETE"} - {missing}
    roles = [*login("boss"), *group("readers")]
    relations = [table(*items("readers", *sorted(words)))]
    found = replace(EMPTY, roles=roles, relations=relations)
    assert "MODIFY_TABLE" not in str(given(found, data=True))


def test_views_are_never_modified() -> None:
    written = items("readers", "SELECT", "INSERT", "UPDATE", "DELETE")
    found = replace(EMPTY, roles=group("readers"), relations=[table(*written, kind="v", name="v")])
    assert given(found, data=True) == {"view:lk:pg.s.v": (["SELECT_VIEW"], ["role:lk:readers"])}


def test_the_owner_of_a_table_owns_it_and_whoever_inherits_the_owner_may_modify_it() -> None:
    found = replace(
        EMPTY,
        roles=login("ana", "app"),
        memberships=[Membership("ana", "app", inherits=True)],
        relations=[table(*items("app", "SELECT"), owner="app")],
    )
    assert cells(found, "owners") == [("table", "lk:pg.s.t", "user", "app", "")]
    assert given(found) == {"table:lk:pg.s.t": (["MODIFY_TABLE", "SELECT_TABLE"], ["user:ana"])}


def test_a_role_owns_nothing_but_its_members_may_read_and_modify() -> None:
    found = replace(
        EMPTY,
        roles=group("app"),
        relations=[table(owner="app"), table(owner="app", kind="v", name="v")],
    )
    assert cells(found, "owners") == []
    assert given(found) == {
        "table:lk:pg.s.t": (["MODIFY_TABLE", "SELECT_TABLE"], ["role:lk:app"]),
        "view:lk:pg.s.v": (["SELECT_VIEW"], ["role:lk:app"]),
    }
    assert 'table:lk:pg.s.t: the owner role "app": it is a role' in notes(found)


@pytest.mark.parametrize(
    ("owner_of_table", "owned"),
    [
        ("boss", [("catalog", "lk:pg"), ("schema", "lk:pg.s"), ("table", "lk:pg.s.t")]),
        ("ana", [("table", "lk:pg.s.t")]),
    ],
)
def test_what_has_members_is_owned_if_all_of_them_have_the_same_owner(
    owner_of_table: str, owned: Sequence[tuple[str, str]]
) -> None:
    found = replace(
        EMPTY,
        roles=login("ana", "boss"),
        schemas=[Schema("s", "pg_database_owner")],
        relations=[table(owner=owner_of_table)],
    )
    assert [row[:2] for row in cells(found, "owners")] == owned


def test_a_sequence_of_another_owner_counts_as_well() -> None:
    found = replace(
        EMPTY,
        roles=login("ana", "boss"),
        schemas=[Schema("s", "boss")],
        relations=[table(owner="ana", kind="S", name="q")],
    )
    assert cells(found, "owners") == []


def test_privileges_of_the_database_owner_through_its_own_role() -> None:
    found = replace(
        EMPTY,
        roles=[*login("boss"), *group("pg_database_owner")],
        schemas=[Schema("public", "pg_database_owner", items("pg_database_owner", "USAGE"))],
    )
    assert given(found) == {"schema:lk:pg.public": (["USE_SCHEMA"], ["user:boss"])}


def test_row_security_makes_a_grant_mean_less() -> None:
    found = replace(
        EMPTY,
        roles=[*login("boss"), *group("readers")],
        relations=[table(*items("readers", "SELECT"), secured=True)],
    )
    assert given(found) == {}
    expected = 'table:lk:pg.s.t: SELECT to role "readers", limited by row security'
    assert expected in notes(found)
    assert ("table", "lk:pg.s.t", "user", "boss", "") in cells(found, "owners")


def test_a_superuser_who_can_log_in_may_do_everything() -> None:
    roles = [Role("root", can_login=True, is_super=True), Role("wheel", False, is_super=True)]
    memberships = [Membership("ana", "root", inherits=True)]
    found = replace(EMPTY, roles=[*roles, *login("ana")], memberships=memberships)
    assert given(found) == {
        "catalog:lk:pg": (
            [
                *("CREATE_SCHEMA", "CREATE_TABLE", "CREATE_VIEW", "DELETE_ROWS", "INSERT_ROWS"),
                *("MODIFY_TABLE", "SELECT_TABLE", "SELECT_VIEW", "UPDATE_ROWS", "USE_CATALOG"),
                "USE_SCHEMA",
            ],
            ["user:root"],
        )
    }


def test_readers_of_everything_read_what_row_security_does_not_limit() -> None:
    memberships = [Membership("ana", "pg_read_all_data", inherits=True)]
    found = replace(
        EMPTY,
        roles=[*login("ana"), *group("pg_read_all_data")],
        memberships=memberships,
        schemas=[Schema("s", "boss"), Schema("z", "boss")],
        relations=[table(), table(name="u"), table(kind="v", name="v"), table(kind="S", name="q")],
    )
    reads = ["SELECT_TABLE", "SELECT_VIEW"]
    assert given(found)["catalog:lk:pg"] == ([*reads, "USE_SCHEMA"], ["user:ana"])
    secured = replace(found, relations=[*found.relations[1:], table(secured=True)])
    assert {on: to[0] for on, to in given(secured).items() if to[1] == ["user:ana"]} == {
        "catalog:lk:pg": ["USE_SCHEMA"],
        "schema:lk:pg.z": reads,
        "table:lk:pg.s.u": ["SELECT_TABLE"],
        "view:lk:pg.s.v": ["SELECT_VIEW"],
    }


def test_writers_of_everything_write_what_row_security_does_not_limit() -> None:
    found = replace(
        EMPTY,
        roles=login("ana"),
        memberships=[Membership("ana", "pg_write_all_data", inherits=True)],
    )
    rows = ["DELETE_ROWS", "INSERT_ROWS", "UPDATE_ROWS"]
    assert given(found) == {"catalog:lk:pg": ([*rows, "USE_SCHEMA"], ["user:ana"])}
    relations = [table(secured=True), table(name="u"), table(kind="v", name="v")]
    secured = replace(found, schemas=[Schema("s", "boss")], relations=relations)
    assert {on: to[0] for on, to in given(secured).items() if to[1] == ["user:ana"]} == {
        "catalog:lk:pg": ["USE_SCHEMA"],
        "table:lk:pg.s.u": rows,
    }
    what = 'DELETE, INSERT, UPDATE to role "pg_write_all_data", limited by row security'
    assert f"relation s.t: {what}" in notes(secured)


def test_a_grant_to_one_of_the_servers_own_roles_reaches_its_members() -> None:
    found = replace(
        EMPTY,
        roles=[*login("ana"), *group("pg_monitor")],
        memberships=[Membership("ana", "pg_monitor", inherits=True)],
        relations=[table(*items("pg_monitor", "SELECT"))],
    )
    assert given(found)["table:lk:pg.s.t"] == (["SELECT_TABLE"], ["user:ana"])


def test_the_right_to_pass_a_grant_on_is_noted() -> None:
    granted = items("readers", "SELECT", option=True)
    found = replace(EMPTY, roles=group("readers"), relations=[table(*granted)])
    assert 'table:lk:pg.s.t: grant option of SELECT to role "readers"' in notes(found)


def test_names_that_gravitino_cannot_have_are_rejected() -> None:
    found = replace(
        EMPTY,
        roles=[*login("ana", "*"), *group("readers")],
        relations=[table(*items("readers", "SELECT"), owner="ana", name="a.b")],
    )
    rejected = [(row.table, row.cells[0], row.reason) for row in rows(found) if row.reason]
    assert rejected == [
        ("entities", "user", BAD_NAME),
        ("principals", "user", BAD_NAME),
        ("owners", "table", BAD_NAME),
        ("statements", 'role "readers" on table:lk:pg.s.a.b', BAD_STATEMENT),
    ]
    assert ("user", "*", "implied", "members:lk") not in cells(found, "memberships")


def test_what_the_catalog_noted_is_passed_on() -> None:
    found = replace(EMPTY, notes=[("s.t", "grants on columns: 1")])
    assert "s.t: grants on columns: 1" in notes(found)
