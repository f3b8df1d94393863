"""Databases that are not UTF-8: inexpressible names are left out, and the rest is pushed."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.statement import On
from lakewarden.pushdown.address import Address
from lakewarden.pushdown.target_objects import Scope
from tests.pushdown.estate import state_of
from tests.pushdown.postgresql_estate import Estate, administrator
from tests.pushdown.test_postgresql_escapes import BO, READS, SECRET, facts
from tests.pushdown.test_postgresql_owners import MASK

TABLES = "(region text, note text)"


def masks(shown: str) -> Estate:
    """`orders` masked with that text, and `secret` with one that exists in LATIN1."""
    own = replace(MASK, id="secret", scope=On(SECRET), expression="constant 'Ärger'")
    told = facts(READS, replace(MASK, expression=f"constant '{shown}'"), own)
    return Estate(state_of(told, "postgresql"), Scope("m", "c"), Address("", "pg"))


@contextmanager
def empty(server: str, encoding: str) -> Iterator[str]:
    """A database with that encoding; yields its address."""
    name = f"t_{secrets.token_hex(6)}"
    with administrator(server) as own:
        own.execute(
            sql.SQL("CREATE DATABASE {} ENCODING {} LOCALE 'C' TEMPLATE template0").format(
                sql.Identifier(name), sql.Literal(encoding)
            )
        )
        try:
            yield sa.make_url(server).set(database=name).render_as_string(hide_password=False)
        finally:
            own.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def database(server: str, encoding: str) -> Iterator[str]:
    """A database with that encoding, with two tables and `bo`; yields its address."""
    with administrator(server) as own:
        own.execute("CREATE ROLE bo LOGIN")
        try:
            with empty(server, encoding) as url:
                with administrator(url) as there:
                    there.execute(f"CREATE SCHEMA s; CREATE TABLE s.orders {TABLES}")
                    there.execute(f"CREATE TABLE s.secret {TABLES}")
                    there.execute("INSERT INTO s.secret VALUES ('x')")
                yield url
        finally:
            roles = own.execute("SELECT rolname FROM pg_roles WHERE starts_with(rolname, 'lw_pg')")
            for (role,) in [*roles.fetchall(), ("bo",)]:
                own.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


@pytest.mark.parametrize("encoding", ["LATIN1", pytest.param("WIN1252", marks=pytest.mark.nightly)])
def test_what_an_encoding_does_not_have_is_left_out(postgres_url: str, encoding: str) -> None:
    with database(postgres_url, encoding) as url:
        made = replace(masks("\u25cf\u25cf"), address=Address(url, "pg"))
        wish, _ = made.push()
        (left,) = (one for one in wish.residues if "encoding" in one.why)
        assert (left.entity, left.principal, left.access) == (
            *("table:m:c.s.orders", "user:bo", "SELECT"),
        )
        ((view,),) = made.views().values()
        with made.as_user(BO) as connection:
            connection.execute("SET client_encoding TO 'UTF8'")
            query = sql.SQL("SELECT region FROM {}").format(sql.Identifier(*view))
            assert connection.execute(query).fetchall() == [("Ärger",)]
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("SELECT FROM s.orders")
        assert made.push()[1] == 0


def test_a_database_that_does_not_say_what_its_signs_are(postgres_url: str) -> None:
    """Names outside ASCII are never in the realm, and cause no error."""
    with database(postgres_url, "SQL_ASCII") as url:
        made = replace(masks("x"), address=Address(url, "pg"))
        with administrator(url) as own:
            own.execute("SET client_encoding TO 'SQL_ASCII'")
            own.execute(b'CREATE TABLE s."\xe4" (); CREATE TABLE s."\xc3\xa4" ()')
        wish, _ = made.push()
        assert [one.entity for one in wish.residues if "encoding" in one.why] == [
            "table:m:c.s.secret"
        ]
        assert made.push()[1] == 0
        assert len(made.views()) == 1


def test_a_name_of_another_encoding_in_the_server(postgres_url: str) -> None:
    """Role names are shared by all databases, and their encoding is not stored."""
    with database(postgres_url, "UTF8") as url, empty(postgres_url, "LATIN1") as beside:
        made = replace(masks("x"), address=Address(url, "pg"))
        with administrator(beside) as own:
            own.execute("SET client_encoding TO 'LATIN1'")
            own.execute('CREATE ROLE "lw \xe4"')
            try:
                with pytest.raises(BadInput, match="in another encoding"):
                    made.push()
            finally:
                own.execute('DROP ROLE "lw \xe4"')
        made.push()
