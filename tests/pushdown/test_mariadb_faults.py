"""Faults during a push: nobody gets more access, and the same plan resumes."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from pymysql.cursors import DictCursor

from lakewarden.kernel.errors import Conflict, StaleSnapshot, Unavailable
from lakewarden.pushdown import push
from lakewarden.pushdown.address import Address
from lakewarden.pushdown.desired_state import desired_roles
from lakewarden.pushdown.grants import MaskingView, Roles
from lakewarden.pushdown.mariadb import Database, connected
from lakewarden.pushdown.mariadb_names import quoted
from lakewarden.pushdown.plan import Act
from lakewarden.pushdown.push import PushPlan
from lakewarden.testing.world_draft import NOW
from tests import servers
from tests.pushdown.estate import SMALL, altered, facts_of, state_of
from tests.pushdown.limits import limited
from tests.pushdown.mariadb_estate import (
    Connection,
    MariadbEstate,
    administrator,
    estate,
    execute,
)

SEED = 5
SERVERS = ["mariadb_url", pytest.param("mysql_url", marks=pytest.mark.nightly)]
READING = ("SELECT", "SHOW", "SET SESSION", "SET NAMES", "SET AUTO")


@pytest.fixture(params=SERVERS)
def made(request: pytest.FixtureRequest) -> Iterator[MariadbEstate]:
    """A pushed realm with filters and masks, with changes to push."""
    facts = limited(facts_of(SEED, SMALL), SEED)
    with estate(request.getfixturevalue(request.param), altered(facts, SEED)) as first:
        first.push()
        yield first.with_facts(facts)


def planned(made: MariadbEstate) -> PushPlan:
    with made.connected() as database:
        plan = push.plan(database, made.state, made.target, NOW)
    acts = {step.act for step in plan.steps}
    assert {Act.REVOKE, Act.DROP_VIEW, Act.ADD_VIEW, Act.GRANT} <= acts
    return plan


class _Hooked(DictCursor):  # type: ignore[misc]  # PyMySQL is untyped
    """Runs a function before the nth statement that changes something."""

    before: Callable[[int], None]
    count = 0

    def execute(self, query: str, args: Any = None) -> int:
        if not query.lstrip().startswith(READING):
            type(self).before(type(self).count)
            type(self).count += 1
        done: int = super().execute(query, args)
        return done


@contextmanager
def hooked(
    made: MariadbEstate, before: Callable[[int], None], timeout_s: int = 1
) -> Iterator[Database]:
    """The target, with a function that runs before its statements."""
    with connected(made.address, timeout_s=timeout_s) as database:
        kind = type("Hooked", (_Hooked,), {"before": staticmethod(before)})
        database._connection.cursorclass = kind
        yield database


Held = dict[object, frozenset[str]]


def access(roles: Roles) -> Held:
    """The grants of all users, and the views that they read."""
    found: dict[object, set[str]] = {}
    for role in roles.roles.values():
        for one in (*role.grants, *role.views):
            if not (isinstance(one, MaskingView) and one.condition.startswith("altered")):
                found.setdefault(one, set()).update(role.members)
    return {one: frozenset(names) for one, names in found.items()}


def goes_on(made: MariadbEstate, agreed: PushPlan) -> None:
    """Nobody has more than before or after, and the rest of the plan succeeds."""
    begun = agreed.target_during_push()
    assert begun is not None
    sides = access(agreed.held), access(agreed.desired)
    with made.connected() as database:
        for one, names in access(database.managed_roles()).items():
            assert names <= frozenset().union(*(side.get(one, frozenset()) for side in sides)), one
        rest = push.plan(database, made.state, begun, NOW)
        assert rest.resumes(agreed.digest)
        push.apply(database, rest)
        assert database.managed_roles() == agreed.desired


def stops(
    made: MariadbEstate,
    agreed: PushPlan,
    says: str,
    before: Callable[[int], None],
    timeout_s: int = 1,
) -> None:
    """The push ends with that error."""
    with pytest.raises(Unavailable, match=says), hooked(made, before, timeout_s) as database:
        push.apply(database, agreed)


def half(agreed: PushPlan) -> int:
    return len(agreed.statements) // 2


def at(number: int, does: Callable[[], object]) -> Callable[[int], None]:
    def before(count: int) -> None:
        if count == number:
            does()

    return before


def nothing(_: int) -> None:
    """Does nothing."""


@pytest.mark.nightly
def test_a_server_that_somebody_locks(made: MariadbEstate) -> None:
    """For example for a backup: no statement runs until it is unlocked, so the push gives up."""
    agreed = planned(made)
    with administrator(made.address.url) as own:
        lock = at(half(agreed), lambda: execute(own, "FLUSH TABLES WITH READ LOCK"))
        stops(made, agreed, "lock wait timeout|read lock", lock)
        execute(own, "UNLOCK TABLES")
    goes_on(made, agreed)


@pytest.mark.nightly  # by day in a PostgreSQL
def test_a_table_that_somebody_locks(made: MariadbEstate) -> None:
    """A view of it cannot be created meanwhile."""
    agreed = planned(made)
    path = next(step.view.path for step in agreed.steps
                if step.act is Act.ADD_VIEW and step.view is not None)  # fmt: skip
    with administrator(made.address.url) as own:
        execute(own, f"LOCK TABLES {'.'.join(map(quoted, path))} WRITE")
        stops(made, agreed, "lock wait timeout", nothing)
    goes_on(made, agreed)


@pytest.mark.nightly
def test_rows_that_somebody_locks(made: MariadbEstate) -> None:
    agreed = planned(made)
    with administrator(made.address.url) as own:
        own.begin()
        execute(own, "SELECT * FROM lw_pg_masked.lakewarden FOR UPDATE")
        stops(made, agreed, "lock wait timeout", nothing)
        own.rollback()
    goes_on(made, agreed)


@pytest.mark.nightly  # by day in a PostgreSQL
def test_a_deadlock(made: MariadbEstate) -> None:
    """The server ends the session with fewer changes, the push: its statement has no effect."""
    agreed = planned(made)
    gone = notes_dropped(agreed)
    assert len(gone) > 1
    with administrator(made.address.url) as own, administrator(made.address.url) as beside:
        own.begin()
        more = ", ".join(f"('x{number}', '')" for number in range(1_000))
        execute(own, f"INSERT INTO lw_pg_masked.lakewarden (name, note) VALUES {more}")
        _locked(own, max(gone))

        def wait_and_lock() -> None:
            pause = threading.Event()
            while not _waiting(beside):  # the server refreshes only after 0.1 s without queries
                pause.wait(0.2)
            _locked(own, min(gone))

        other = threading.Thread(target=wait_and_lock)
        started = at(_number(agreed, "DELETE FROM"), other.start)
        stops(made, agreed, "deadlock", started, timeout_s=600)
        other.join()
        own.rollback()
    goes_on(made, agreed)


def notes_dropped(agreed: PushPlan) -> list[str]:
    """The names in the statement that removes notes."""
    text = agreed.statements[_number(agreed, "DELETE FROM")].text
    return text.partition(" IN (")[2].rstrip(")").replace("'", "").split(", ")


def _number(agreed: PushPlan, begins: str) -> int:
    return [one.text.startswith(begins) for one in agreed.statements].index(True)


def _locked(own: Connection, name: str) -> None:
    execute(own, "SELECT * FROM lw_pg_masked.lakewarden WHERE name = %s FOR UPDATE", name)


def _waiting(beside: Connection) -> bool:
    states = execute(beside, "SELECT trx_state FROM information_schema.INNODB_TRX")
    return ("LOCK WAIT",) in states


@contextmanager
def keeper_of(made: MariadbEstate) -> Iterator[tuple[MariadbEstate, Connection]]:
    """The same with an account that has the rights of `doctor`, before the first push."""
    url = sa.make_url(made.address.url).set(username="keeper", password="secret")
    own = replace(made, address=Address(url.render_as_string(hide_password=False), "pg"))
    with administrator(made.address.url) as admin:
        ((version,),) = execute(admin, "SELECT VERSION()")
        way = "BY" if "MariaDB" in version else "WITH mysql_native_password BY"
        execute(admin, f"CREATE USER keeper IDENTIFIED {way} 'secret'")
        given(own, admin)
        with made.connected() as database:
            push.apply(database, push.reset_plan(database, made.target))
        yield own, admin


def given(own: MariadbEstate, admin: Connection) -> None:
    while missing := own.missing_rights():
        execute(admin, missing[0].partition(": ")[2])


def test_rights_that_are_gone_halfway(made: MariadbEstate) -> None:
    with keeper_of(made) as (keeper, admin):
        with keeper.connected() as database:
            agreed = push.plan(database, keeper.state, keeper.target, NOW)

        def revoke() -> None:
            places = "SELECT Db FROM mysql.db WHERE User = 'keeper' AND Grant_priv = 'Y'"
            for (place,) in execute(admin, places):
                execute(admin, f"REVOKE GRANT OPTION ON {quoted(place)}.* FROM keeper")

        begins = _number(agreed, "GRANT")
        stops(
            keeper,
            agreed,
            "may not execute some statements; the others were executed",
            at(begins, revoke),
        )
        given(keeper, admin)
        goes_on(keeper, agreed)


@pytest.mark.nightly
def test_a_server_for_reading_only_from_then_on(made: MariadbEstate) -> None:
    with keeper_of(made) as (keeper, admin):
        with keeper.connected() as database:
            agreed = push.plan(database, keeper.state, keeper.target, NOW)
        try:
            begin = at(half(agreed), lambda: execute(admin, "SET GLOBAL read_only = 1"))
            stops(keeper, agreed, "read.only", begin)
        finally:
            execute(admin, "SET GLOBAL read_only = 0")
        goes_on(keeper, agreed)


@pytest.mark.nightly
def test_a_second_pusher_is_refused_in_the_middle(made: MariadbEstate) -> None:
    agreed, refused = planned(made), []

    def beside() -> None:
        with made.connected() as other:
            try:
                other.lock()
            except Conflict as conflict:
                refused.append(str(conflict))

    with hooked(made, at(half(agreed), beside)) as database:
        database.lock()
        push.apply(database, agreed)
        assert database.managed_roles() == agreed.desired
    assert ["another push" in one for one in refused] == [True]


def test_a_clock_that_is_set_back(made: MariadbEstate) -> None:
    """A realm that was compiled for a later time is not valid now."""
    facts = limited(facts_of(SEED, SMALL), SEED)
    later = replace(
        facts, statements=[replace(one, valid_from=NOW - 10) for one in facts.statements]
    )
    state = state_of(later, made.kind)
    with made.connected() as database, pytest.raises(StaleSnapshot):
        desired_roles(state, made.mapping, made.scope, database.objects(), NOW - 20)


# --- full disk ---

DISK_MIB = 320


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A separate disk for started servers; skips the test if it cannot be created."""
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "tmpfs", str(tmp_path)]
    if os.geteuid() != 0 or subprocess.run(mounting, check=False, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    try:
        yield tmp_path
    finally:
        subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


def filled(disk: Path) -> Path:
    """A file that fills the disk."""
    file = disk / "filler"
    with file.open("wb", buffering=0) as out, suppress(OSError):
        while True:
            out.write(bytes(1 << 16))
    with file.open("ab", buffering=0) as out, suppress(OSError):
        while True:
            out.write(b"0")
    return file


@pytest.mark.nightly
def test_a_disk_that_is_full(small_disk: Path) -> None:
    facts = limited(facts_of(SEED, SMALL), SEED)
    with servers.mariadb() as server, estate(server, altered(facts, SEED)) as first:
        first.push()
        made = first.with_facts(facts)
        agreed, files = planned(made), list[Path]()
        fill = at(half(agreed), lambda: files.append(filled(small_disk)))
        stops(made, agreed, "full|space|errcode", fill)
        files[0].unlink()
        goes_on(made, agreed)
