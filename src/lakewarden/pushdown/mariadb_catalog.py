"""Accounts, roles and grants from MariaDB's own tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from lakewarden.names.mysql_account import Account
from lakewarden.pushdown.drift import ON_PATTERN
from lakewarden.pushdown.grants import COLUMN_DEPTH, Grant
from lakewarden.pushdown.mariadb_names import database_of, object_sql, quoted
from lakewarden.pushdown.mariadb_powers import powers

Rows = Callable[[str], list[dict[str, Any]]]
"""The rows of a query, by the names of its columns."""

ON_ROUTINE: Final = " ON "
"""Precedes `FUNCTION` or `PROCEDURE` in a privilege on a routine."""

GRANT_OPTION: Final = "GRANT OPTION"
LOGIN: Final = "LOGIN"
"""The privilege that stands for a login as one of our roles, which is an account in MySQL."""

EVERYONE: Final = Account("PUBLIC", "")

_NAMES: Final = {
    "grant": GRANT_OPTION,
    "create tmp table": "CREATE TEMPORARY TABLES",
    "delete versioning rows": "DELETE HISTORY",
    "repl client": "BINLOG MONITOR",
    "repl slave": "REPLICATION SLAVE",
    "show db": "SHOW DATABASES",
}
_SUFFIX: Final = "_priv"


@dataclass(frozen=True, slots=True)
class Edge:
    """The grant of a role to an account or a role."""

    grantee: Account
    role: str
    is_admin: bool


@dataclass(frozen=True)
class Catalog:
    """Accounts with their default roles, roles, grants of roles, and privileges.

    `unlimited` are the accounts that no grant limits. `lent` accounts were granted to others, as
    roles (MySQL allows it) or by PROXY: the others get everything that these accounts are granted.
    `proxies` are pairs of an account and the account as which it may act; without a user, the first
    is everyone and the second any account.
    `unmarked` are the roles that the account made and does not administer yet.
    """

    me: Account
    accounts: Mapping[Account, str]
    unlimited: frozenset[Account]
    roles: frozenset[str]
    edges: tuple[Edge, ...]
    grants: Mapping[Account, frozenset[Grant]]
    lent: frozenset[Account] = frozenset()
    unmarked: frozenset[str] = frozenset()
    proxies: tuple[tuple[Account, Account], ...] = ()

    @cached_property
    def administered(self) -> frozenset[str]:
        """The roles that the account of this connection made, or was handed."""
        own = self.edges_from.get(self.me, ())
        return frozenset(one.role for one in own if one.is_admin) & self.roles

    @cached_property
    def edges_of(self) -> Mapping[str, list[Edge]]:
        """The grantees of each role, without the account of this connection."""
        return _grouped((one.role, one) for one in self.edges if one.grantee != self.me)

    @cached_property
    def edges_from(self) -> Mapping[Account, list[Edge]]:
        """The roles granted to each account or role."""
        return _grouped((one.grantee, one) for one in self.edges)

    def direct_privileges(self, account: Account) -> frozenset[Grant]:
        """The privileges that were granted to an account or a role directly."""
        return self.grants.get(account, frozenset())


def _grouped(pairs: Iterator[tuple[Any, Edge]]) -> dict[Any, list[Edge]]:
    found: dict[Any, list[Edge]] = {}
    for key, edge in pairs:
        found.setdefault(key, []).append(edge)
    return found


def read(rows: Rows) -> Catalog:
    """Reads the catalog; the account must be able to read the system's tables."""
    (who,) = rows("SELECT CURRENT_USER() AS me")
    accounts: dict[Account, str] = {}
    roles, unlimited = set(), set()
    users = rows("SELECT * FROM mysql.user")
    for row in users:
        account = Account(row["User"], row["Host"])
        if row["is_role"] == "Y":
            roles.add(account.user)
        else:
            accounts[account] = row["default_role"]
        if row["Super_priv"] == "Y":
            unlimited.add(account)
    user, _, host = who["me"].rpartition("@")
    me = Account(user, host)
    proxies = proxies_of(rows, accounts)
    return Catalog(
        me=me,
        accounts=accounts,
        unlimited=frozenset(unlimited),
        proxies=proxies,
        lent=impersonable_accounts(proxies, accounts, {*unlimited, me}),
        roles=frozenset(roles),
        edges=tuple(
            Edge(_grantee(row), row["Role"], row["Admin_option"] == "Y")
            for row in rows("SELECT * FROM mysql.roles_mapping")
        ),
        grants=privileges_of(rows, users, powers(rows, is_mysql=False)),
    )


