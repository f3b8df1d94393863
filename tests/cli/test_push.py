"""`lakewarden push`: follows the page about push-down, against a real PostgreSQL."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, contextmanager, redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx
import psycopg
import pytest
import sqlalchemy as sa

from lakewarden.app.keys import keys_of
from lakewarden.app.open_store import opened_service
from lakewarden.app.push_connection import connect_target
from lakewarden.app.push_watcher import PushWatcher
from lakewarden.cli import main
from lakewarden.cli.admin_target import operator
from lakewarden.config.settings import Push
from lakewarden.kernel.change import (
    EntityAdded,
    MembershipChanged,
    PrincipalChanged,
    StatementAdded,
    StatementRemoved,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import Conflict
from lakewarden.kernel.principal import ROLE, USER, Principal, members_of
from lakewarden.kernel.relations import MembershipRow
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.pushdown.address import Address
from lakewarden.pushdown.postgresql import connected
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.control import Denied
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.push import Connect, Pushing
from lakewarden.service.push_delivery import Delivery
from lakewarden.service.push_target import drift_notes
from lakewarden.service.push_watch import KINDS
from lakewarden.store import open_store
from lakewarden.store.secrets import Keys
from lakewarden.store.store import SqlStore
from tests.app.forked import Forked
from tests.servers import free_port, fresh_database
from tests.test_readme import DOCS, blocks

STORE = "sqlite:///estate.db"
ORDERS = Entity("table", "quillmere:warehouse.sales.orders")
READS = frozenset({"USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"})
ANA, BO = Principal(USER, "ana"), Principal(USER, "bo")
READERS = Principal(ROLE, "quillmere:readers")
WAREHOUSE = Entity("catalog", "quillmere:warehouse")
READING = Statement("reads", Effect.ALLOW, READS, On(WAREHOUSE), frozenset({READERS}))


@pytest.fixture
def target(postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A database with a table and two users; its address is in the environment."""
    monkeypatch.chdir(tmp_path)
    with fresh_database(postgres_url) as url:
        text = sa.make_url(url).set(drivername="postgresql")
        monkeypatch.setenv("LAKEWARDEN_TARGET_URL", text.render_as_string(hide_password=False))
        with psycopg.connect(text.render_as_string(hide_password=False), autocommit=True) as own:
            own.execute(f"REVOKE ALL ON DATABASE {own.info.dbname} FROM PUBLIC")
            own.execute("CREATE SCHEMA sales")
            own.execute("CREATE TABLE sales.orders (region text, amount integer)")
            own.execute("INSERT INTO sales.orders VALUES ('eu', 1), ('us', 2)")
            own.execute("CREATE ROLE ana LOGIN; CREATE ROLE bo LOGIN")
            try:
                yield own
            finally:
                roles = own.execute(
                    "SELECT rolname FROM pg_roles WHERE starts_with(rolname, 'lw_')"
                    " OR rolname IN ('ana', 'bo')"
                ).fetchall()
                for (role,) in roles:
                    own.execute(f'DROP OWNED BY "{role}"; DROP ROLE "{role}"')


def change(*effects: Any, store: str = STORE) -> None:
    with opened_service(store) as service:
        service.write(SYSTEM, lambda transaction: transaction.change("lake", *effects))


def furnish(store: str = STORE) -> None:
    """A table that `ana` may read, and `bo` with a filter."""
    parts = [
        Entity("metalake", "quillmere"),
        WAREHOUSE,
        Entity("schema", "quillmere:warehouse.sales"),
        ORDERS,
    ]
    change(
        *(EntityAdded(one, above) for one, above in zip(parts, [None, *parts], strict=False)),
        *(PrincipalChanged(one, True) for one in (ANA, BO, READERS)),
        *(
            MembershipChanged(MembershipRow(one, of), True)
            for one in (ANA, BO)
            for of in (members_of("quillmere"), READERS)
        ),
        StatementAdded(READING),
        StatementAdded(
            Statement(
                "eu", Effect.FILTER, frozenset(), On(ORDERS), frozenset({BO}),
                expression="region = 'eu'",
            )
        ),
        store=store,
    )  # fmt: skip


