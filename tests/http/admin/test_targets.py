"""Targets over the API, against a real PostgreSQL; and addresses that a request may not contain."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from lakewarden.app.push_connection import connect_target
from lakewarden.kernel.errors import BadInput
from lakewarden.service import push_target
from lakewarden.service.actor import Actor
from lakewarden.service.push import Pushing
from lakewarden.service.push_target_check import check_address, declared
from tests.http.admin.api import Api
from tests.http.admin.conftest import state
from tests.servers import fresh_database

REALM = "/realms/gravitino"
TARGET = f"{REALM}/targets/pg"
AWAY = "postgresql://keeper:s3cret@127.0.0.1:1/d"
SECRET = "b5pW-3vTq_0aXyZ9kLmN8rStUvW7cDeF"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Api]:
    with Api(tmp_path, push={"hosts": ["127.0.0.1", "localhost"]}) as api:
        api.must("PATCH", REALM, {"settings": {"postgresql": "on"}})
        for name in ("metalake:lk", "catalog:lk:sales", "schema:lk:sales.raw"):
            api.must("PUT", f"{REALM}/entity", {"entity": name})
        api.must("PUT", f"{REALM}/entity", {"entity": "table:lk:sales.raw.orders"})
        api.must("PUT", "/directories/main/users/ana")
        for of in ("members:lk", "role:lk:readers"):
            api.must("PUT", f"{REALM}/memberships", {"member": "user:ana", "of": of})
        every = ["USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"]
        state(api, "read", every, "catalog:lk:sales", ["role:lk:readers"])
        yield api


@pytest.fixture
def database(postgres_url: str, server: Api) -> Iterator[Any]:
    """A database with the table and the user; it is a target of the realm."""
    with fresh_database(postgres_url) as url:
        address = sa.make_url(url).set(drivername="postgresql")
        text = address.render_as_string(hide_password=False)
        with psycopg.connect(text, autocommit=True) as own:
            own.execute(f"REVOKE ALL ON DATABASE {own.info.dbname} FROM PUBLIC")
            own.execute("CREATE SCHEMA raw; CREATE TABLE raw.orders (a int)")
            own.execute("CREATE ROLE ana LOGIN")
            try:
                add(server, text)
                yield own
            finally:
                server.ask("POST", f"{TARGET}/reset")
                own.execute("DROP OWNED BY ana; DROP ROLE ana")


def add(server: Api, address: str) -> None:
    """Adds the target like the CLI: its server is on a socket, which no request may name."""
    service, operator = server.service, Actor("admin", directory="main", credential="database")
    write, sealing = partial(service.write, operator), server.app.parts.services.sealing
    pushing = Pushing(service, operator, write, sealing, connect_target)
    assert pushing.add(declared("pg", "gravitino", "lk.sales", address), address) is None


def may_read(database: Any) -> bool:
    (may,) = database.execute(
        "SELECT has_table_privilege('ana', 'raw.orders', 'SELECT')"
    ).fetchone()
    return bool(may)


def test_a_target_is_planned_pushed_watched_and_reset(server: Api, database: Any) -> None:
    found = server.must("POST", f"{TARGET}/doctor")
    assert found["missing"] == []
    assert "is a superuser" in str(found["warnings"])
    plan = server.must("POST", f"{TARGET}/plan")
    assert plan["steps"]["create role"] == 1
    assert len(plan["script"]) == plan["script_count"]
    made = next(one for one in plan["script"] if one["step"] == "create role")
    assert made["text"].startswith('CREATE ROLE "lw_pg_')
    assert (made["characters"], made["name"]) == (len(made["text"]), "")
    assert {"gained": True, "privilege": "SELECT", "users": ["ana"], "user_count": 1,
            "objects": 1, "example": ["raw", "orders"]} in plan["access"]  # fmt: skip
    done = server.must("POST", f"{TARGET}/apply", {"digest": plan["digest"]})
    assert done["statements"] > 0
    assert may_read(database)
    found = server.must("GET", f"{REALM}/targets")
    assert found["styles"] == ["gravitino"]
    (target,) = found["targets"]
    assert (target["name"], target["catalog"], target["roles"]) == ("pg", "lk.sales", 1)
    assert target["pushed_at"]
    database.execute("GRANT DELETE ON raw.orders TO ana")
    database.execute(f'REVOKE SELECT ON raw.orders FROM "{role(database)}"')
    drift = server.must("POST", f"{TARGET}/drift")
    assert [(one["kind"], one["privilege"]) for one in drift["differences"]] == [
        ("missing", "SELECT")
    ]
    (foreign,) = [one for one in drift["foreign"] if one["grantee"] == "ana"]
    assert (foreign["privilege"], foreign["denied"]) == ("DELETE", ["ana"])
    assert server.must("POST", f"{TARGET}/reset")["statements"] > 0
    assert not may_read(database)
    server.must("DELETE", TARGET)
    assert server.ask("POST", f"{TARGET}/plan").status == 404


def role(database: Any) -> str:
    ((name,),) = database.execute(
        "SELECT rolname FROM pg_roles WHERE starts_with(rolname, 'lw_pg_')"
    ).fetchall()
    return str(name)


def test_a_realm_is_not_dropped_while_a_target_holds_what_it_allows(
    server: Api, database: Any
) -> None:
    plan = server.must("POST", f"{TARGET}/plan")
    server.must("POST", f"{TARGET}/apply", {"digest": plan["digest"]})
    answer = server.ask("DELETE", REALM)
    assert answer.status == 409
    assert "`pg`; reset them to remove it" in answer.body["detail"]
    assert may_read(database)
    server.must("POST", f"{TARGET}/reset")
    assert server.ask("DELETE", REALM).status == 204


def test_an_expired_plan_is_refused_and_changes_nothing(server: Api, database: Any) -> None:
    plan = server.must("POST", f"{TARGET}/plan")
    server.must("DELETE", f"{REALM}/statements/read")
    answer = server.ask("POST", f"{TARGET}/apply", {"digest": plan["digest"]})
    assert answer.status == 409
    assert answer.body["detail"].endswith("changed since the plan; plan again")
    assert not may_read(database)


def test_who_reads_the_realm_may_plan_and_not_push(server: Api, database: Any) -> None:
    server.must("PUT", "/directories/main/users/olga")
    right = {"privileges": ["READ_REALM"], "to": ["user:olga"], "on": "realm:gravitino"}
    server.must("PUT", "/realms/_server/statements/olga", right)
    plan = server.must("POST", f"{TARGET}/plan", user="olga")
    answer = server.ask("POST", f"{TARGET}/apply", {"digest": plan["digest"]}, user="olga")
    assert answer.status == 403
    assert answer.body["operation"] == "push.apply"
    assert server.ask("POST", f"{TARGET}/reset", user="olga").status == 403
    assert not may_read(database)
    trail = server.must("GET", "/audit", query={"actor": "olga"})["rows"]
    denied = [row["event"]["operation"] for row in trail if row["event"]["outcome"] == "deny"]
    assert denied.count("push.apply") == 2


def test_an_address_never_comes_back(server: Api) -> None:
    added = server.ask("PUT", TARGET, {"catalog": "lk.sales", "url": AWAY})
    assert added.status == 200
    answers = [
        added,
        server.ask("GET", f"{REALM}/targets"),
        server.ask("PUT", TARGET, {"catalog": "lk.sales", "url": AWAY}),
        *(server.ask("POST", f"{TARGET}/{act}") for act in ("plan", "drift", "reset", "doctor")),
        server.ask("GET", "/audit"),
    ]
    assert [answer.status for answer in answers] == [200, 200, 409, 503, 503, 503, 503, 200]
    assert all("s3cret" not in str(answer.body) for answer in answers)


def test_a_secret_of_events_is_stored_encrypted_and_never_comes_back(
    server: Api, tmp_path: Path
) -> None:
    server.must("PUT", TARGET, {"catalog": "lk.sales", "url": AWAY})
    assert stored_secret(server) == ""
    given = server.ask("PUT", f"{TARGET}/secret", {"secret": SECRET})
    assert (given.status, given.body) == (204, None)
    assert stored_secret(server) == SECRET
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert not any(SECRET.encode() in path.read_bytes() for path in files)
    answers = [server.ask("GET", path) for path in (f"{REALM}/targets", "/audit")]
    assert all(SECRET not in str(answer.body) for answer in answers)
    server.must("PUT", f"{TARGET}/secret", {"secret": SECRET[::-1]})
    assert stored_secret(server) == SECRET[::-1]
    server.must("DELETE", f"{TARGET}/secret")
    assert stored_secret(server) == ""
    server.must("DELETE", f"{TARGET}/secret")


@pytest.mark.parametrize(
    "secret", ["", SECRET[:31], SECRET + " ", SECRET + "\n", SECRET + "é", "s" * 257, 7]
)
def test_what_is_no_secret_of_events_is_refused_and_not_repeated(
    server: Api, secret: object
) -> None:
    server.must("PUT", TARGET, {"catalog": "lk.sales", "url": AWAY})
    answer = server.ask("PUT", f"{TARGET}/secret", {"secret": secret})
    assert answer.status == 400
    assert SECRET[:31] not in str(answer.body)
    assert stored_secret(server) == ""


def test_who_reads_the_realm_may_not_sign_its_events(server: Api) -> None:
    server.must("PUT", TARGET, {"catalog": "lk.sales", "url": AWAY})
    server.must("PUT", "/directories/main/users/olga")
    right = {"privileges": ["READ_REALM"], "to": ["user:olga"], "on": "realm:gravitino"}
    server.must("PUT", "/realms/_server/statements/olga", right)
    for verb, body in (("PUT", {"secret": SECRET}), ("DELETE", None)):
        answer = server.ask(verb, f"{TARGET}/secret", body, user="olga")
        assert (answer.status, answer.body["operation"]) == (403, "push_target.put")
    assert stored_secret(server) == ""
    other = TARGET.replace("/pg", "/none")
    assert server.ask("PUT", f"{other}/secret", {"secret": SECRET}).status == 404
    assert server.ask("DELETE", f"{other}/secret").status == 404


def stored_secret(server: Api) -> str:
    with server.service.reading() as reading:
        target = push_target.target(reading, ("gravitino",), "pg")
        return push_target.webhook_secret(reading, server.app.parts.services.sealing, target)


def test_one_that_is_to_follow_is_behind_at_first(server: Api) -> None:
    added = server.must("PUT", TARGET, {"catalog": "lk.sales", "url": AWAY, "follow": True})
    assert added["state"] in ("behind", "failing")  # a process may have tried by then
    assert added["behind_since"] is not None


def test_a_server_that_lists_no_hosts_takes_no_targets(api: Api) -> None:
    answer = api.ask("PUT", TARGET, {"catalog": "lk.sales", "url": AWAY})
    assert answer.status == 400
    assert "push.hosts" in answer.body["detail"]
    assert "s3cret" not in str(answer.body)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://u:p@db.example/d?host=/var/run/postgresql",
        "postgresql://u:p@db.example/d?passfile=/etc/passwd",
        "postgresql://u:p@db.example,10.0.0.1/d",
        "postgresql://u:p@%2Fvar%2Frun/d",
        "postgresql://u@db.example@10.0.0.1/d",
        "postgresql://10.0.0.1/d#@db.example",
        "postgresql://db.example:5432:1/d",
        "postgresql:///d",
        "host=db.example user=u",
        "postgresql://db.example.evil.example/d",
        "postgresql://db.example/d\n",
    ],
)
def test_what_would_reach_elsewhere_is_refused(address: str) -> None:
    with pytest.raises(BadInput) as refused:
        check_address(address, ("db.example",))
    assert ":p@" not in str(refused.value)


def test_what_is_no_address_is_not_repeated() -> None:
    with pytest.raises(BadInput) as refused:
        declared("pg", "gravitino", "lk.sales", "host=db.example password=s3cret")
    assert "s3cret" not in str(refused.value)


def test_an_address_on_a_listed_host_is_taken() -> None:
    check_address("postgresql://u:p%40%2F@DB.example:5432/d?sslmode=require", ("db.example",))
    check_address("mysql+pymysql://u@[::1]/d", ("::1",))
