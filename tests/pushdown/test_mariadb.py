"""A real MariaDB never allows more than the kernel, and less only if that is reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pymysql
import pytest
import sqlalchemy as sa
from pymysql.cursors import DictCursor

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Busy, Unavailable
from lakewarden.kernel.principal import USER, Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.names.mysql_account import account_of
from lakewarden.pushdown import push
from lakewarden.pushdown.address import Address
from lakewarden.pushdown.desired_state import DesiredRoles
from lakewarden.pushdown.drift import ADDED, MISSING, differences
from lakewarden.pushdown.grants import Roles
from lakewarden.pushdown.mariadb import Database, connected
from lakewarden.pushdown.mariadb_names import RoleNames, grantee, quoted
from lakewarden.pushdown.plan import steps
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import Size
from tests.pushdown.estate import SIZE, SMALL, STORE, altered, facts_of, is_left_out
from tests.pushdown.limits import limited
from tests.pushdown.mariadb_acts import ACTS, acts, may_each
from tests.pushdown.mariadb_estate import (
    Connection,
    MariadbEstate,
    administrator,
    estate,
    execute,
)

FEW, DAY = (2, 5), range(2, 62)
NIGHT, SHARD = range(1_000, 2_000, 25), range(25)
"""Two kinds of a thousand worlds each, in shards of 25."""

CUT = (5, 8, 9, 12, 15, 23, 27, 30, 33, 41, 42, 52, 53, 57, 67)
"""Worlds whose pushes have 507 statements in total, there and back, each at least ten."""


def compare(
    made: MariadbEstate, wish: DesiredRoles, users: Sequence[Principal] | None = None
) -> Counter[str]:
    """The server's real behaviour for every user on every object agrees with the kernel."""
    counts: Counter[str] = Counter()
    objects, views = made.objects(), made.views()
    tables = {entity: objects.get(path[:2], entity) for path, entity in objects.items()}
    # Users who read a table by a masking view read its columns there.
    asked = [
        (privilege, entity, statement)
        for path, entity in objects.items()
        for privilege in ACTS.get(entity.type, {})
        for way in (path, *((*one, *path[2:]) for one in views.get(path[:2], ())))
        if way == path or privilege == "SELECT"
        for statement in (acts(entity.type, way)[privilege],)
    ]
    for user in made.users() if users is None else users:
        ways: Counter[tuple[str, Entity]] = Counter()
        with made.as_user(user) as own:
            answers = may_each(own, [statement for _, _, statement in asked])
        for (privilege, entity, _), answer in zip(asked, answers, strict=True):
            ways[privilege, entity] += answer
        for (privilege, entity), count in ways.items():
            allowed = made.allows(user, privilege, entity)
            counts[f"{allowed} {count > 0}"] += 1
            counts[f"column {allowed} {count > 0}"] += entity.type == "column"
            where = (privilege, user, entity)
            assert count <= allowed, where
            alike = {entity, tables[entity]}
            is_said = any(is_left_out(wish, privilege, user, one) for one in alike)
            assert count or not allowed or is_said, where
    return counts


def pushed(made: MariadbEstate) -> Counter[str]:
    wish, _ = made.push()
    counts = compare(made, wish)
    assert made.push()[1] == 0
    return counts


def check(server: str, seed: int, *, bound: bool = False, size: Size = SIZE) -> Counter[str]:
    """Pushes a realm, then the realm with other permissions, then the first one again."""
    facts = facts_of(seed, size)
    facts = limited(facts, seed) if bound else facts
    with estate(server, facts, store=STORE) as made:
        counts = pushed(made)
        counts += pushed(made.with_facts(altered(facts, seed)))
        return counts + pushed(made)


def check_once(server: str, seed: int, *, bound: bool) -> Counter[str]:
    """A small realm, pushed to a server without our objects."""
    facts = facts_of(seed, SMALL)
    with estate(server, limited(facts, seed) if bound else facts, store=STORE) as made:
        wish, _ = made.push()
        return compare(made, wish)


def test_the_server_allows_what_the_kernel_allows(mariadb_url: str) -> None:
    counts = check(mariadb_url, FEW[0], size=SMALL)
    counts += check(mariadb_url, FEW[1], bound=True, size=SMALL)
    for seed in DAY:
        counts += check_once(mariadb_url, seed, bound=seed % 4 == 0)
    assert counts["True True"] > 2_000, counts
    assert counts["False False"] > 5_000, counts
    assert counts["column True True"] > 500, counts


@pytest.mark.nightly
@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.parametrize("first", NIGHT)
def test_the_server_allows_what_the_kernel_allows_in_many_worlds(
    mariadb_url: str, first: int, bound: bool
) -> None:
    for number in SHARD:
        check(mariadb_url, first + number, bound=bound, size=SMALL)


# --- names ---

