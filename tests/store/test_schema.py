"""The tables: the migrations create exactly the shapes that the kernel declares."""

from __future__ import annotations

from dataclasses import fields

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from lakewarden.kernel.relations import TABLES
from lakewarden.service.realm import Realm, Token
from lakewarden.store import SqlStore, schema, search_engine
from lakewarden.store.operation import TOKEN_COLUMNS

OURS = ("id", "scope", "key")


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_facts_has_the_columns_that_the_kernel_declares(name: str) -> None:
    table = schema.metadata.tables[name]
    shown = [c for c in table.c if c.name not in OURS and not c.name.endswith("_key")]
    declared = sorted((column.name, column.nullable) for column in TABLES[name])
    assert sorted((c.name, bool(c.nullable)) for c in shown) == declared
    assert {column.kind for column in TABLES[name]} == {"string"}


def test_realms_and_tokens_have_a_column_for_each_field() -> None:
    # The text of a model is in a separate table, by its digest.
    named = {"digest" if f.name == "text" else f.name for f in fields(Realm)}
    assert named == set(schema.realms.c.keys()) - {"scope"}
    assert {f.name for f in fields(Token)} == set(schema.tokens.c.keys()) - {"scope", "key"}
    assert set(TOKEN_COLUMNS) == {f.name for f in fields(Token)}


def test_the_migrations_lead_to_exactly_these_tables(store: SqlStore) -> None:
    with store.engine.connect() as connection:
        opts = {"compare_type": True, "include_name": _is_no_index}
        context = MigrationContext.configure(connection, opts=opts)
        assert compare_metadata(context, schema.metadata) == []


def _is_no_index(name: str | None, type: str, _: object) -> bool:
    """The full text index is derived from the other tables, in its engine's own form."""
    return type != "table" or not (name or "").startswith(search_engine.TABLE)


def test_every_text_is_compared_by_its_bytes(store: SqlStore) -> None:
    if store.engine.dialect.name == "sqlite":
        with store.engine.connect() as connection:
            made = connection.execute(sa.text("select sql from sqlite_master")).scalars()
            assert not any("collate" in (sql or "").lower() for sql in made)
        return
    query = sa.text(
        "select table_name, column_name, collation_name from information_schema.columns"
        " where table_schema = 'public' and data_type = 'text' and table_name <> 'search'"
    )
    with store.engine.connect() as connection:
        rows = connection.execute(query).all()
    texts = sum(isinstance(c.type, sa.Text) for t in schema.metadata.sorted_tables for c in t.c)
    assert len(rows) == texts
    assert {row.collation_name for row in rows} == {"C"}
