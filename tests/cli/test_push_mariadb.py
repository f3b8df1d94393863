"""`lakewarden push` to a real MariaDB: a push that stops halfway resumes with its plan."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest
import sqlalchemy as sa

from lakewarden.cli import main
from lakewarden.pushdown.mariadb_account import GRANTED
from tests.cli.test_push import STORE, furnish, run
from tests.pushdown.mariadb_estate import Connection, administrator, connection_of, empty, execute

RIGHTS = (
    "CREATE USER, SHOW DATABASES ON *.*",
    "SELECT ON mysql.*",
    *(f"{', '.join(GRANTED)} ON {database}.*" for database in ("sales", "lakewarden")),
)


@pytest.fixture
def server(
    mariadb_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Connection]:
    """A server with a table, two users, and an account that may push, except for default roles."""
    monkeypatch.chdir(tmp_path)
    url = sa.make_url(mariadb_url).set(drivername="mariadb", username="pusher", password="s3cret")
    monkeypatch.setenv("LAKEWARDEN_TARGET_URL", url.render_as_string(hide_password=False))
    with administrator(mariadb_url) as own:
        empty(own)
        for statement in (
            "CREATE DATABASE sales",
            "CREATE TABLE sales.orders (region varchar(20), amount int)",
            "INSERT INTO sales.orders VALUES ('eu', 1), ('us', 2)",
            "CREATE USER ana, bo, pusher IDENTIFIED BY 's3cret'",
            *(f"GRANT {one} TO pusher WITH GRANT OPTION" for one in RIGHTS),
        ):
            execute(own, statement)
        yield own
        empty(own)


def seen(server: Connection, user: str) -> list[int]:
    """The rows of the table that a user reads, with the user's own connection; empty if denied."""
    url = f"mariadb://{server.host}:{server.port}"
    with connection_of(url, user, "") as own:
        try:
            rows = execute(own, "SELECT amount FROM sales.orders ORDER BY 1")
        except pymysql.MySQLError:
            return []
    return [amount for (amount,) in rows]


def test_a_push_that_stops_goes_on_with_its_plan(
    server: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    def push(words: str) -> tuple[int, str, str]:
        return run(f"lakewarden push {words} --database {STORE}", capsys)

    assert main(["init", "--database", STORE]) == 0
    made = f"realm create lake --model gravitino --setting mysql=on --database {STORE}"
    assert main(made.split()) == 0
    furnish()
    code, _, error = push("target add shop --realm lake --catalog quillmere.warehouse")
    assert code == 0, error
    assert push("doctor shop")[:2] == (
        1,
        "it may not set default roles: GRANT UPDATE ON mysql.* TO `pusher`@`%`\n"
        "it may not create masking views: GRANT SELECT, INSERT, DELETE, CREATE, DROP, CREATE VIEW,"
        r" SHOW VIEW ON `lw\_shop\_masked`.* TO `pusher`@`%` WITH GRANT OPTION"
        "\n",
    )
    code, out, _ = push("plan shop --out push.json")
    assert code == 1
    assert "+ ana: SELECT on 1, such as sales.orders" in out
    code, _, error = push("apply push.json")
    assert code == 3, error
    assert "s3cret" not in error
    assert seen(server, "ana") == []
    assert "a push was started and may not have finished" in push("drift shop")[1]
    assert json.loads(push("plan shop --format json")[1])["unfinished"]
    execute(server, "GRANT UPDATE ON mysql.* TO pusher")
    code, out, error = push("apply push.json")
    assert code == 1, error  # the filter of `bo` is left out
    assert "now has what `lake` allows" in out
    assert (seen(server, "ana"), seen(server, "bo")) == ([1, 2], [])
    assert push("drift shop")[:2] == (0, "`shop` has no drift\n")
    assert push("apply push.json")[0] == 2
    assert push("reset shop")[0] == 0
    assert seen(server, "ana") == []
    assert not execute(server, "SELECT User FROM mysql.user WHERE User LIKE 'lw%'")
    assert not execute(server, "SELECT User FROM mysql.user WHERE default_role <> ''")
