"""Objects that users create in Spark, if the realm follows: theirs, but only if that is certain."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.errors import PySparkException

from lakewarden.gateway import following
from lakewarden.gateway.following import CatalogChange
from lakewarden.kernel.change import StatementAdded, StatementRemoved
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import Unavailable
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.actor import SYSTEM
from tests.gateway.estate import NAMES, REALM, SALES, Estate
from tests.gateway.running import Running, served

pytestmark = pytest.mark.spark
ROW = "select 1 as id, 'first' as text"


@pytest.fixture(name="followed", scope="module")
def _followed(tmp_path_factory: pytest.TempPathFactory, spark_port: int) -> Iterator[Running]:
    """A gateway whose realm follows; `bo` may create tables and views in sales."""
    estate = Estate(tmp_path_factory.mktemp("followed"))
    system = estate.service.state.realm(REALM).system
    grant = {"id": "views", "privileges": ["CREATE_VIEW"], "to": ["user:bo"]}
    grant["on"] = f"schema:{SALES}"
    read = read_statements([grant], system.model, system.spelling, "grants")
    estate.service.write(SYSTEM, lambda d: d.change(REALM, *map(StatementAdded, read)))
    with served(estate, spark_port, NAMES.model_copy(update={"follow": True})) as running:
        yield running
    estate.store.close()


def owners(running: Running, name: str, type: str = "table") -> list[str] | None:
    """The owners; None: the realm has no such name."""
    coded = running.estate.service.state.realm(REALM).matrix.snapshot.coded
    above = SALES.rpartition(".")[0] if type == "schema" else SALES
    id = coded.tree.find(Entity(type, f"{above}.{name}"))
    if id is None or id not in coded.tree.stored:
        return None
    return [coded.memberships.principals[owner].name for owner, _ in coded.owners.of(id)]


def test_what_a_user_makes_is_theirs_from_its_first_read_to_its_end(followed: Running) -> None:
    bo, ana = followed.session("bo"), followed.session("ana")
    bo.sql(f"create table made_a as {ROW}").collect()
    assert owners(followed, "made_a") == ["bo"]
    assert bo.table("made_a").count() == 1
    bo.sql("insert into made_a values (2, 'second')").collect()
    with pytest.raises(PySparkException, match="not allowed"):
        ana.sql("drop table made_a").collect()
    bo.sql("create view made_v as select id from made_a").collect()
    assert owners(followed, "made_v", "view") == ["bo"]
    assert bo.table("made_v").count() == 2
    bo.sql("drop view made_v").collect()
    assert owners(followed, "made_v", "view") is None
    bo.sql("alter table made_a rename to made_b").collect()
    assert (owners(followed, "made_a"), owners(followed, "made_b")) == (None, ["bo"])
    bo.sql("drop table made_b").collect()
    assert owners(followed, "made_b") is None


def test_a_table_that_is_dropped_and_made_again_has_its_masks(followed: Running) -> None:
    bo, olga = followed.session("bo"), followed.session("olga")
    service = followed.estate.service
    system = service.state.realm(REALM).system
    table = {"id": "again", "effect": "mask", "expression": "null", "to": ["user:bo"]}
    table["on"] = f"column:{SALES}.twice.text"
    read = read_statements([table], system.model, system.spelling, "masks")
    bo.sql(f"create table twice as {ROW}").collect()
    service.write(SYSTEM, lambda d: d.change(REALM, *map(StatementAdded, read)))
    assert [row.text for row in bo.table("twice").collect()] == [None]
    olga.sql("drop table twice").collect()
    assert owners(followed, "twice") is None
    bo.sql(f"create table twice as {ROW}").collect()
    assert [row.text for row in bo.table("twice").collect()] == [None]
    olga.sql("drop table twice").collect()
    service.write(SYSTEM, lambda d: d.change(REALM, StatementRemoved("again")))


@pytest.mark.nightly  # by day, statements create them
def test_frames_make_tables_too(followed: Running) -> None:
    bo = followed.session("bo")
    rows = bo.createDataFrame([(1, "first")], "id long, text string")
    rows.write.saveAsTable("sales.frame_a")
    rows.writeTo("sales.frame_b").using("parquet").create()
    rows.write.mode("ignore").saveAsTable("sales.frame_c")
    for name in ("frame_a", "frame_b", "frame_c"):
        assert owners(followed, name) == ["bo"], name
        assert bo.table(name).count() == 1
        bo.sql(f"drop table {name}").collect()
        assert owners(followed, name) is None


@pytest.mark.nightly
def test_schemas_are_followed(followed: Running) -> None:
    olga = followed.session("olga")
    olga.sql("create schema if not exists made_s").collect()
    assert owners(followed, "made_s", "schema") == ["olga"]
    olga.sql(f"create table made_s.inside as {ROW}").collect()
    assert olga.table("made_s.inside").count() == 1
    olga.sql("drop table made_s.inside").collect()
    olga.sql("drop schema made_s").collect()
    assert owners(followed, "made_s", "schema") is None


def test_what_was_there_is_not_for_who_would_make_it(followed: Running, spark_port: int) -> None:
    bo, olga = followed.session("bo"), followed.session("olga")
    with served(followed.estate, spark_port) as unfollowed:
        unfollowed.session("olga").sql(f"create table theirs as {ROW}").collect()
    assert owners(followed, "theirs") is None
    bo.sql(f"create table if not exists theirs as {ROW}").collect()
    bo.createDataFrame([(1,)], "id long").write.mode("ignore").saveAsTable("sales.theirs")
    for text in (f"create table theirs as {ROW}", "create view theirs as select * from notes"):
        with pytest.raises(PySparkException, match=r"(?i)already exists"):
            bo.sql(text).collect()
    assert owners(followed, "theirs") is None
    bo.sql(f"create table if not exists fresh as {ROW}").collect()
    assert owners(followed, "fresh") == ["bo"]
    olga.sql("drop table fresh").collect()
    assert owners(followed, "fresh") is None


def test_what_the_realm_has_keeps_its_owner(followed: Running) -> None:
    bo = followed.session("bo")
    before = owners(followed, "totals", "view")
    with pytest.raises(PySparkException):
        bo.sql("create view totals as select * from notes").collect()
    assert owners(followed, "totals", "view") == before


def test_what_fails_in_spark_is_not_there(followed: Running) -> None:
    bo = followed.session("bo")
    with pytest.raises(PySparkException):
        bo.sql("create table broken as select raise_error('no') as x from notes").collect()
    assert owners(followed, "broken") is None


def test_what_cannot_be_written_down_is_told_and_denied(
    followed: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    bo, service = followed.session("bo"), followed.estate.service
    write = following.Following.write

    def broken(self: following.Following, *_: object) -> None:
        with monkeypatch.context() as away:
            away.setattr(service, "write", fail)
            write(self, service, REALM)

    def fail(*_: object, **__: object) -> None:
        raise Unavailable("the store cannot be written")

    with monkeypatch.context() as patch:
        patch.setattr(following.Following, "write", broken)
        with pytest.raises(PySparkException, match=r"create table spark_catalog\.sales\.unheard"):
            bo.sql(f"create table unheard as {ROW}").collect()
    assert owners(followed, "unheard") is None
    with pytest.raises(PySparkException, match="not allowed: read a table"):
        bo.table("unheard").collect()


def test_who_may_not_make_it_is_denied_as_before(followed: Running) -> None:
    with pytest.raises(PySparkException, match="not allowed"):
        followed.session("ana").sql(f"create table of_ana as {ROW}").collect()
    assert owners(followed, "of_ana") is None


def test_a_followed_change_is_audited(followed: Running) -> None:
    followed.session("bo").sql(f"create table audited as {ROW}").collect()
    with followed.estate.service.reading() as reading:
        rows = [row.body for row in reading.audit() if '"done by Spark"' in row.body]
    assert any('"table:lk:lake.sales.audited"' in row and '"actor":"bo"' in row for row in rows)


def test_words_for_what_is_done() -> None:
    assert CatalogChange("view", created=("c", "s", "v")).summary() == "create view c.s.v"
    assert CatalogChange("schema", dropped=("c", "s")).summary() == "drop schema c.s"
