"""Schemas: migrated up and down with data, refused if too new, one process at a time."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.config import Config
from alembic.script import ScriptDirectory

from lakewarden.kernel.change import EntityAdded, EntityRenamed
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.service.audit import first_fault
from lakewarden.service.effect import DocumentChanged, Effect, SecretChanged
from lakewarden.service.search_terms import Term
from lakewarden.store import SqlStore, open_store, search_engine, upgrade
from lakewarden.store import store as stores
from lakewarden.store.backup import rows_digest
from lakewarden.store.engine import create
from lakewarden.store.migrations import versions
from lakewarden.systems.datahub.aspects import edges
from lakewarden.testing.worlds import make
from tests.cheap_stores import PREPARED
from tests.servers import fresh_database
from tests.store.conftest import POSTGRES, SQLITE
from tests.store.lake import GRAVITINO, SCHEMA, effects_of, events, facts, sets, tables, with_realm
from tests.store.test_effects import expressible

STEPS = sorted(name[1:5] for _, name, _ in pkgutil.iter_modules(versions.__path__))


@pytest.fixture(params=[SQLITE, pytest.param(POSTGRES, marks=pytest.mark.postgres)])
def url(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """The URL of a database without tables; opening it creates them like in the product."""
    monkeypatch.setattr(stores, "_prepare", PREPARED)
    if request.param == SQLITE:
        yield f"sqlite:///{tmp_path / 'lakewarden.db'}"
        return
    with fresh_database(request.getfixturevalue("postgres_url")) as fresh:
        yield fresh


def full(store: SqlStore) -> None:
    """A store with rows in every table."""
    kept: list[Effect] = [DocumentChanged(SCHEMA, {"ü": 1}), SecretChanged(SCHEMA, "k", "v")]
    with_realm(store, *tables(300), *kept)
    with store.writing() as writing:
        writing.apply("other", list(effects_of(expressible(make(GRAVITINO, 3).facts))))
        writing.commit(events(range(5)))
    store.add_usage("2026-11-21", {("lake", "ana", "table.load", SCHEMA): 2})


def digest(engine: sa.Engine) -> str:
    with engine.connect() as connection:
        return rows_digest(connection)


def test_down_and_up_again_keeps_every_row(url: str) -> None:
    with open_store(url) as store:
        full(store)
        before, rows = digest(store.engine), sets(facts(store))
        upgrade.downgrade(store.engine, STEPS[0])
        lower = digest(store.engine)
        assert lower != before  # it names the schema
        upgrade.upgrade(store.engine)
        assert digest(store.engine) == before
        upgrade.downgrade(store.engine, STEPS[0])
        assert digest(store.engine) == lower
        upgrade.upgrade(store.engine)
        assert sets(facts(store)) == rows
        with store.reading() as reading:
            assert first_fault(reading.audit(), reading.audit_head) is None
        with store.writing() as writing:
            writing.apply("lake", [EntityRenamed(SCHEMA, "lk:c.z")])
            assert writing.commit(()) == 3


def test_all_the_way_down_leaves_nothing(url: str) -> None:
    with open_store(url) as store:
        full(store)
        upgrade.downgrade(store.engine, upgrade.EMPTY)
        left = set(sa.inspect(store.engine).get_table_names())
        assert left == {"alembic_version"}
        upgrade.upgrade(store.engine)
        assert store.revision() == 0


def test_opening_a_second_time_changes_nothing(url: str) -> None:
    with open_store(url) as store:
        full(store)
        before = digest(store.engine)
    with open_store(url) as store:
        assert digest(store.engine) == before
    with open_store(url, upgrade=False) as store:
        assert digest(store.engine) == before


def test_an_older_schema_is_brought_up_or_named(url: str) -> None:
    with open_store(url) as store:
        upgrade.downgrade(store.engine, STEPS[0])
    with pytest.raises(
        Unavailable, match=f"has schema `0001`, but this release requires `{STEPS[-1]}`"
    ):
        open_store(url, upgrade=False)
    open_store(url).close()
    open_store(url, upgrade=False).close()


def test_a_database_without_schema_is_not_opened_as_it_is(url: str) -> None:
    with pytest.raises(Unavailable, match="has schema `none`"):
        open_store(url, upgrade=False)


def test_who_only_looks_makes_nothing_of_a_database_that_holds_nothing(url: str) -> None:
    with pytest.raises(Unavailable, match="is empty; run `lakewarden init`"):
        open_store(url, makes=False)
    engine = create(url)
    assert sa.inspect(engine).get_table_names() == []
    engine.dispose()
    open_store(url).close()
    open_store(url, makes=False).close()


@pytest.mark.parametrize("upgrades", [True, False])
def test_a_newer_schema_is_refused_and_left_alone(url: str, upgrades: bool) -> None:
    with open_store(url) as store:
        full(store)
        with store.engine.begin() as connection:
            connection.exec_driver_sql("update alembic_version set version_num = '9999'")
            connection.exec_driver_sql("update counter set usable_from = '9999'")
        before = digest(store.engine)
        with pytest.raises(Unavailable, match="requires a release with schema `9999`"):
            open_store(url, upgrade=upgrades)
        with pytest.raises(Unavailable, match="9999"):
            upgrade.downgrade(store.engine, STEPS[0])
        assert digest(store.engine) == before


def test_a_step_that_fails_leaves_the_schema_as_it_was(url: str) -> None:
    with open_store(url) as store:
        full(store)
        upgrade.downgrade(store.engine, STEPS[0])
        with store.engine.begin() as connection:
            connection.exec_driver_sql("create table usage_realm (x int)")  # the name is in use
        before = digest(store.engine)
        with pytest.raises(Unavailable):
            upgrade.upgrade(store.engine)
        assert digest(store.engine) == before
        assert not {i["name"] for i in sa.inspect(store.engine).get_indexes("entities")} & {
            "entities_parent",
            "entities_scope",
        }
        with store.engine.begin() as connection:
            connection.exec_driver_sql("drop table usage_realm")
        upgrade.upgrade(store.engine)


def test_steps_are_named_by_the_schemas_that_they_lead_to() -> None:
    config = Config()
    config.set_main_option("script_location", "lakewarden.store:migrations")
    scripts = ScriptDirectory.from_config(config)
    assert sorted(script.revision for script in scripts.walk_revisions()) == STEPS
    assert scripts.get_current_head() == STEPS[-1]


def test_several_processes_may_start_at_once(url: str) -> None:
    def start(_: int) -> int:
        with open_store(url) as store:
            return store.revision()

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(start, range(6))) == [0] * 6


def test_the_way_there_is_the_same_from_a_fresh_engine(url: str) -> None:
    engine = create(url)
    with closing(SqlStore(engine)) as store:
        for step in STEPS:
            upgrade.upgrade(engine, step)
            with engine.connect() as connection:
                assert upgrade.current(connection) == step
        upgrade.check(engine)
        assert store.revision() == 0


@pytest.mark.parametrize(
    "wrong",
    [
        *("", "nonsense", "mysql://x/y", "sqlite://", "sqlite:///:memory:", "sqlite:///x?mode=ro"),
        *("oracle://scott:tiger@x/y", "postgresql+nonsense://x/y?port=hunter2"),
    ],
)
def test_a_url_that_is_none_of_a_store_is_refused(wrong: str) -> None:
    if wrong.startswith("postgresql+"):
        with pytest.raises((BadInput, Unavailable)) as refused:
            open_store(wrong)
    else:
        with pytest.raises(BadInput, match="expected `") as refused:
            open_store(wrong)
    assert "tiger" not in str(refused.value)


def test_an_older_index_does_not_know_edges_until_it_is_brought_up(url: str) -> None:
    name = "urn:li:chart:(looker,c)"
    of = "urn:li:dataset:(urn:li:dataPlatform:hive,a,PROD)"
    chart = Entity("chart", name)
    kept = {"aspects": {"chartInfo": {"value": {"inputs": [of]}}}}
    asked = [[Term(edges.term("Consumes", of))]]
    with open_store(url) as store:
        with_realm(store, EntityAdded(chart, None), DocumentChanged(chart, kept))
        with store.reading() as reading:
            known = list(reading.matching_ids("lake", asked))
            assert len(known) == 1
        upgrade.downgrade(store.engine, "0009")
        with store.engine.begin() as connection:
            search_engine.clear(connection, 1)
        upgrade.upgrade(store.engine)
        with store.reading() as reading:
            assert list(reading.matching_ids("lake", asked)) == known
