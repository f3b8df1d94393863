"""A random realm, and a PostgreSQL database that contains one of the realm's catalogs."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import psycopg
import sqlalchemy as sa
from psycopg import sql

from lakewarden.engines import mapping
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import Facts
from lakewarden.pushdown.address import Address
from lakewarden.pushdown.grants import Path
from tests.pushdown.estate import COLUMN_ORDER, ROWS, TargetEstate, scope_of, state_of
from tests.servers import fresh_database

MAPPING = mapping.of_model("gravitino")["postgresql"]
COLUMN_TYPES = {
    **dict.fromkeys(("region", "note", "iban", "mail"), "text"),
    "amount": "integer",
}


@dataclass(frozen=True)
class Estate(TargetEstate):
    """An estate in PostgreSQL."""

    kind: ClassVar[str] = "postgresql"

    def views(self) -> dict[Path, list[Path]]:
        """The schemas and names of masking views, by the path of the masked table."""
        with administrator(self.address.url) as connection:
            rows = connection.execute(
                "SELECT c.relname, obj_description(c.oid, 'pg_class') FROM pg_class c"
                " JOIN pg_namespace n ON n.oid = c.relnamespace"
                " WHERE nspname = %s AND obj_description(c.oid, 'pg_class') IS NOT NULL",
                [self.address.view_schema],
            ).fetchall()
        found: dict[Path, list[Path]] = {}
        for name, comment in rows:
            path = tuple(json.loads(comment)["view"][0])
            found.setdefault(path, []).append((self.address.view_schema, name))
        return found

    @contextmanager
    def as_user(self, user: Principal) -> Iterator[psycopg.Connection[Any]]:
        """A connection of the user, who needs no password here."""
        url = sa.make_url(self.address.url).set(drivername="postgresql", password=None)
        text = url.render_as_string(hide_password=False)
        with psycopg.connect(text, user=self.name(user), autocommit=True) as connection:
            yield connection


@contextmanager
def estate(
    server: str, facts: Facts, but: Sequence[str] = (), store: str = "", *, is_reused: bool = False
) -> Iterator[Estate]:
    """The realm with these facts, and a database with the catalog that has the most tables.

    It contains no users and objects with the names in `but`. If `is_reused`, it is the database in
    the server's address, which is emptied afterwards.
    """
    state = state_of(facts, Estate.kind)
    scope = scope_of(state)
    with nullcontext(server) if is_reused else fresh_database(server) as url:
        made = Estate(state, scope, Address(url, "pg", store))
        with administrator(url) as connection:
            roles = _fill(connection, made, but)
        try:
            yield made
        finally:
            with administrator(url) as connection:
                _empty(connection, {*roles, *_marked(connection, made.address.mark)})
                if is_reused:
                    _drop_schemas(connection)


def administrator(url: str) -> psycopg.Connection[Any]:
    text = sa.make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    return psycopg.connect(text, autocommit=True)


def _fill(connection: psycopg.Connection[Any], made: Estate, but: Sequence[str]) -> list[str]:
    """Creates the users, schemas, tables and views at once; returns the names of the users."""
    users = [name for user in made.users() if (name := made.name(user)) not in but]
    database = sql.Identifier(connection.info.dbname)
    todo = [sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(user)) for user in users]
    todo.append(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(database))
    for path, entity in sorted(made.objects().items(), key=lambda one: (len(one[0]), one)):
        if {*path} & {*but}:
            continue
        where = sql.Identifier(*path) if path else database
        if entity.type == "schema" and path != ("public",):
            todo.append(sql.SQL("CREATE SCHEMA {}").format(where))
        if entity.type == "table":
            columns = sql.SQL(", ").join(
                sql.SQL(f"{name} {type}") for name, type in COLUMN_TYPES.items()
            )
            todo.append(sql.SQL("CREATE TABLE {} ({})").format(where, columns))
            order = sql.SQL(", ".join(COLUMN_ORDER))
            todo.append(sql.SQL("INSERT INTO {} ({}) VALUES {}").format(where, order, _VALUES))
        if entity.type == "view":
            query = "CREATE VIEW {} AS SELECT 'eu'::text AS region, 1 AS amount"
            todo.append(sql.SQL(query).format(where))
    connection.execute(sql.SQL("; ").join(todo))
    return users


_VALUES: Final = sql.SQL(", ").join(
    sql.SQL("({})").format(sql.SQL(", ").join(map(sql.Literal, row))) for row in ROWS
)


def _marked(connection: psycopg.Connection[Any], mark: str) -> list[str]:
    """The names of a target's roles."""
    query = "SELECT rolname FROM pg_roles WHERE shobj_description(oid, 'pg_authid') = %s"
    return [name for (name,) in connection.execute(query, [mark])]


def _empty(connection: psycopg.Connection[Any], roles: Collection[str]) -> None:
    """Drops the roles, the objects that they own, and their grants in the database."""
    if roles:
        names = sql.SQL(", ").join(map(sql.Identifier, sorted(roles)))
        connection.execute(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(names))


def _drop_schemas(connection: psycopg.Connection[Any]) -> None:
    """Empties the database, which is then like a new one."""
    query = "SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_|^information_schema$'"
    names = sql.SQL(", ").join(sql.Identifier(name) for (name,) in connection.execute(query))
    connection.execute(
        sql.SQL(
            "DROP SCHEMA {} CASCADE; CREATE SCHEMA public AUTHORIZATION pg_database_owner;"
            " GRANT USAGE ON SCHEMA public TO PUBLIC"
        ).format(names)
    )