SCHEMAS = (
    *("a_b", "axb", "a%b", "a`b", "q\"'q", "Straße", "Strasse", "b\\c", "b\\\\c", "b\\_c"),
    *("Case", "case", "_" * 32, "_" * 33, "x" * 64),
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


def compare_local(made: MariadbEstate, wish: DesiredRoles) -> Counter[str]:
    """Like `compare`, for users of this host; the others have their roles."""
    assert "ana@10.0.0.1" in {
        name for one in made.managed_roles().roles.values() for name in one.members
    }
    local = [one for one in made.users() if account_of(made.name(one)).host == "%"]
    return compare(made, wish, local)


# --- faults ---


class CutCursor(DictCursor):  # type: ignore[misc]  # untyped
    """Loses the connection at a statement, after so many that changed something."""

    left: int = 0
    admin: Connection

    def execute(self, query: str, args: Any = None) -> int:
        """Sends a statement; the server closes the connection before the last one."""
        if not query.lstrip().startswith("SELECT"):
            type(self).left -= 1
            if type(self).left < 0:
                execute(self.admin, f"KILL CONNECTION {self.connection.thread_id()}")
        count: int = super().execute(query, args)
        return count


@contextmanager
def cut(made: MariadbEstate, admin: Connection, after: int) -> Iterator[Database]:
    """The target, whose connection is lost after so many changing statements."""
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
    """A push that is interrupted anywhere gives nobody more than before or after, and resumes."""
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
            begun = agreed.target_during_push()
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
                assert rest.resumes(agreed.digest)
                push.apply(database, rest)
                assert database.managed_roles() == agreed.desired
            made.push()
            done += 1
        return done


def _has_no_more(before: MariadbEstate, after: MariadbEstate) -> None:
    asked = [
        (privilege, entity, statement)
        for path, entity in before.objects().items()
        for privilege, statement in acts(entity.type, path).items()
    ]
    for user in before.users():
        with before.as_user(user) as own:
            answers = may_each(own, [statement for _, _, statement in asked])
        for (privilege, entity, _), answer in zip(asked, answers, strict=True):
            allowed = (one.allows(user, privilege, entity) for one in (before, after))
            assert not answer or any(allowed), (privilege, user, entity)


def test_a_push_that_is_cut_off_opens_nothing_and_goes_on(mariadb_url: str) -> None:
    assert check_cuts(mariadb_url, FEW[1], 4) == 4


@pytest.mark.nightly
@pytest.mark.parametrize("is_back", [False, True])
@pytest.mark.parametrize("seed", CUT)
def test_a_push_that_is_cut_off_at_any_statement_opens_nothing_and_goes_on(
    mariadb_url: str, seed: int, is_back: bool
) -> None:
    assert check_cuts(mariadb_url, seed, 1_000, is_back=is_back) > 10


@pytest.fixture
def made(mariadb_url: str) -> Iterator[MariadbEstate]:
    """A realm that has been pushed."""
    with estate(mariadb_url, facts_of(FEW[1], SMALL)) as made:
        made.push()
        yield made


def test_a_push_that_is_over_keeps_no_other_one_out(made: MariadbEstate) -> None:
    """The server notices a closed connection only after a while."""
    with connected(made.address) as one:
        one.lock()
        stays = one._connection
        stays.close = lambda: None  # as if it had not been noticed yet
    with connected(made.address) as two:
        two.lock()
    stays._force_close()


def test_two_pushes_do_not_meet(made: MariadbEstate) -> None:
    with connected(made.address) as one, connected(made.address) as two:
        two.require_free()
        two.begin_snapshot()
        one.lock()  # a read-only session holds no lock
        for act in (two.lock, two.require_free):
            with pytest.raises(Busy, match=f"another push .* in the connection {one.process} "):
                act()
    with connected(made.address) as two:
        two.lock()


def edits(made: MariadbEstate) -> Iterator[str | tuple[str, ...]]:
    """Possible changes of our objects by others, in one statement or in several."""
    table = next(path for path, one in made.objects().items() if one.type == "table")
    for name, role in sorted(made.managed_roles().roles.items()):
        user = min(role.members)
        own = quoted(RoleNames("pg").personal(user))
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
            yield f"GRANT SET USER ON *.* TO {whom}"
            yield f"GRANT CONNECTION ADMIN, READ_ONLY ADMIN ON *.* TO {whom}"
            yield f"GRANT EXECUTE ON FUNCTION {quoted(table[0])}.answer TO {whom}"
        return


@pytest.mark.nightly  # by day in test_mariadb_views.py
def test_what_others_change_is_named_and_repaired(made: MariadbEstate) -> None:
    before = made.managed_roles()
    schema = next(path for path, one in made.objects().items() if one.type == "table")[0]
    with administrator(made.address.url) as admin:
        execute(admin, "CREATE USER stranger")
        execute(admin, "CREATE ROLE readers")
        execute(admin, "CREATE ROLE writers")
        execute(admin, f"CREATE FUNCTION {quoted(schema)}.answer() RETURNS int RETURN 42")
        for edit in edits(made):
            for statement in (edit,) if isinstance(edit, str) else edit:
                execute(admin, statement)
            found = list(differences(before, made.managed_roles()))
            assert found, edit
            assert {one.kind for one in found} <= {MISSING, ADDED}
            assert made.push(before)[1] > 0, edit
            assert made.managed_roles() == before, edit


def test_roles_and_default_roles_of_others_stay(made: MariadbEstate) -> None:
    before = made.managed_roles()
    user = min(name for role in before.roles.values() for name in role.members)
    account = grantee(account_of(user))
    foreign = "lw_pg_0123456789abcdef"
    with administrator(made.address.url) as admin:
        execute(admin, f"CREATE ROLE {foreign} WITH ADMIN root@localhost")
        assert made.managed_roles() == before
        execute(admin, "CREATE ROLE theirs")
        execute(admin, f"GRANT theirs TO {account}")
        execute(admin, f"SET DEFAULT ROLE theirs FOR {account}")
        wish, _ = made.push()
        assert "another default role" in str({one.why for one in wish.residues})
        assert user not in {
            name for role in made.managed_roles().roles.values() for name in role.members
        }
        compare(made, wish)
        with connected(made.address) as database:
            database.execute(database.statements(steps(database.managed_roles(), Roles())))
            assert not database.managed_roles().roles
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
            database.execute(database.statements(steps(database.managed_roles(), Roles())))
        execute(admin, "SET GLOBAL read_only = 1")
        try:
            with pytest.raises(Unavailable, match="read-only"):
                own.push()
        finally:
            execute(admin, "SET GLOBAL read_only = 0")
        assert not own.managed_roles().roles
        wish, _ = own.push()
        assert own.managed_roles().roles
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