def proxies_of(rows: Rows, accounts: Collection[Account]) -> tuple[tuple[Account, Account], ...]:
    """The grants of PROXY; as the host is a pattern there, all accounts of a user count."""
    found: set[tuple[Account, Account]] = set()
    for row in rows("SELECT User, Host, Proxied_user, Proxied_host FROM mysql.proxies_priv"):
        as_whom = Account(row["Proxied_user"], row["Proxied_host"])
        whose = [one for one in accounts if one.user == row["User"]] if row["User"] else [EVERYONE]
        found.update((one, as_whom) for one in whose)
    return tuple(sorted(found))


def impersonable_accounts(
    proxies: Iterable[tuple[Account, Account]],
    accounts: Collection[Account],
    others: Collection[Account],
) -> frozenset[Account]:
    """The accounts as which some account may act that is none of the `others`."""
    return frozenset(
        account
        for whose, as_whom in proxies
        if whose not in others
        for account in accounts
        if account != whose and as_whom.user in ("", account.user)
    )


def privileges_of(
    rows: Rows, users: Iterable[Mapping[str, Any]], beside: Iterable[tuple[Account, Grant]]
) -> dict[Account, frozenset[Grant]]:
    """The privileges of accounts and roles, with the names of the system's tables.

    `users` are the rows of `mysql.user`, and `beside` are privileges that these rows do not have.
    """
    grants: dict[Account, set[Grant]] = {}
    for account, grant in beside:
        grants.setdefault(account, set()).add(grant)
    for row in users:
        _add(grants, Account(row["User"], row["Host"]), (), _flags(row))
    for row in rows("SELECT * FROM mysql.db"):
        name = database_of(row["Db"])
        flags = _flags(row)
        if name is None:
            name, flags = row["Db"], (one + ON_PATTERN for one in flags)
        # A row without a user is for everyone: MariaDB applies it to all accounts.
        whose = Account(row["User"], row["Host"]) if row["User"] else EVERYONE
        _add(grants, whose, (name,), flags)
    for row in rows("SELECT * FROM mysql.tables_priv"):
        path = row["Db"], row["Table_name"]
        _add(grants, _grantee(row), path, _listed(row["Table_priv"]))
    for row in rows("SELECT * FROM mysql.columns_priv"):
        column = row["Db"], row["Table_name"], row["Column_name"]
        _add(grants, _grantee(row), column, _listed(row["Column_priv"]))
    for row in rows("SELECT * FROM mysql.procs_priv"):
        kind = ON_ROUTINE + row["Routine_type"]
        listed = (one + kind for one in _listed(row["Proc_priv"]))
        _add(grants, _grantee(row), (row["Db"], row["Routine_name"]), listed)
    return {account: frozenset(own) for account, own in grants.items()}


def _add(
    grants: dict[Account, set[Grant]],
    account: Account,
    path: tuple[str, ...],
    privileges: Iterator[str],
) -> None:
    for privilege in privileges:
        grants.setdefault(account, set()).add(Grant(path, privilege))


def _grantee(row: Mapping[str, Any]) -> Account:
    return Account(row["User"], row["Host"])


def _flags(row: Mapping[str, Any]) -> Iterator[str]:
    """The privileges of a row that has a column for each."""
    for column, value in row.items():
        if value == "Y" and column.endswith(_SUFFIX):
            yield _privilege(column.removesuffix(_SUFFIX).replace("_", " "))


def _listed(privileges: str) -> Iterator[str]:
    """The privileges in a column that holds a set of them."""
    return (_privilege(one) for one in privileges.split(",") if one)


def _privilege(name: str) -> str:
    lower = name.lower()
    return _NAMES.get(lower, lower.upper())


def privilege_sql(grant: Grant) -> tuple[str, str]:
    """A privilege of these tables and its object, in the syntax of statements.

    >>> privilege_sql(Grant(("s", "t", "c"), "SELECT"))
    ('SELECT (`c`)', ' ON `s`.`t`')
    """
    privilege, path = grant.privilege, grant.path
    on = object_sql(path)
    if privilege.endswith(ON_PATTERN):
        privilege, on = privilege.removesuffix(ON_PATTERN), f"{quoted(path[0])}.*"
    elif ON_ROUTINE in privilege:
        privilege, _, kind = privilege.partition(ON_ROUTINE)
        on = f"{kind} {on}"
    elif len(path) == COLUMN_DEPTH:
        privilege = f"{privilege} ({quoted(path[-1])})"
    return privilege, f" ON {on}"