def run(command: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(shlex.split(command)[1:])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def page() -> list[str]:
    """The commands of the page that concern the database here."""
    return [one for one in blocks(DOCS / "push-down.md") if "host/" not in one]


def test_the_page_is_followed(target: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--database", STORE]) == 0
    commands = page()
    assert len(commands) > 6
    code, out, error = run(commands[0], capsys)
    assert code == 0, error
    furnish()
    printed = {}
    for command in commands[1:]:
        code, out, error = run(command, capsys)
        printed[command.split()[2]] = code, out
        assert code in (0, 1), (command, error)
    code, said = printed["doctor"]
    assert code == 0
    assert said.startswith("the account of `pg` has all rights that a push needs\nwarning: ")
    assert printed["plan"][0] == 1
    assert "+ ana, bo: SELECT on 1, such as sales.orders" in printed["plan"][1]
    assert '  CREATE ROLE "lw_pg_' in printed["plan"][1]
    assert "now has what `lake` allows" in printed["apply"][1]
    assert "quillmere.warehouse" in printed["targets"][1]
    assert seen(target, "ana") == [1, 2]
    assert seen(target, "bo") == [1]
    assert re.fullmatch("lakewarden pg [0-9a-f]{16}", mark(target))


def mark(target: Any) -> str:
    """The comment on all our roles, which contains the id of the store."""
    ((found,),) = target.execute(
        "SELECT DISTINCT shobj_description(oid, 'pg_authid') FROM pg_roles"
        " WHERE starts_with(rolname, 'lw_pg_')"
    ).fetchall()
    return str(found)


def seen(target: Any, user: str) -> list[int]:
    """The rows of the table that a user reads, with the user's own connection."""
    parameters = {**target.info.get_parameters(), "user": user}
    with psycopg.connect(**parameters) as own:
        return [amount for (amount,) in own.execute("SELECT amount FROM sales.orders ORDER BY 1")]


GoOn = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page's store before its target is added; tests copy it."""
    folder = tmp_path_factory.mktemp("furnished")
    with chdir(folder), redirect_stdout(StringIO()):
        assert main(["init", "--database", STORE]) == 0
        assert main(shlex.split(page()[0])[1:]) == 0
        furnish()
    return folder


@pytest.fixture
def added(target: Any, furnished: Path, capsys: pytest.CaptureFixture[str]) -> GoOn:
    """Follows the page up to its target; returns a function that continues."""
    return add_target(furnished, capsys)


@pytest.fixture
def unanswered(
    furnished: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> GoOn:
    """The same, with an address that is never contacted."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAKEWARDEN_TARGET_URL", "postgresql://keeper@127.0.0.1:1/d")
    return add_target(furnished, capsys)


def add_target(furnished: Path, capsys: pytest.CaptureFixture[str]) -> GoOn:
    """Adds the page's target to a copy of the store here; returns a function that continues."""
    shutil.copytree(furnished, Path.cwd(), dirs_exist_ok=True)
    assert run(page()[1], capsys)[0] == 0

    def go_on(words: str) -> tuple[int, str, str]:
        return run(f"lakewarden push {words} --database {STORE}", capsys)

    return go_on


@pytest.fixture
def pushed(added: GoOn) -> GoOn:
    """Pushes like the page; returns a function that continues."""
    with opened_service(STORE) as service:
        push(service)
    return added


def test_what_others_change_is_told_and_repaired(target: Any, pushed: GoOn) -> None:
    ((role,),) = target.execute(
        "SELECT r.rolname FROM pg_roles r WHERE starts_with(rolname, 'lw_pg_')"
        " AND has_table_privilege(r.oid, 'sales.orders', 'SELECT')"
    ).fetchall()
    target.execute(f'REVOKE SELECT ON sales.orders FROM "{role}"')
    target.execute("GRANT DELETE ON sales.orders TO ana")
    change(PrincipalChanged(Principal(USER, "cy"), True))
    target.execute("CREATE ROLE cy LOGIN; GRANT SELECT ON sales.orders TO cy")
    target.execute("CREATE VIEW public.sums AS SELECT sum(amount) FROM sales.orders")
    target.execute("GRANT SELECT ON public.sums TO bo")
    code, out, _ = pushed("drift pg")
    assert code == 1
    assert "SELECT THROUGH VIEW public.sums on sales.orders to bo, for bo, which the realm" in out
    assert f"missing: SELECT on sales.orders of {role}" in out
    assert "DELETE on sales.orders to ana, for ana, which the realm denies ana" in out
    assert "SELECT on sales.orders to cy, for cy, which the realm denies cy" in out
    target.execute("DROP OWNED BY cy; DROP ROLE cy")
    pushed("plan pg --out again.json")
    assert pushed("apply again.json")[0] == 1  # the administrator has no account there
    assert seen(target, "bo") == [1]
    assert "missing" not in pushed("drift pg")[1]


def test_what_another_store_told_stays(
    target: Any, pushed: GoOn, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both have a target `pg`, which is the same database."""
    other = STORE.replace("estate", "other")
    assert main(["init", "--database", other]) == 0
    run(page()[0].replace(STORE, other), capsys)
    furnish(other)
    for command in page()[1:]:
        code, _, error = run(command.replace(STORE, other), capsys)
        assert code in (0, 1), error
    marks = target.execute(
        "SELECT DISTINCT shobj_description(oid, 'pg_authid') FROM pg_roles"
        " WHERE starts_with(rolname, 'lw_pg_')"
    ).fetchall()
    assert len(marks) == 2
    assert not [one for one in pushed("drift pg")[1].splitlines() if "missing" in one]
    assert run(f"lakewarden push reset pg --database {other}", capsys)[0] == 0
    assert (seen(target, "ana"), seen(target, "bo")) == ([1, 2], [1])
    assert pushed("reset pg")[0] == 0
    assert not target.execute(
        "SELECT FROM pg_roles WHERE starts_with(rolname, 'lw_pg_')"
    ).fetchall()


def test_an_account_that_may_act_as_the_store_account_is_warned_about(
    target: Any,
    pushed: GoOn,
    postgres_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Regardless of the addresses: the server is identified by its own identifier."""
    assert "own store" not in pushed("doctor pg")[1]
    with fresh_database(postgres_url, stores=True) as url, open_store(url) as store:
        own = store.account()
    assert own is not None
    assert own.name == "postgres"
    cases = [(own, True), (own._replace(server="1"), False), (own._replace(name="no"), False),
             (own._replace(name="ana"), True)]  # fmt: skip
    for account, is_told in cases:
        monkeypatch.setattr(SqlStore, "account", lambda _, account=account: account)
        code, out, _ = pushed("doctor pg")
        assert code == 0
        told = f"may act as `{account.name}`, the account of lakewarden's own store"
        assert (told in out) == is_told, account
    target.execute("CREATE ROLE lw_test LOGIN")
    mine = sa.make_url(url).set(username="lw_test", database="postgres")
    with connected(Address(mine.render_as_string(hide_password=False), "pg")) as database:
        assert not database.acts_as(own)
        assert database.acts_as(own._replace(name="lw_test"))


def test_a_plan_of_which_less_is_shown_has_all_as_json(
    pushed: GoOn,
) -> None:
    pushed("reset pg")
    whole = json.loads(pushed("plan pg --format json")[1])["script"]
    code, out, _ = pushed("plan pg --limit 2")
    assert code == 1
    assert [one["text"] in out for one in whole[:3]] == [True, True, False]
    assert f"{len(whole)} statements in all; --limit shows more" in out


def test_a_plan_that_the_realm_moved_on_from_is_refused(target: Any, pushed: GoOn) -> None:
    change(StatementRemoved("reads"))
    code, out, _ = pushed("plan pg --out later.json --format json")
    assert code == 1
    assert json.loads(out)["steps"]
    change(StatementAdded(READING))
    code, _, error = pushed("apply later.json")
    assert code == 2
    assert "plan again: `lakewarden push plan pg --out FILE`" in error
    assert seen(target, "ana") == [1, 2]


def test_grants_of_others_are_adopted_and_then_revoked(
    target: Any,
    pushed: GoOn,
    capsys: pytest.CaptureFixture[str],
) -> None:
    target.execute("GRANT INSERT, UPDATE, DELETE, TRUNCATE ON sales.orders TO bo")
    target.execute("GRANT DELETE, REFERENCES ON sales.orders TO ana")
    target.execute(
        "CREATE ROLE loaders; GRANT loaders TO ana; GRANT CREATE ON SCHEMA sales TO loaders"
    )
    code, out, _ = pushed("adopt pg --out adopted.toml")
    assert code == 1
    assert "on table:quillmere:warehouse.sales.orders to role:quillmere:pg-bo" in out
    assert (
        "not adopted: DELETE on sales.orders of ana: a statement that allows it would also give"
        in out
    )
    assert (
        "not adopted: REFERENCES on sales.orders of ana: the realm's model has no privilege" in out
    )
    assert "on schema:quillmere:warehouse.sales to role:quillmere:pg-loaders" in out
    assert "which they do not hold now" not in out
    before = everything(target)
    for command in (
        "plan adopted.toml --realm lake --name adopted --out change.json",
        "apply change.json",
    ):
        code, _, error = run(f"lakewarden {command} --database {STORE}", capsys)
        assert code in (0, 1), error
    assert everything(target) == before
    assert "revoke grant of others" not in pushed("plan pg")[1]
    assert "revoke grant of others: 4" in pushed("plan pg --adopt --out adopting.json")[1]
    code, _, error = pushed("apply adopting.json")
    assert (code, "--adopt" in error) == (2, True)
    assert pushed("apply adopting.json --adopt")[0] == 1
    assert may(target, "bo", "INSERT", "UPDATE", "DELETE") == [True] * 3
    assert may(target, "ana", "DELETE", "REFERENCES") == [True, True]
    left = [line for line in pushed("drift pg")[1].splitlines() if line.startswith("of others")]
    named = [line.split(",")[0] for line in left if " to bo" in line or " to loaders" in line]
    assert named == ["of others: TRUNCATE on sales.orders to bo"]  # his filter does not restrict it
    target.execute("DROP OWNED BY loaders; DROP ROLE loaders")


def everything(target: Any) -> list[Any]:
    """Everybody's rights on the table and the schema."""
    rows: list[Any] = target.execute(
        "SELECT relacl::text, nspacl::text FROM pg_class c JOIN pg_namespace n"
        " ON n.oid = relnamespace WHERE c.oid = 'sales.orders'::regclass"
    ).fetchall()
    return rows


def may(target: Any, user: str, *privileges: str) -> list[bool]:
    """Whether the user has the privileges on the table."""
    query = "SELECT has_table_privilege(%s, 'sales.orders', %s)"
    return [target.execute(query, [user, one]).fetchone()[0] for one in privileges]


def test_a_watch_tells_drift_once_and_records_it(target: Any, pushed: GoOn) -> None:
    assert pushed("watch --once")[0] == 1
    target.execute("REVOKE USAGE ON SCHEMA public FROM PUBLIC")
    code, out, _ = pushed("watch --once")
    assert (code, out) == (0, "pg: no drift\n")
    target.execute("GRANT DELETE ON sales.orders TO ana")
    for _ in range(2):
        code, out, _ = pushed("watch pg --once --format json")
        found = json.loads(out)
        assert (code, found["drift"]["denied"], found["error"]) == (1, 1, "")
    with opened_service(STORE) as service, service.reading() as reading:
        events = [json.loads(row.body) for row in reading.audit(0, 1_000)]
        rows = [one["details"] for one in events if one["operation"] == "push.drift"]
        # The first watch found everybody's rights on the schema `public`.
        assert [row["denied"] for row in rows] == [1, 0, 1]
        (note,) = drift_notes(reading, ("lake",)).values()
    assert note.counts["denied"] == 1
    target.execute("REVOKE DELETE ON sales.orders FROM ana")
    assert pushed("watch --once")[0] == 0
    with opened_service(STORE) as service, service.reading() as reading:
        assert not drift_notes(reading, ("lake",))
    assert (
        pushed("target add gone --realm lake --catalog q.c --url postgresql://h@127.0.0.1:1/d")[0]
        == 0
    )
    code, out, error = pushed("watch --once")
    assert code == 3
    assert "gone" in error
    assert "pg: no drift" in out
    assert pushed("watch --every 0s")[0] == 2


def test_a_watch_goes_on_until_it_is_stopped(target: Any, pushed: GoOn, tmp_path: Path) -> None:
    target.execute("GRANT DELETE ON sales.orders TO ana")
    port = free_port()
    words = f"push watch --every 1s --metrics 127.0.0.1:{port} --database {STORE}"
    running = Forked(words.split(), tmp_path, tmp_path / "log", os.environ)
    try:
        assert "2 denied" in running.stdout.readline()
        page = httpx.get(f"http://127.0.0.1:{port}/metrics").text
        running.send_signal(signal.SIGTERM)
        assert running.wait(30) == 0
    finally:
        running.close()
    assert 'lakewarden_push_drift{kind="denied",realm="lake",target="pg"} 2.0' in page
    assert 'lakewarden_push_failures_total{realm="lake",target="pg"} 0.0' in page


def test_a_server_watches_as_it_does_and_one_of_its_processes(target: Any, pushed: GoOn) -> None:
    assert pushed("watch --once")[0] == 1
    target.execute("GRANT DELETE ON sales.orders TO ana")
    with opened_service(STORE) as service:
        one, other = (watcher(service) for _ in range(2))
        one.run_checks(60.0)
        assert noted(service)["denied"] == 2
        target.execute("REVOKE DELETE ON sales.orders FROM ana")
        other.run_checks(60.0)
        assert noted(service)["denied"] == 2
        one.stop()
        other.run_checks(60.0)
        assert noted(service)["denied"] == 1
        other.stop()
        with service.reading() as reading:
            events = [json.loads(row.body) for row in reading.audit(0, 1_000)]
    (first, *_, last) = [one for one in events if one["reason"] == "watched"]
    assert (last["operation"], last["actor"]) == ("push.drift", first["actor"])
    counts = noted_counts(denied=1, foreign=1)
    assert last["details"] == {"push_target": "pg", "credential": "system", **counts}


def watcher(service: DecisionService) -> PushWatcher:
    """The watcher of a server process."""

    def failed(error: Exception) -> None:
        raise error

    return PushWatcher(pushing(service, actor=SYSTEM), Push(watch_seconds=300.0), failed)


def pushing(
    service: DecisionService, connect: Connect = connect_target, actor: Actor | None = None
) -> Pushing:
    """The use cases for the actor, by default the operator, who can open the store."""
    actor = actor or operator(service)
    return Pushing(service, actor, partial(service.write, actor), Keys(keys_of(STORE)), connect)


def noted(service: DecisionService) -> Mapping[str, int]:
    with service.reading() as reading:
        (note,) = drift_notes(reading, ("lake",)).values()
    return note.counts


def noted_counts(**counts: int) -> dict[str, int]:
    return {**dict.fromkeys(KINDS, 0), **counts}


def test_what_a_locked_target_answers(target: Any, pushed: GoOn) -> None:
    """Every account that may log in to the database can take the lock."""
    change(StatementRemoved("reads"))
    assert pushed("plan pg --out push.json")[0] == 1
    why = "another push to the target `pg` is under way"
    with connected(Address(os.environ["LAKEWARDEN_TARGET_URL"], "pg")) as other:
        other.lock()
        for words in (
            "plan pg",
            "drift pg",
            "adopt pg",
            "watch --once",
            "apply push.json",
            "reset pg",
        ):
            code, _, error = pushed(words)
            assert (code, why in error) == (3, True), (words, error)
        code, out, _ = pushed("watch --once --format json")
        assert (code, json.loads(out)["error"][: len(why)]) == (3, why)
        assert pushed("doctor pg")[0] == 0
    assert pushed("apply push.json")[0] in (0, 1)
    assert may(target, "ana", "SELECT") == [False]


def doing(act: Callable[[], None], *, when: str) -> Connect:
    """Performs an act once: before a target is `locked`, or while it is `looked` at."""
    acts = [act]

    @contextmanager
    def connect(*about: Any) -> Iterator[Any]:
        with connect_target(*about) as session:
            name = {"locked": "lock", "looked": "set_target"}[when]
            method = getattr(session, name)

            def patched(*given: Any) -> None:
                if when == "looked":
                    method(*given)
                if acts:
                    acts.pop()()
                if when == "locked":
                    method(*given)

            with patch.object(session, name, patched):
                yield session

    return connect


def push(service: DecisionService) -> None:
    """Pushes all pending changes."""
    by_hand = pushing(service)
    made: Any = by_hand.plan("lake", "pg")
    assert not isinstance(by_hand.apply("lake", "pg", made.digest), Denied)


def test_a_look_keeps_no_push_out_and_is_of_one_moment(target: Any, pushed: GoOn) -> None:
    change(StatementRemoved("reads"))
    with opened_service(STORE) as service:
        connect = doing(lambda: push(service), when="looked")
        found: Any = pushing(service, connect).drift("lake", "pg")
        assert may(target, "ana", "SELECT") == [False]
        assert (found.differences, found.pending) == ([], {})
        service.write(SYSTEM, lambda work: work.change("lake", StatementAdded(READING)))
        connect = doing(lambda: push(service), when="looked")
        made: Any = pushing(service, connect).plan("lake", "pg")
        assert may(target, "ana", "SELECT") == [True]
        assert not made.is_pending


def test_of_two_that_push_the_second_goes_on_from_what_the_first_told(
    target: Any, pushed: GoOn
) -> None:
    with opened_service(STORE) as service:

        def other() -> None:
            service.write(SYSTEM, lambda work: work.change("lake", StatementRemoved("reads")))
            push(service)

        found, connect = pushing(service), doing(other, when="locked")
        delivery = Delivery(service, found.sealing, connect, ())
        assert delivery.deliver(found.target("pg"))
        assert may(target, "ana", "SELECT") == [False]
        service.write(SYSTEM, lambda work: work.change("lake", StatementAdded(READING)))
        made: Any = found.plan("lake", "pg")
        connect = doing(lambda: push(service), when="locked")
        with pytest.raises(Conflict, match=r"plan again$"):
            pushing(service, connect).apply("lake", "pg", made.digest)
        assert may(target, "ana", "SELECT") == [True]
        assert found.target("pg").revision == service.state.realm("lake").matrix.revision


def test_a_reset_takes_back_what_is_ours(target: Any, pushed: GoOn) -> None:
    target.execute("GRANT CONNECT ON DATABASE " + target.info.dbname + " TO bo")
    assert pushed("reset pg")[0] == 0
    left = target.execute("SELECT count(*) FROM pg_roles WHERE starts_with(rolname, 'lw_')")
    assert left.fetchall() == [(0,)]
    (secured,) = target.execute(
        "SELECT relrowsecurity FROM pg_class WHERE oid = 'sales.orders'::regclass"
    ).fetchone()
    assert not secured
    assert target.execute(
        "SELECT has_database_privilege('bo', current_database(), 'CONNECT')"
    ).fetchall() == [(True,)]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("plan absent", "unknown target `absent`; `lakewarden push targets` lists them"),
        ("target add pg --realm lake --catalog quillmere.warehouse", "a target `pg` already"),
        ("target add Pg --realm lake --catalog quillmere.warehouse", "lower-case letters"),
        ("target add two --realm lake --catalog quillmere", "METALAKE.CATALOG"),
        (
            "target add two --realm lake --catalog q.c --url oracle://h/d",
            "`; expected one of: mariadb, mysql, postgresql",
        ),
        (
            "target add two --realm _server --catalog q.c --url postgresql://h/d",
            "no mapping for `postgresql`",
        ),
        ("apply estate.db", "estate.db: expected UTF-8"),
    ],
)
def test_bad_input_says_what_to_do(unanswered: GoOn, words: str, says: str) -> None:
    code, _, error = unanswered(words)
    assert code == 2
    assert says in error


def test_a_database_that_is_away_changes_nothing(unanswered: GoOn) -> None:
    code, _, error = unanswered(
        "target add gone --realm lake --catalog q.c --url postgresql://keeper:secret@127.0.0.1:1/d"
    )
    assert code == 0, error
    code, _, error = unanswered("plan gone")
    assert code == 3
    assert "`gone`" in error
    assert "secret" not in error


def test_roles_of_the_realm_are_there_by_their_names(
    target: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", "--database", STORE]) == 0
    commands = page()
    main(shlex.split(commands[0])[1:])
    furnish()
    (add,) = [one for one in commands if "target add" in one]
    code, _, error = run(f"{add} --style other", capsys)
    assert code == 2
    assert "there is no style `other` for `postgresql`" in error
    assert run(f"{add} --style gravitino", capsys)[0] == 0
    assert run(f"lakewarden push plan pg --out push.json --database {STORE}", capsys)[0] == 1
    assert run(f"lakewarden push apply push.json --database {STORE}", capsys)[0] in (0, 1)
    members = "SELECT pg_get_userbyid(member) FROM pg_auth_members m JOIN pg_roles r"
    rows = target.execute(f"{members} ON r.oid = roleid WHERE rolname = 'readers'").fetchall()
    assert {("ana",), ("bo",)} <= {*rows}
    assert seen(target, "ana") == [1, 2]
    assert seen(target, "bo") == [1]
    assert run(f"lakewarden push reset pg --database {STORE}", capsys)[0] == 0
    assert not target.execute("SELECT 1 FROM pg_roles WHERE rolname = 'readers'").fetchall()
