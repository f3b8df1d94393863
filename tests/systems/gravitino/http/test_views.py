"""Views of Gravitino's API: their sources are stored with them."""

from __future__ import annotations

from lakewarden.kernel.entity import Entity
from tests.systems.gravitino.http.small_lake import ML, S
from tests.systems.gravitino.http.wire import REALM, Json, Wire

VIEW = f"{S}/views/v"


def create(lake: Wire, sql: str, **members: object) -> None:
    query = {"type": "sql", "dialect": "trino", "sql": sql}
    lake.good("POST", f"{S}/views", {"name": "v", "representations": [query], **members})


def reads(lake: Wire, name: str = "lk:rel.s.v") -> list[str]:
    coded = lake.service.state.realms[REALM].matrix.snapshot.coded
    id = coded.tree.find(Entity("view", name))
    assert id is not None
    return list(coded.attributes.get(id, {}).get("reads", ()))


def replaced(lake: Wire, sql: str) -> Json:
    query = {"type": "sql", "dialect": "trino", "sql": sql}
    update = {"@type": "replaceView", "representations": [query]}
    return lake.good("PUT", VIEW, {"updates": [update]})


def test_a_view_reads_the_tables_and_columns_that_its_query_names(lake: Wire) -> None:
    create(lake, "select name from t")
    assert reads(lake) == ["column:lk:rel.s.t.name", "table:lk:rel.s.t"]


def test_names_without_a_schema_are_in_that_of_the_view_or_the_default(lake: Wire) -> None:
    create(lake, "select * from t", defaultCatalog="other", defaultSchema="d")
    assert reads(lake) == ["table:lk:other.d.t"]


def test_another_query_reads_something_else(lake: Wire) -> None:
    create(lake, "select name from t")
    replaced(lake, "select id from rel.s.t2")
    assert reads(lake) == ["column:lk:rel.s.t2.id", "table:lk:rel.s.t2"]
    replaced(lake, "select 1")
    assert reads(lake) == []


def test_what_a_view_reads_is_kept_on_rename_and_removed_with_the_view(lake: Wire) -> None:
    create(lake, "select name from t")
    lake.good("PUT", VIEW, {"updates": [{"@type": "rename", "newName": "w"}]})
    assert reads(lake, "lk:rel.s.w") == ["column:lk:rel.s.t.name", "table:lk:rel.s.t"]
    lake.good("DELETE", f"{S}/views/w")
    create(lake, "select 1")
    assert reads(lake) == []


def test_a_text_that_is_no_query_reads_nothing(lake: Wire) -> None:
    create(lake, "this is (no query")
    assert reads(lake) == []
    assert lake.good("GET", f"{ML}/catalogs/rel/schemas/s/views/v")["view"]["name"] == "v"
