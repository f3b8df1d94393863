"""Databases as catalogs, read from real servers: nobody has more access than there."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow, OwnerRow
from lakewarden.kernel.statement_file import read_statements
from lakewarden.pipeline.directory import load
from lakewarden.pipeline.ingest.run import Result, ingest
from lakewarden.pipeline.ingest.source import silent
from lakewarden.service.source_row import Row
from lakewarden.service.system import load_system
from lakewarden.service.warden import Warden
from lakewarden.systems.gravitino.ingest import database_connection
from lakewarden.systems.gravitino.ingest.database_connection import database_name, database_url
from lakewarden.systems.gravitino.ingest.sql import Sql
from tests.pushdown.frozen_process import frozen
from tests.pushdown.silent import silence

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GRAVITINO = load_system("gravitino")


def ingested(source: Sql, out: Path, spark: SparkSession) -> tuple[Warden, Facts, Result]:
    result = ingest(source, out, spark=spark)
    loaded = load(out)
    return Warden(loaded.system, loaded.facts), loaded.facts, result


def facts_of(rows: list[Row]) -> Facts:
    """The facts of valid rows, without a run."""

    def sound(table: str) -> list[tuple[str, ...]]:
        return [tuple(row.cells) for row in rows if row.table == table and not row.reason]

    places = {cells[:2]: Entity(*cells[2:]) for cells in sound("placements")}
    tables = [json.loads(text) for _, text in sound("statements")]
    return Facts(
        entities=[EntityRow(Entity(*c), places.get(c)) for c in sound("entities")],
        owners=[OwnerRow(Entity(*c[:2]), Principal(*c[2:4]), c[4]) for c in sound("owners")],
        principals=[Principal(*cells) for cells in sound("principals")],
        memberships=[
            MembershipRow(Principal(*c[:2]), Principal(*c[2:])) for c in sound("memberships")
        ],
        statements=read_statements(tables, GRAVITINO.model, GRAVITINO.spelling, "rows"),
    )


class Server:
    """Statements to a server, each in its own transaction."""

    def __init__(self, url: sa.URL) -> None:
        self._engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")

    def run(self, *statements: str) -> None:
        with self._engine.connect() as connection:
            for statement in statements:
                connection.execute(sa.text(statement))

    def ask(self, question: str, **values: Any) -> Any:
        with self._engine.connect() as connection:
            return connection.execute(sa.text(question), values).scalar()

    def close(self) -> None:
        self._engine.dispose()


# --- any engine ---


def test_any_engine_gives_schemas_tables_columns_and_views(
    unstarted: SparkSession, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/shop.db"
    server = Server(sa.make_url(url))
    server.run(
        "create table orders (id integer, total varchar(20) collate nocase, odd frob)",
        "create view totals as select total from orders",
    )
    server.close()
    source = Sql(url, "lk", "lite")
    warden, facts, result = ingested(source, tmp_path / "out", unstarted)
    assert {f"{row.entity.type}:{row.entity.name}" for row in facts.entities} == {
        "metalake:lk",
        "catalog:lk:lite",
        "schema:lk:lite.main",
        "table:lk:lite.main.orders",
        "column:lk:lite.main.orders.id",
        "column:lk:lite.main.orders.total",
        "column:lk:lite.main.orders.odd",
        "view:lk:lite.main.totals",
    }
    assert {(row.entity.name, row.attribute, row.value) for row in facts.attributes} == {
        ("lk:lite.main.orders.id", "type", "integer"),
        ("lk:lite.main.orders.total", "type", "varchar(20)"),
        ("lk:lite.main.orders.odd", "type", "numeric"),
        ("lk:lite.main.totals", "reads", "table:lk:lite.main.orders"),
        ("lk:lite.main.totals", "reads", "column:lk:lite.main.orders.total"),
    }
    assert result.report.not_read == ["roles and grants of sqlite"]
    assert result.manifest.options == {"metalake": "lk", "catalog": "lite"}
    assert result.manifest.inputs[0].name == f"sqlite:///{tmp_path}/shop.db"
    assert warden.who("table.load", "table:lk:lite.main.orders") == ()
    assert not ingest(source, tmp_path / "out", spark=unstarted).is_new


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        (Sql("nonsense", "lk", "c"), BadInput, "expected the URL of a database"),
        (Sql("klingon://h/d", "lk", "c"), BadInput, "expected the URL of a database"),
        (
            Sql("postgresql+psycopg://ana:secret@127.0.0.1:1/d", "lk", "c"),
            Unavailable,
            "`postgresql://127.0.0.1/d` cannot be read: ",
        ),
        (
            Sql("mysql+pymysql://ana:secret@127.0.0.1:1/d", "lk", "c"),
            Unavailable,
            "`mysql://127.0.0.1/d` cannot be read: ",
        ),
        (Sql("postgresql://ana:p@secret@db/d", "lk", "c"), BadInput, "there is an `@` behind"),
        (Sql("postgresql://ana:p@x:secret@db/d", "lk", "c"), BadInput, "there is an `@` behind"),
        (Sql("postgresql://ana:p@x/secret@db/d", "lk", "c"), BadInput, "there is an `@` behind"),
        (Sql("postgresql://ana@secret:x/d", "lk", "c"), BadInput, "expected the URL of a database"),
        (
            Sql("sqlite:///x?check_same_thread=secret", "lk", "c"),
            BadInput,
            "expected the URL of a database, .*; its options cannot be read",
        ),
        (Sql("oracle+cx_oracle://h/d", "lk", "c"), Unavailable, "the driver of the database is"),
    ],
    ids=lambda value: getattr(value, "url", None),
)
def test_a_database_that_cannot_be_read_is_told_without_its_password(
    source: Sql, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match="^" + message) as refused:
        source.rows(GRAVITINO, silent)
    assert "secret" not in f"{refused.value} {source!r}"


def test_an_at_sign_is_written_as_in_a_password(tmp_path: Path) -> None:
    assert database_url("postgresql://ana:p%40s@db/d").password == "p@s"
    path = f"sqlite:///{tmp_path}/a@b@c.db"
    assert database_name(database_url(path)) == path


def test_metalake_and_catalog_are_names_of_gravitino(
    unstarted: SparkSession, tmp_path: Path
) -> None:
    for metalake, catalog in (("l.k", "c"), ("lk", "a.b"), ("", "c"), ("lk", "*")):
        source = Sql("sqlite://", metalake, catalog)
        with pytest.raises(BadInput, match=r"metalake|catalog"):
            source.read(unstarted, GRAVITINO, tmp_path, silent)


# --- PostgreSQL ---

USERS = [f"lw_u{i}" for i in range(5)]
ROLES = [f"lw_r{i}" for i in range(5)]
SCHEMAS = [f"s{i}" for i in range(3)]
TABLES = ["t0", "t1", "t2"]
VIEWS = ["v0", "v1"]


@contextmanager
def postgres_database(url: str, name: str) -> Iterator[tuple[Server, str]]:
    """A separate database, and its URL; it and all roles `lw_…` are dropped afterwards."""
    admin = Server(sa.make_url(url))
    own = sa.make_url(url).set(database=name)
    admin.run(f"create database {name}")
    server = Server(own)
    try:
        yield server, own.render_as_string(hide_password=False)
    finally:
        server.close()
        admin.run(f"drop database {name} with (force)")
        roles = admin.ask("select string_agg(rolname, ', ') from pg_roles where rolname ~ '^lw_'")
        if roles:
            admin.run(f"drop role {roles}")
        admin.close()


def _random_postgres(server: Server, draw: random.Random) -> None:
    """Random roles, memberships with and without INHERIT, owners, grants, row security."""
    server.run(*(f"create role {user} login" for user in USERS))
    server.run(*(f"create role {role}" for role in ROLES))
    server.run("create role lw_root login superuser", "revoke connect on database lw from public")
    server.run(f"grant connect on database lw to {ROLES[0]}, {USERS[0]}, {USERS[1]}, {USERS[2]}")
    for member, role in itertools.product([*USERS, *ROLES], ROLES):
        if draw.random() < 0.2 and (member in USERS or member < role):
            server.run(f"grant {role} to {member} with inherit {draw.random() < 0.7}")
    server.run(f"grant {USERS[1]} to {USERS[0]}", f"grant pg_read_all_data to {USERS[2]}")
    server.run(f"grant pg_write_all_data to {USERS[3]}", f"grant {ROLES[0]} to {USERS[3]}")
    everybody = [*USERS, *ROLES]
    for schema in SCHEMAS:
        server.run(f"create schema {schema} authorization {draw.choice(everybody)}")
        for table in TABLES:
            server.run(f"create table {schema}.{table} (id int)")
            server.run(f"alter table {schema}.{table} owner to {draw.choice(everybody)}")
        server.run(f"alter table {schema}.t2 enable row level security")
        for view in VIEWS:
            server.run(f"create view {schema}.{view} as select 1 as id")
            server.run(f"alter view {schema}.{view} owner to {draw.choice(everybody)}")
    words = ["select", "insert", "update", "delete", "select, insert, update, delete", "all"]
    for _ in range(40):
        to, schema = draw.choice([*everybody, "public"]), draw.choice(SCHEMAS)
        name = draw.choice(TABLES + VIEWS)
        if draw.random() < 0.2:
            word = draw.choice(["select (id)", "update (id)", "insert (id), select (id)"])
            server.run(f"grant {word} on {schema}.{name} to {to}")
        else:
            server.run(f"grant {draw.choice(words)} on {schema}.{name} to {to}")
        if draw.random() < 0.3:
            server.run(
                f"grant {draw.choice(['usage', 'create', 'all'])} on schema {schema} to {to}"
            )


def _may_in_postgres(server: Server, user: str, schema: str, table: str, privilege: str) -> bool:
    """Whether the server permits it to the user, on all levels together, with all rows.

    Of several privileges, separated by commas, one suffices; `:id` means the column `id`.
    """
    answer: bool = server.ask(
        "select has_database_privilege(:user, 'lw', 'CONNECT')"
        " and has_schema_privilege(:user, :schema, 'USAGE')"
        " and case when :privilege = 'ALTER'"
        "     then pg_has_role(:user, c.relowner, 'USAGE')"
        "     else case when :is_column then has_column_privilege(:user, c.oid, 'id', :privilege)"
        "          else has_table_privilege(:user, c.oid, :privilege) end"
        "      and (not c.relrowsecurity or pg_has_role(:user, c.relowner, 'USAGE')) end"
        " from pg_class c where c.oid = cast(:name as regclass)",
        user=user,
        schema=schema,
        name=f"{schema}.{table}",
        privilege=privilege.removesuffix(":id"),
        is_column=privilege.endswith(":id"),
    )
    return answer


def _creates_in_postgres(server: Server, user: str, schema: str) -> bool:
    answer: bool = server.ask(
        "select has_database_privilege(:user, 'lw', 'CONNECT')"
        " and has_schema_privilege(:user, :schema, 'USAGE')"
        " and has_schema_privilege(:user, :schema, 'CREATE')",
        user=user,
        schema=schema,
    )
    return answer


WRITING = "INSERT, UPDATE, DELETE"
"""Any of them permits changes of a table."""

IN_POSTGRES: dict[str, dict[str | None, str]] = {
    "table": {
        GRAVITINO.model.reaching("see", "table"): "SELECT",
        GRAVITINO.model.reaching("read", "table"): "SELECT",
        GRAVITINO.model.reaching("change", "table"): WRITING,
        "table.alter": "ALTER",
    },
    "view": {
        GRAVITINO.model.reaching("see", "view"): "SELECT",
        GRAVITINO.model.reaching("read", "view"): "SELECT",
        "view.alter": "ALTER",
    },
    "column": {"column.read": "SELECT:id", "column.write": "INSERT, UPDATE:id"},
}
"""The requirements of each operation in PostgreSQL: the alternatives; some have none."""


@pytest.mark.by_day(1)
@pytest.mark.parametrize("seed", range(8))
def test_postgres_and_the_catalog_agree_on_who_reads_changes_and_alters(
    postgres_url: str, seed: int
) -> None:
    differences: list[str] = []
    allowed = Counter[str]()
    with postgres_database(postgres_url, "lw") as (server, url):
        _random_postgres(server, random.Random(seed))
        warden = Warden(GRAVITINO, facts_of(Sql(url, "lk", "pg").rows(GRAVITINO, silent)[0]))
        leaves = [(type, name) for type in ("table", "column") for name in TABLES]
        leaves += [("view", name) for name in VIEWS]
        for user, schema, (type, name) in itertools.product([*USERS, "lw_root"], SCHEMAS, leaves):
            on = f"{type}:lk:pg.{schema}.{name}{'.id' if type == 'column' else ''}"
            for operation, privilege in IN_POSTGRES[type].items():
                assert operation is not None
                ours = warden.check(user, operation, on).allow
                theirs = _may_in_postgres(server, user, schema, name, privilege)
                allowed[operation] += theirs
                # Only its owner alters a view, and an owner in Gravitino is never a role.
                is_less = (operation, ours) == ("view.alter", False)
                if ours != theirs and not is_less:
                    differences.append(f"{user} {operation} {on}: ours {ours}, theirs {theirs}")
        for user, schema in itertools.product([*USERS, "lw_root"], SCHEMAS):
            creates = warden.check(user, "table.create", f"schema:lk:pg.{schema}").allow
            if creates and not _creates_in_postgres(server, user, schema):
                differences.append(f"{user} creates tables in {schema}")
    assert differences == []
    assert 10 < allowed["table.load"] + allowed["table.alter"] < 100
    assert allowed["table.alter"] < allowed["table.write"] < 54
    assert allowed["table.load"] <= allowed["column.read"] < 54


def test_to_create_in_a_schema_of_postgres_reads_none_of_its_views(postgres_url: str) -> None:
    with postgres_database(postgres_url, "lw") as (server, url):
        server.run(
            *(f"create role {user} login" for user in USERS),
            "create schema legacy",
            "create view legacy.v as select 1 as id",
            "grant usage, create on schema legacy to public",
            f"grant select on legacy.v to {USERS[0]}",
        )
        rows, _, _ = Sql(url, "lk", "pg").rows(GRAVITINO, silent)
        warden = Warden(GRAVITINO, facts_of(rows))
    assert set(warden.who("view.load", "view:lk:pg.legacy.v")) & set(USERS) == {USERS[0]}
    creators = set(warden.who("table.create", "schema:lk:pg.legacy"))
    assert set(USERS) <= creators
    assert "schema:lk:pg.legacy: CREATE of views to PUBLIC" in _notes(rows, "legacy")


def test_postgres_is_ingested_and_decides(
    unstarted: SparkSession, tmp_path: Path, postgres_url: str
) -> None:
    with postgres_database(postgres_url, "lw") as (server, url):
        server.run(
            "create role lw_ana login",
            "create role lw_ben login",
            "create role lw_readers",
            "create role lw_staff in role lw_readers",
            "grant lw_staff to lw_ana",
            "create schema shop",
            "create table shop.orders (id int)",
            "grant usage on schema shop to lw_readers",
            "grant select on shop.orders to lw_readers",
            "grant insert on shop.orders to lw_ana",
        )
        source = Sql(url, "lk", "pg")
        warden, facts, result = ingested(source, tmp_path / "out", unstarted)
        assert not ingest(source, tmp_path / "out", spark=unstarted).is_new
    orders = "table:lk:pg.shop.orders"
    assert warden.check("lw_ana", "table.load", orders).allow
    assert not warden.check("lw_ana", "table.alter", orders).allow
    assert not warden.check("lw_ben", "table.load", orders).allow
    assert EntityRow(Entity("schema", "lk:pg.shop"), Entity("catalog", "lk:pg")) in facts.entities
    assert not {row.entity.name for row in facts.entities} & {"lk:pg.information_schema"}
    notes = {f"{note.subject}: {note.what}" for note in result.report.notes}
    assert warden.check("lw_ana", "table.write", orders).allow
    assert not warden.check("lw_ben", "table.write", orders).allow
    assert warden.check("lw_ana", "INSERT_ROWS", orders).allow
    assert not warden.check("lw_ana", "DELETE_ROWS", orders).allow
    assert not any(orders in note for note in notes)
    assert result.report.note_count == len(result.report.notes)
    assert result.report.quarantined == {}


def test_what_postgres_has_beside_tables(postgres_url: str) -> None:
    with postgres_database(postgres_url, "lw") as (server, url):
        server.run(
            "create role lw_ana login",
            "create role lw_readers",
            "create role lw_lone login noinherit",
            "grant lw_readers to lw_lone",
            "create schema shop",
            'create table shop."dot.ted" (id int)',
            "create table shop.parts (id int) partition by range (id)",
            "create table shop.orders (id int, total money, spot point)",
            "create view shop.totals as select 1 as one",
            "create materialized view shop.kept as select 1 as one",
            "grant insert on shop.totals to lw_ana",
            "create sequence shop.numbers",
            "create function shop.f() returns int language sql as 'select 1'",
            "grant usage on schema shop to lw_ana with grant option",
            "grant select on shop.totals, shop.kept, shop.parts to lw_ana",
            "grant select (id) on shop.orders to lw_ana",
            "grant usage on sequence shop.numbers to lw_ana",
            "grant execute on function shop.f() to lw_ana",
            "alter default privileges in schema shop grant select on tables to lw_ana",
        )
        rows, not_read, name = Sql(url, "lk", "pg").rows(GRAVITINO, silent)
    assert not_read == []
    entities = {row.cells: row.reason for row in rows if row.table == "entities"}
    shop = {cells: reason for cells, reason in entities.items() if ".shop." in cells[1]}
    assert shop == {
        ("table", "lk:pg.shop.dot.ted"): "bad name",
        ("column", "lk:pg.shop.dot.ted.id"): "bad name",
        ("table", "lk:pg.shop.parts"): "",
        ("column", "lk:pg.shop.parts.id"): "",
        ("table", "lk:pg.shop.orders"): "",
        ("column", "lk:pg.shop.orders.id"): "",
        ("column", "lk:pg.shop.orders.total"): "",
        ("column", "lk:pg.shop.orders.spot"): "",
        ("view", "lk:pg.shop.totals"): "",
        ("view", "lk:pg.shop.kept"): "",
    }
    assert _notes(rows, "shop") >= {
        'schema:lk:pg.shop: grant option of USAGE to role "lw_ana"',
        'view:lk:pg.shop.totals: INSERT to role "lw_ana"',
        'relation shop.numbers: USAGE to role "lw_ana"',
    }
    assert _notes(rows, name) == {
        f"{name}: grants on functions: 1",
        f"{name}: grants on what will be created: 1",
    }
    assert 'lw_lone: membership in role "lw_readers" without INHERIT' in _notes(rows, "lw_lone")


def _notes(rows: list[Row], part: str) -> set[str]:
    texts = {": ".join(row.cells) for row in rows if row.table == "notes"}
    return {text for text in texts if part in text}


# --- MariaDB ---

ACCOUNTS = [f"lw_u{i}" for i in range(4)]
DATABASES = ["lw_a", "lw_b", "lw_ab"]


@contextmanager
def mariadb_accounts(url: str) -> Iterator[tuple[Server, sa.URL]]:
    """A server; all databases and accounts `lw_…` are dropped afterwards."""
    own = sa.make_url(url)
    server = Server(own)
    try:
        yield server, own
    finally:
        server.run(*(f"drop database if exists {name}" for name in DATABASES))
        server.run(*(f"drop user if exists {name}@'%'" for name in ACCOUNTS))
        server.run(*(f"drop role if exists {role}" for role in ROLES))
        server.close()


def _random_mariadb(server: Server, draw: random.Random) -> None:
    """Random accounts, active and inactive roles, grants on all levels."""
    server.run(*(f"create user {user}@'%' identified by 'pw'" for user in ACCOUNTS))
    server.run(*(f"create role {role}" for role in ROLES))
    for user in ACCOUNTS:
        for role in draw.sample(ROLES, 2):
            server.run(f"grant {role} to {user}@'%'")
            if draw.random() < 0.6:
                server.run(f"set default role {role} for {user}@'%'")
    for role, other in itertools.combinations(ROLES, 2):
        if draw.random() < 0.3:
            server.run(f"grant {other} to {role}")
    for database in DATABASES:
        server.run(f"create database {database}")
        for table in TABLES:
            server.run(f"create table {database}.{table} (id int)")
        for view in VIEWS:
            server.run(f"create view {database}.{view} as select 1 as id")
    words = ["select", "insert", "insert, update, delete", "alter", "select, insert", "all", "drop"]
    words += ["create view", "create", "select (id)", "insert (id)", "update (id)", "delete"]
    grantees = [*(f"{user}@'%'" for user in ACCOUNTS), *ROLES]
    for _ in range(30):
        to, database = draw.choice(grantees), draw.choice([*DATABASES, "lw\\_a%", "lw__"])
        word = draw.choice(words)
        if "(" not in word and (draw.random() < 0.4 or database not in DATABASES):
            server.run(f"grant {word} on `{database}`.* to {to}")
        else:
            database = draw.choice(DATABASES) if database not in DATABASES else database
            server.run(f"grant {word} on {database}.{draw.choice(TABLES + VIEWS)} to {to}")
    server.run(f"grant select on *.* to {ACCOUNTS[3]}@'%'", f"grant update on *.* to {ROLES[0]}")


IN_MARIADB = {
    "INSERT_ROWS": "insert into {} values (1)",
    "UPDATE_ROWS": "update {} set id = 1",
    "DELETE_ROWS": "delete from {}",
}
"""The acts on a table that each privilege permits."""


def _succeeds(server: Server, statement: str) -> bool:
    try:
        server.run(statement)
    except sa.exc.OperationalError as error:
        assert "denied" in str(error)  # noqa: PT017
        return False
    return True


@pytest.mark.by_day(1)
@pytest.mark.parametrize("seed", range(8))
def test_mariadb_lets_everybody_do_what_the_catalog_says(mariadb_url: str, seed: int) -> None:
    read, modified, changed, overstated = 0, 0, 0, list[str]()
    change = GRAVITINO.model.reaching("change", "table")
    assert change is not None
    with mariadb_accounts(mariadb_url) as (admin, url):
        _random_mariadb(admin, random.Random(seed))
        source = Sql(url.render_as_string(hide_password=False), "lk", "my")
        warden = Warden(GRAVITINO, facts_of(source.rows(GRAVITINO, silent)[0]))
        for user in ACCOUNTS:
            server = Server(sa.URL.create(url.drivername, user, "pw", url.host, url.port))
            server.run("select 1")
            for database, table in itertools.product(DATABASES, TABLES):
                on, name = f"table:lk:my.{database}.{table}", f"{database}.{table}"
                loads = warden.check(user, "table.load", on).allow
                alters = warden.check(user, "table.alter", on).allow
                changes = warden.check(user, change, on).allow
                read, modified, changed = read + loads, modified + alters, changed + changes
                held = [word for word in IN_MARIADB if warden.check(user, word, on).allow]
                if changes and not held and not alters:
                    overstated.append(f"{user} changes {on}")
                for word in held:
                    if not _succeeds(server, IN_MARIADB[word].format(name)):
                        overstated.append(f"{user} has {word} on {on}")
                column = f"column:lk:my.{database}.{table}.id"
                if warden.check(user, "column.read", column).allow and not _succeeds(
                    server, f"select id from {name}"
                ):
                    overstated.append(f"{user} reads {column}")
                if warden.check(user, "column.write", column).allow and not (
                    _succeeds(server, f"insert into {name} (id) values (1)")
                    or _succeeds(server, f"update {name} set id = 1")
                ):
                    overstated.append(f"{user} writes {column}")
                if loads and not _succeeds(server, f"select * from {name}"):
                    overstated.append(f"{user} reads {on}")
                if alters and not all(
                    [
                        _succeeds(server, f"insert into {name} values (1)"),
                        _succeeds(server, f"update {name} set id = id + 1"),
                        _succeeds(server, f"delete from {name} where id < 0"),
                        _succeeds(server, f"alter table {name} comment 'x'"),
                    ]
                ):
                    overstated.append(f"{user} alters {on}")
            for database, view in itertools.product(DATABASES, VIEWS):
                on = f"view:lk:my.{database}.{view}"
                reads = warden.check(user, "view.load", on).allow
                if reads and not _succeeds(server, f"select * from {database}.{view}"):
                    overstated.append(f"{user} reads {on}")
            server.close()
    assert overstated == []
    assert 0 < read < 36
    assert modified <= read
    assert modified < changed < 36


def test_mariadb_is_ingested_and_decides(
    unstarted: SparkSession, tmp_path: Path, mariadb_url: str
) -> None:
    with mariadb_accounts(mariadb_url) as (server, url):
        server.run(
            "create user lw_u0@'%'",
            "create user lw_u1@'%'",
            "create role lw_r0",
            "create role lw_r1",
            "grant lw_r0 to lw_r1",
            "grant lw_r1 to lw_u0@'%'",
            "set default role lw_r1 for lw_u0@'%'",
            "create database lw_a",
            "create table lw_a.t (id int)",
            "grant select on lw_a.* to lw_r0",
            "grant all on lw_a.t to lw_u1@'%'",
        )
        source = Sql(url.render_as_string(hide_password=False), "lk", "my")
        warden, facts, result = ingested(source, tmp_path / "out", unstarted)
    table = "table:lk:my.lw_a.t"
    assert warden.check("lw_u0", "table.load", table).allow
    assert not warden.check("lw_u0", "table.alter", table).allow
    assert warden.check("lw_u1", "table.alter", table).allow
    names = {row.entity.name for row in facts.entities}
    assert {"lk:my.lw_a.t", "lk:my.lw_a.t.id", "lk:lw_u0", "lk:lw_r0"} < names
    assert not {name for name in names if name.startswith("lk:my.mysql")}
    assert result.report.note_count > 0
    assert result.manifest.inputs[0].name == f"mysql://127.0.0.1/{url.database}"


def test_mariadb_roles_owners_and_odd_accounts(mariadb_url: str) -> None:
    with mariadb_accounts(mariadb_url) as (server, url):
        server.run(
            "create user lw_u0@'%'",
            "create user lw_u1@'%' account lock",
            "create user lw_u2@localhost",
            "create role lw_r0",
            "create role lw_r1",
            "grant lw_r0 to lw_r1",
            "grant lw_r1 to lw_u0@'%'",
            "set default role lw_r1 for lw_u0@'%'",
            "grant lw_r1 to lw_u2@localhost",
            "create database lw_a",
            "create table lw_a.t (id int)",
            "create view lw_a.v as select 1 as one",
            "grant select on lw_a.v to lw_r0",
            "grant select (id) on lw_a.t to lw_u0@'%'",
        )
        text = url.render_as_string(hide_password=False)
        rows, _, _ = Sql(text, "lk", "my").rows(GRAVITINO, silent)
        more, _, _ = Sql(text, "lk", "my", takes_granted_roles=True).rows(GRAVITINO, silent)
        server.run("drop user lw_u2@localhost")

    def roles(found: list[Row]) -> set[tuple[str, str]]:
        memberships = (row.cells for row in found if row.table == "memberships")
        return {(cells[1], cells[3]) for cells in memberships if cells[3].startswith("lk:lw_")}

    assert roles(rows) == {("lw_u0", "lk:lw_r1")}
    assert roles(more) > {("lw_u0", "lk:lw_r1"), ("lw_u2@localhost", "lk:lw_r1")}
    principals = {tuple(row.cells) for row in rows if row.table == "principals"}
    assert ("user", "lw_u1") not in principals
    assert {("user", "lw_u0"), ("user", "lw_u2@localhost"), ("role", "lk:lw_r0")} < principals
    assert not any(row.table == "owners" for row in rows)
    assert _notes(rows, "lw_") >= {
        "lw_u1: a locked account",
        "lw_u2@localhost: the role `lw_r1`, which takes SET ROLE",
    }
    granted = [json.loads(row.cells[1]) for row in rows if row.table == "statements"]
    on_columns = {table["on"]: table["privileges"] for table in granted if "column" in table["on"]}
    assert on_columns == {"column:lk:my.lw_a.t.id": ["SELECT_COLUMN"]}


@pytest.mark.parametrize("driver", ["postgresql+psycopg", "mysql+pymysql"])
def test_a_server_that_says_nothing_ends_the_reading(
    driver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_connection, "CONNECT_SECONDS", 1)
    with silence() as port:
        source = Sql(f"{driver}://ana@127.0.0.1:{port.port}/d", "lk", "c")
        with pytest.raises(Unavailable, match="cannot be read: "):
            source.rows(GRAVITINO, silent)


def _ask_frozen(url: str) -> None:
    with database_connection.connected(database_url(url)) as connection:
        process = connection.execute(sa.text("select pg_backend_pid()")).scalar_one()
        with frozen(process):
            connection.execute(sa.text("select 1"))


def test_a_postgres_that_freezes_ends_the_reading(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_connection, "ANSWER_SECONDS", 1)
    with pytest.raises(Unavailable, match="no response within 1 seconds"):
        _ask_frozen(postgres_url)


def test_a_limit_on_rows_of_the_server_hides_none(mariadb_url: str) -> None:
    with mariadb_accounts(mariadb_url) as (server, url):
        server.run("create database lw_a", "create table lw_a.t (id int)")
        source = Sql(url.render_as_string(hide_password=False), "lk", "my")
        before, _, _ = source.rows(GRAVITINO, silent)
        server.run("set global sql_select_limit = 1")
        try:
            rows, _, _ = source.rows(GRAVITINO, silent)
        finally:
            server.run("set global sql_select_limit = default")
    assert rows == before


def test_a_mariadb_that_does_not_answer_ends_the_reading(
    mariadb_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_connection, "ANSWER_SECONDS", 1)
    with (
        pytest.raises(Unavailable, match=r"cannot be read: .*lost connection"),
        database_connection.connected(database_url(mariadb_url)) as connection,
    ):
        connection.execute(sa.text("select sleep(20)"))
