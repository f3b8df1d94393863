"""A real MariaDB allows what the kernel allows: never more, and less only where it is told."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pymysql
import pytest
import sqlalchemy as sa
from pymysql.cursors import DictCursor

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Conflict, Unavailable
from lakewarden.kernel.principal import USER, Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.names.mysql_account import account_of
from lakewarden.pushdown import push
from lakewarden.pushdown.address import Address
from lakewarden.pushdown.drift import ADDED, MISSING, differences
from lakewarden.pushdown.grants import Path, Roles
from lakewarden.pushdown.mariadb import Database, connected
from lakewarden.pushdown.mariadb_names import Marks, grantee, quoted
from lakewarden.pushdown.plan import steps
from lakewarden.pushdown.wanted import Wanted
from lakewarden.testing.world_draft import NOW
from tests.pushdown.estate import STORE, altered, facts_of, is_left_out
from tests.pushdown.limits import limited
from tests.pushdown.mariadb_estate import (
    Connection,
    MariadbEstate,
    administrator,
    estate,
    execute,
)

PROBES = {
    "schema": {
        "CREATE": "CREATE TABLE {}.`made here` (a int)",
        "CREATE VIEW": "CREATE VIEW {}.`seen here` AS SELECT 1 AS a",
        "CREATE ROUTINE": "CREATE FUNCTION {}.`called here`() RETURNS int RETURN 1",
    },
    "table": {
        "SELECT": "SELECT * FROM {} LIMIT 0",
        "INSERT": "INSERT INTO {} (amount) SELECT 1 FROM DUAL WHERE false",
        "UPDATE": "UPDATE {} SET amount = 1 WHERE false",
        "DELETE": "DELETE FROM {} WHERE false",
        "ALTER": "ALTER TABLE {} COMMENT = 'altered'",
        "INDEX": "CREATE OR REPLACE INDEX found ON {} (amount)",
    },
    "view": {"SELECT": "SELECT * FROM {} LIMIT 0"},
    "column": {
        "SELECT": "SELECT {1} FROM {0} LIMIT 0",
        "INSERT": "INSERT INTO {0} ({1}) SELECT '' FROM DUAL WHERE false",
        "UPDATE": "UPDATE {0} SET {1} = '' WHERE false",
    },
}
UNDONE = (
    "DROP TABLE IF EXISTS {}.`made here`",
    "DROP VIEW IF EXISTS {}.`seen here`",
)
SLOW, SAMPLED = ("CREATE", "CREATE VIEW", "CREATE ROUTINE", "ALTER", "INDEX"), 0.1
"""What changes definitions is tried of so many pairs of a user and an object."""

DENIED = (1044, 1142, 1143, 1370)
DAY, NIGHT = (2, 5, 9), range(100, 400)
CUT = (5, 8, 9, 12, 15, 23, 27, 30, 33, 41, 42, 52, 53, 57, 67)
"""Worlds whose pushes have 507 statements in sum, there and back, each of them ten or more."""


NO_INDEX = 1091
"""There is no index to be dropped, which is looked for after the rights are."""


def may(connection: Connection, statement: str) -> bool:
    """Whether the server does it for whoever is connected."""
    try:
        execute(connection, statement)
    except pymysql.MySQLError as error:
        if error.args[0] in (*DENIED, NO_INDEX):
            return bool(error.args[0] == NO_INDEX)
        raise
    return True


def places(path: Path) -> list[str]:
    """A database or table in a statement, and the column of it."""
    whole = [quoted(one) for one in path]
    return [".".join(whole[:2]), *whole[2:]]


def compare(
    made: MariadbEstate,
    wish: Wanted,
    users: Sequence[Principal] | None = None,
    probes: Mapping[str, Mapping[str, str]] = PROBES,
) -> Counter[str]:
    """What the server really does for every user on every object is what the kernel says."""
    counts: Counter[str] = Counter()
    rng, objects, views = random.Random(len(wish.roles)), made.objects(), made.views()
    with administrator(made.address.url) as admin:
        for user in made.users() if users is None else users:
            with made.as_user(user) as own:
                for path, entity in objects.items():
                    names = places(path)
                    alike = {entity, objects.get(path[:2], entity)}
                    for privilege, statement in probes.get(entity.type, {}).items():
                        if privilege in SLOW and rng.random() > SAMPLED:
                            continue
                        # Whoever reads a table by a masking view reads its columns there.
                        others = views.get(path[:2], ()) if privilege == "SELECT" else ()
                        ways = [names, *(places((*one, *path[2:])) for one in others)]
                        count = sum(may(own, statement.format(*way)) for way in ways)
                        answer = count > 0
                        allowed = made.allows(user, privilege, entity)
                        counts[f"{allowed} {answer}"] += 1
                        counts[f"column {allowed} {answer}"] += entity.type == "column"
                        where = (privilege, user, entity)
                        assert count <= allowed, where
                        is_said = any(is_left_out(wish, privilege, user, one) for one in alike)
                        assert answer or not allowed or is_said, where
                        if answer and entity.type == "schema":
                            for undone in UNDONE:
                                execute(admin, undone.format(*names))
    return counts


def pushed(made: MariadbEstate) -> Counter[str]:
    wish, _ = made.push()
    counts = compare(made, wish)
    assert made.push()[1] == 0
    return counts


def check(server: str, seed: int, *, bound: bool = False) -> Counter[str]:
    """A realm, the realm when others may do other things, and the first one again."""
    facts = limited(facts_of(seed), seed) if bound else facts_of(seed)
    with estate(server, facts, store=STORE) as made:
        counts = pushed(made)
        counts += pushed(made.with_facts(altered(facts, seed)))
        return counts + pushed(made)


def test_the_server_allows_what_the_kernel_allows(mariadb_url: str) -> None:
    counts = sum((check(mariadb_url, seed) for seed in DAY), Counter())
    counts += check(mariadb_url, DAY[0], bound=True)
    assert counts["True True"] > 200
    assert counts["False False"] > 500
    assert counts["column True True"] > 20


@pytest.mark.nightly
@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.parametrize("seed", NIGHT)
def test_so_it_does_in_many_worlds(mariadb_url: str, seed: int, bound: bool) -> None:
    check(mariadb_url, seed, bound=bound)


# --- names ---

SCHEMAS = (
    *("a_b", "axb", "a%b", "a`b", "q\"'q", "Straße", "Strasse", "b\\c", "b\\_c", "Case", "case"),
    *("_" * 32, "_" * 33, "x" * 64),
)
USERS = ("ana", "Ana", "o'neil", "back`tick", "a%", "a_", "ana@10.0.0.1", "ünï", "n" * 80)


def hostile() -> Facts:
    """Each user may create tables in one of the schemas, and read in it."""
    parts = [Entity("metalake", "lk"), Entity("catalog", "lk:c")]
    schemas = [Entity("schema", f"lk:c.{name}") for name in SCHEMAS]
    tables = [Entity("table", f"{one.name}.t_%`") for one in schemas]
    users = [Principal(USER, name) for name in USERS]
    members = [MembershipRow(one, members_of("lk")) for one in users]
    rights = frozenset({"USE_CATALOG", "USE_SCHEMA", "CREATE_TABLE", "SELECT_TABLE"})
    return Facts(
        entities=[
            EntityRow(parts[0], None),
            EntityRow(parts[1], parts[0]),
            *(EntityRow(one, parts[1]) for one in schemas),
            *(EntityRow(one, above) for one, above in zip(tables, schemas, strict=True)),
        ],
        principals=users,
        memberships=members,
        statements=[
            Statement("use", Effect.ALLOW, frozenset({"USE_CATALOG"}), On(parts[1]),
                      frozenset(users)),
            *(
                Statement(f"s{number}", Effect.ALLOW, rights, On(schema),
                          frozenset({users[number % len(users)]}))
                for number, schema in enumerate(schemas)
            ),
        ],
    )  # fmt: skip


def test_hostile_names_are_exact_or_left_out(mariadb_url: str) -> None:
    with estate(mariadb_url, hostile()) as made:
        wish, _ = made.push()
        counts = compare_local(made, wish)
        assert counts["True True"] > len(SCHEMAS)
        whys = {(one.why, one.entity) for one in wish.residues}
        long = "its name is too long for a grant on a database"
        assert whys == {(long, f"schema:lk:c.{'_' * 33}")}


def compare_local(made: MariadbEstate, wish: Wanted) -> Counter[str]:
    """As `compare`, of users who may be at this host; the others have their roles."""
    assert "ana@10.0.0.1" in {name for one in made.held().roles.values() for name in one.members}
    local = [one for one in made.users() if account_of(made.name(one)).host == "%"]
    return compare(made, wish, local)


# --- faults ---


class CutCursor(DictCursor):  # type: ignore[misc]  # without types
    """Loses the connection at a statement, when so many have changed something."""

    left: int = 0
    admin: Connection

    def execute(self, query: str, args: Any = None) -> int:
        """Sends a statement; the server throws the connection out before the last one."""
        if not query.lstrip().startswith("SELECT"):
            type(self).left -= 1
            if type(self).left < 0:
                execute(self.admin, f"KILL CONNECTION {self.connection.thread_id()}")
        count: int = super().execute(query, args)
        return count


@contextmanager
def cut(made: MariadbEstate, admin: Connection, after: int) -> Iterator[Database]:
    """The target, whose connection is lost after so many statements that change something."""
    at = sa.make_url(made.address.url)
    kind = type("Cut", (CutCursor,), {"left": after, "admin": admin})
    connection = pymysql.connect(
        host=at.host,
        port=at.port or 0,
        user=at.username,
        password=str(at.password),
        autocommit=True,
        cursorclass=kind,
    )
    try:
        yield Database(connection, made.address)
    finally:
        with suppress(pymysql.MySQLError):
            connection.close()


def check_cuts(server: str, seed: int, most: int, *, is_back: bool = False) -> int:
    """A push that is cut off anywhere leaves nobody more than before or after, and goes on."""
    facts = facts_of(seed)
    with estate(server, facts, store=STORE) as first, administrator(first.address.url) as admin:
        second = first.with_facts(altered(facts, seed))
        made, other = (second, first) if is_back else (first, second)
        made.push()
        done, is_over = 0, False
        while not is_over and done < most:
            after = done if most > 100 else done * 7
            target = made.target
            with connected(made.address) as database:
                agreed = push.plan(database, other.state, target, NOW)
            begun = agreed.begun()
            assert begun is not None
            try:
                with cut(made, admin, after) as database:
                    push.apply(database, agreed)
                    is_over = True
            except pymysql.MySQLError:
                pass
            _has_no_more(made, other)
            with connected(made.address) as database:
                rest = push.plan(database, other.state, begun, NOW)
                assert rest.continues(agreed.digest)
                push.apply(database, rest)
                assert database.held() == agreed.wanted
            made.push()
            done += 1
        return done


def _has_no_more(before: MariadbEstate, after: MariadbEstate) -> None:
    for user in before.users():
        with before.as_user(user) as own:
            for path, entity in before.objects().items():
                for privilege, statement in PROBES.get(entity.type, {}).items():
                    if privilege in ("SELECT", "INSERT", "UPDATE", "DELETE"):
                        allowed = (
                            realm.allows(user, privilege, entity) for realm in (before, after)
                        )
                        assert any(allowed) or not may(own, statement.format(*places(path)))


def test_a_push_that_is_cut_off_opens_nothing_and_goes_on(mariadb_url: str) -> None:
    assert check_cuts(mariadb_url, DAY[1], 4) == 4


@pytest.mark.nightly
@pytest.mark.parametrize("is_back", [False, True])
@pytest.mark.parametrize("seed", CUT)
def test_so_it_does_at_every_statement(mariadb_url: str, seed: int, is_back: bool) -> None:
    assert check_cuts(mariadb_url, seed, 1_000, is_back=is_back) > 10


@pytest.fixture
def made(mariadb_url: str) -> Iterator[MariadbEstate]:
    """A realm that was pushed."""
    with estate(mariadb_url, facts_of(DAY[1])) as made:
        made.push()
        yield made


def test_two_pushes_do_not_meet(made: MariadbEstate) -> None:
    with connected(made.address) as one, connected(made.address) as two:
        one.lock()
        with pytest.raises(Conflict, match="another push"):
            two.lock()
    with connected(made.address) as two:
        two.lock()


def edits(made: MariadbEstate) -> Iterator[str | tuple[str, ...]]:
    """What others may do to what is ours, in one statement or in several."""
    table = next(path for path, one in made.objects().items() if one.type == "table")
    for name, role in sorted(made.held().roles.items()):
        user = min(role.members)
        own = quoted(Marks("pg").personal(user))
        account = grantee(account_of(user))
        yield f"REVOKE {quoted(name)} FROM {own}"
        yield f"REVOKE {own} FROM {account}"
        yield f"SET DEFAULT ROLE NONE FOR {account}"
        yield f"DROP ROLE {own}"
        yield f"DROP ROLE {quoted(name)}"
        yield f"GRANT {quoted(name)} TO {account}"
        yield f"GRANT {own} TO stranger WITH ADMIN OPTION"
        yield f"GRANT readers TO {own}"
        yield f"GRANT readers TO {quoted(name)}"
        yield (f"GRANT readers TO {quoted(name)}", f"GRANT writers TO {quoted(name)}")
        for whom in (own, quoted(name)):
            yield f"GRANT SELECT ON `%`.* TO {whom}"
            yield f"GRANT TRIGGER ON {'.'.join(map(quoted, table))} TO {whom} WITH GRANT OPTION"
            yield f"GRANT SELECT (region) ON {'.'.join(map(quoted, table))} TO {whom}"
            yield f"GRANT FILE, SELECT ON *.* TO {whom}"
            yield f"GRANT EXECUTE ON FUNCTION {quoted(table[0])}.answer TO {whom}"
        return


def test_what_others_change_is_named_and_repaired(made: MariadbEstate) -> None:
    before = made.held()
    schema = next(path for path, one in made.objects().items() if one.type == "table")[0]
    with administrator(made.address.url) as admin:
        execute(admin, "CREATE USER stranger")
        execute(admin, "CREATE ROLE readers")
        execute(admin, "CREATE ROLE writers")
        execute(admin, f"CREATE FUNCTION {quoted(schema)}.answer() RETURNS int RETURN 42")
        for edit in edits(made):
            for statement in (edit,) if isinstance(edit, str) else edit:
                execute(admin, statement)
            found = list(differences(before, made.held()))
            assert found, edit
            assert {one.kind for one in found} <= {MISSING, ADDED}
            assert made.push(before)[1] > 0, edit
            assert made.held() == before, edit


def test_roles_and_default_roles_of_others_stay(made: MariadbEstate) -> None:
    before = made.held()
    user = min(name for role in before.roles.values() for name in role.members)
    account = grantee(account_of(user))
    foreign = "lw_pg_0123456789abcdef"
    with administrator(made.address.url) as admin:
        execute(admin, f"CREATE ROLE {foreign} WITH ADMIN root@localhost")
        assert made.held() == before
        execute(admin, "CREATE ROLE theirs")
        execute(admin, f"GRANT theirs TO {account}")
        execute(admin, f"SET DEFAULT ROLE theirs FOR {account}")
        wish, _ = made.push()
        assert "another default role" in str({one.why for one in wish.residues})
        assert user not in {name for role in made.held().roles.values() for name in role.members}
        compare(made, wish)
        with connected(made.address) as database:
            database.execute(database.statements(steps(database.held(), Roles())))
            assert not database.held().roles
        rows = execute(admin, "SELECT User, default_role FROM mysql.user")
    assert (foreign, "") in rows
    assert [default for _, default in rows if default] == ["theirs"]


def test_an_account_is_told_what_it_lacks(made: MariadbEstate) -> None:
    at = sa.make_url(made.address.url).set(username="pusher", password="secret")
    address = Address(at.render_as_string(hide_password=False), "two")
    own = MariadbEstate(made.state, made.scope, address)
    with administrator(made.address.url) as admin:
        execute(admin, "CREATE USER pusher IDENTIFIED BY 'secret'")
        with pytest.raises(Unavailable, match="denied"):
            own.push()
        while missing := own.missing_rights():
            execute(admin, missing[0].partition(": ")[2])
        with connected(made.address) as database:
            database.execute(database.statements(steps(database.held(), Roles())))
        execute(admin, "SET GLOBAL read_only = 1")
        try:
            with pytest.raises(Unavailable, match="read-only"):
                own.push()
        finally:
            execute(admin, "SET GLOBAL read_only = 0")
        assert not own.held().roles
        wish, _ = own.push()
        assert own.held().roles
        compare(own, wish)


@pytest.mark.parametrize("url", ["mariadb://", "mariadb://h:port", "mariadb://h/d?local_infile=1"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(BadInput, match="mariadb://USER"), connected(Address(url, "pg")):
        raise AssertionError


def test_an_address_that_cannot_be_reached_shows_no_password() -> None:
    with (
        pytest.raises(Unavailable) as caught,
        connected(Address("mariadb://keeper:secret@127.0.0.1:1", "pg")),
    ):
        raise AssertionError
    assert "secret" not in str(caught.value)
