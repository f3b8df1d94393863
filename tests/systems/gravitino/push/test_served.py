"""Killed and delivering servers together: grants reach the database."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from lakewarden.cli import main
from tests.app.serving import Served, server
from tests.app.threaded import threaded
from tests.pushdown.relay import HANGING, OPEN, Relay, columns, relay
from tests.servers import fresh_database
from tests.systems.gravitino.push.hooked import CATALOG, GRANT, LAKE, READ

HOSTS = {"LAKEWARDEN_PUSH__HOSTS": "127.0.0.1"}
APART = {**HOSTS, "LAKEWARDEN_PUSH__DELIVER": "false"}
SECONDS = 60.0


@pytest.fixture
def database(postgres_url: str) -> Iterator[Any]:
    with fresh_database(postgres_url) as url:
        address = sa.make_url(url).set(drivername="postgresql")
        text = address.render_as_string(hide_password=False)
        with psycopg.connect(text, autocommit=True) as own:
            own.execute("CREATE SCHEMA raw; CREATE TABLE raw.orders (a int); CREATE ROLE ana LOGIN")
            try:
                yield own
            finally:
                query = "SELECT rolname FROM pg_roles WHERE rolname IN ('ana', 'readers')"
                roles = own.execute(f"{query} OR starts_with(rolname, 'lw_')").fetchall()
                for (role,) in roles:
                    own.execute(f'DROP OWNED BY "{role}"; DROP ROLE "{role}"')


@pytest.fixture
def port(postgres_url: str) -> Iterator[Relay]:
    with relay(postgres_url) as made:
        yield made


def ask(at: Served, method: str, path: str, body: object = None) -> None:
    answer = at.ask(method, path if path.startswith("/") else f"/api/{path}", body, user="admin")
    assert answer.status in (200, 204), answer.body


def furnish(at: Served, port: int, name: str) -> None:
    """A catalog for the database, with a role that may read it."""
    settings = {"settings": {"mode": "seed", "postgresql": "on"}}
    ask(at, "PATCH", "/api/v1/realms/gravitino", settings)
    ask(at, "POST", "metalakes", {"name": "lk"})
    ask(at, "POST", f"{LAKE}/users", {"name": "ana"})
    properties = {
        "authorization-provider": "jdbc",
        "authorization.jdbc.url": f"jdbc:postgresql://127.0.0.1:{port}/{name}",
        "authorization.jdbc.username": "postgres",
        "authorization.jdbc.password": "x",
        "authorization.jdbc.driver": "org.postgresql.Driver",
    }
    body = {"name": "pg", "type": "relational", "provider": "jdbc-postgresql"}
    ask(at, "POST", f"{LAKE}/catalogs", {**body, "properties": properties})
    ask(at, "POST", f"{CATALOG}/schemas", {"name": "raw"})
    table = {"name": "orders", "columns": columns("a")}
    ask(at, "POST", f"{CATALOG}/schemas/raw/tables", table)
    privileges = [{"name": one, "condition": "allow"} for one in READ]
    role = {"fullName": "pg", "type": "catalog", "privileges": privileges}
    ask(at, "POST", f"{LAKE}/roles", {"name": "readers", "securableObjects": [role]})


def grant(at: Served, verb: str = "grant") -> None:
    ask(at, "PUT", f"{LAKE}/permissions/users/ana/{verb}", GRANT)


def may(database: Any) -> bool:
    query = "SELECT has_table_privilege('ana', 'raw.orders', 'SELECT')"
    ((found,),) = database.execute(query).fetchall()
    return bool(found)


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.nightly
def test_what_a_killed_server_had_written_is_delivered_by_the_next(
    tmp_path: Path, database: Any, port: Relay, capsys: pytest.CaptureFixture[str]
) -> None:
    store = f"sqlite:///{tmp_path}/store.db"
    with server(tmp_path, environment=APART) as first:
        furnish(first, port.port, database.info.dbname)
        grant(first)
        first.process.kill()
        first.process.wait()
    assert not may(database)
    with server(tmp_path, "--workers", "2", environment=HOSTS) as second:
        until(lambda: may(database))
        grant(second, "revoke")
        until(lambda: not may(database))
        port.mode = HANGING
        grant(second)
        port.wait_for_client(port.accepted + 1)
        grant(second)  # it responds, whatever the target does
        assert not may(database)
        capsys.readouterr()
        assert main(["push", "targets", "--database", store]) == 0
        assert "behind" in capsys.readouterr().out
        port.mode = OPEN
        port.let_go()
        until(lambda: may(database))
        assert second.stop() == 0
        assert "Traceback" not in second.log.read_text()


@pytest.mark.nightly
def test_one_of_its_processes_watches(tmp_path: Path, database: Any, port: Relay) -> None:
    watching = {
        **HOSTS, "LAKEWARDEN_PUSH__WATCH_SECONDS": "1", "LAKEWARDEN_OPEN_METRICS": "true"
    }  # fmt: skip
    with server(tmp_path, "--workers", "2", environment=watching) as served:
        furnish(served, port.port, database.info.dbname)
        grant(served)
        until(lambda: may(database))
        until(lambda: denied(served) is not None)
        before = denied(served)
        assert before is not None
        database.execute("GRANT DELETE ON raw.orders TO ana")
        until(lambda: denied(served) == before + 1)
        database.execute("REVOKE DELETE ON raw.orders FROM ana")
        until(lambda: denied(served) == before)
        assert served.stop() == 0
        text = served.log.read_text()
    assert '"event": "drift"' in text
    assert "Traceback" not in text


def denied(at: Served) -> float | None:
    """The number of findings that grant what the realm denies, from the metrics, if any."""
    lines = at.ask("GET", "/metrics").body.decode().splitlines()
    found = [one for one in lines if one.startswith('lakewarden_push_drift{kind="denied"')]
    return float(found[0].rpartition(" ")[2]) if found else None


def test_changes_are_delivered_outside_the_server(
    tmp_path: Path,
    database: Any,
    port: Relay,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    store = f"sqlite:///{tmp_path}/store.db"
    monkeypatch.setenv("LAKEWARDEN_PUSH__HOSTS", "127.0.0.1")
    apart = {"hosts": ["127.0.0.1"], "deliver": False}
    with threaded(tmp_path, push=apart) as only:
        furnish(only, port.port, database.info.dbname)
        grant(only)
        assert main(["push", "deliver", "--once", "--database", store]) == 0
        assert "now has what `gravitino` allows" in capsys.readouterr().out
        assert may(database)
        assert main(["push", "deliver", "--once", "--database", store]) == 0
        port.close()
        grant(only, "revoke")
        assert main(["push", "deliver", "--once", "--database", store]) == 1
        assert "could not be pushed" in capsys.readouterr().err
        assert main(["push", "targets", "--database", store]) == 0
        assert "failing" in capsys.readouterr().out
