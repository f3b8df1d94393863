"""Accounts, roles and grants from MySQL's own tables, in the form in which MariaDB's are read.

A role of MySQL is an account that cannot log in, and an account can be granted to others, who get
its rights: such an account also counts as a role. The creator of a role does not administer it; a
push grants itself that right. A role that it created and does not administer yet is an empty role
of ours.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from lakewarden.names.mysql_account import EVERY_HOST, Account, user_name
from lakewarden.pushdown.grants import Grant
from lakewarden.pushdown.mariadb_catalog import (
    EVERYONE,
    LOGIN,
    Catalog,
    Edge,
    Rows,
    impersonable_accounts,
    privileges_of,
    proxies_of,
)
from lakewarden.pushdown.mariadb_names import RoleNames
from lakewarden.pushdown.mariadb_powers import powers

_EDGES: Final = "SELECT * FROM mysql.role_edges"
_DEFAULTS: Final = "SELECT * FROM mysql.default_roles"
_MANDATORY: Final = "SELECT @@mandatory_roles AS roles"
_NAME: Final = r"""`(?:[^`]|``)*`|'(?:[^']|'')*'|"(?:[^"]|"")*"|[^\s@,`'"]+"""
_IN_LIST: Final = re.compile(rf"(?P<user>{_NAME})(?:\s*@\s*(?P<host>{_NAME}))?")
"""One role in a list of roles."""


def read(rows: Rows, marks: RoleNames, claimed: Collection[str]) -> Catalog:
    """Reads the catalog; the account must be able to read the system's tables.

    `claimed` are names of roles that the store knows as ours.
    """
    (who,) = rows("SELECT CURRENT_USER() AS me")
    user, _, host = who["me"].rpartition("@")
    me = Account(user, host)
    users = {Account(row["User"], row["Host"]): row for row in rows("SELECT * FROM mysql.user")}
    edges = rows(_EDGES)
    defaults: dict[Account, list[str]] = {}
    for row in rows(_DEFAULTS):
        name = _role(Account(row["DEFAULT_ROLE_USER"], row["DEFAULT_ROLE_HOST"]))
        defaults.setdefault(Account(row["USER"], row["HOST"]), []).append(name)
    granted = {_from(row) for row in edges}
    roles = {one for one, row in users.items() if one in granted or _cannot_log_in(row)}
    log_ins = (
        (one, Grant((), LOGIN))
        for one in granted
        if one.host == EVERY_HOST
        and _is_named(one.user, marks, claimed)
        and users.get(one, {}).get("account_locked") == "N"
    )
    beside = chain(powers(rows, is_mysql=True), log_ins)
    found = privileges_of(rows, users.values(), beside)
    accounts = {
        one: _default(defaults.get(one, ()), marks)
        for one, row in users.items()
        if not _cannot_log_in(row)
    }
    unlimited = frozenset(one for one, row in users.items() if row["Super_priv"] == "Y")
    proxies = proxies_of(rows, accounts)
    catalog = Catalog(
        me=me,
        accounts=accounts,
        unlimited=unlimited,
        proxies=proxies,
        roles=frozenset(map(_role, roles)),
        edges=tuple(_edges(edges, roles)),
        grants={
            as_is: grants
            for one, grants in found.items()
            for as_is in ({one, Account(_role(one), "")} if one in roles else {one})
        },
        lent=impersonable_accounts(proxies, accounts, {*unlimited, me}).union(
            granted & accounts.keys()
        ),
    )
    return _with_mandatory(_with_unmarked(catalog, roles, marks, claimed), rows)


def _cannot_log_in(row: Mapping[str, Any]) -> bool:
    """Whether the account is like one that `CREATE ROLE` of MySQL makes."""
    return row["account_locked"] == "Y" and not row["authentication_string"]


def _from(row: Mapping[str, Any]) -> Account:
    return Account(row["FROM_USER"], row["FROM_HOST"])


def _role(account: Account) -> str:
    """The name of a role; it contains the host unless that is every host."""
    return account.user if account.host == EVERY_HOST else user_name(account)


def _default(names: Iterable[str], marks: RoleNames) -> str:
    """The default role of an account; of several, one that is not ours, if there is one."""
    return min(names, key=lambda name: (marks.is_personal(name), name), default="")


def _edges(rows: Iterable[Mapping[str, Any]], roles: Collection[Account]) -> Iterator[Edge]:
    for row in rows:
        to, is_admin = Account(row["TO_USER"], row["TO_HOST"]), row["WITH_ADMIN_OPTION"] == "Y"
        role = _role(_from(row))
        if to in roles:
            yield Edge(Account(_role(to), ""), role, is_admin)
        else:
            yield Edge(to, role, is_admin)


def _is_named(role: str, marks: RoleNames, claimed: Collection[str]) -> bool:
    return marks.is_personal(role) or marks.is_shared(role) or role in claimed


def _with_unmarked(
    catalog: Catalog, roles: Collection[Account], marks: RoleNames, claimed: Collection[str]
) -> Catalog:
    """The catalog, with us as the administrator of our empty roles."""
    known = {one.role for one in catalog.edges} | {one.grantee.user for one in catalog.edges}
    unmarked = {
        name
        for one in roles
        if one.host == EVERY_HOST
        for name in (one.user,)
        if _is_named(name, marks, claimed)
        and name not in known
        and not catalog.direct_privileges(Account(name, ""))
    }
    edges = (Edge(catalog.me, name, is_admin=True) for name in sorted(unmarked))
    return replace(catalog, edges=(*catalog.edges, *edges), unmarked=frozenset(unmarked))


def _listed(roles: str) -> Iterator[Account]:
    """The accounts of a list of roles, such as of the variable `mandatory_roles`.

    >>> [*_listed("a, `b`@'h', c@%")]
    [Account(user='a', host='%'), Account(user='b', host='h'), Account(user='c', host='%')]
    """
    for found in _IN_LIST.finditer(roles):
        user, host = (_unquoted(found[name]) for name in ("user", "host"))
        yield Account(user, host or EVERY_HOST)


def _unquoted(name: str | None) -> str:
    quote = (name or "")[:1]
    return (name or "")[1:-1].replace(quote * 2, quote) if quote in ("`", "'", '"') else name or ""


def _with_mandatory(catalog: Catalog, rows: Rows) -> Catalog:
    """The catalog in which everyone has the grants of mandatory roles."""
    (row,) = rows(_MANDATORY)
    todo = [_role(one) for one in _listed(row["roles"] or "")]
    everybody: set[Grant] = set()
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        if name and name not in seen:
            seen.add(name)
            everybody |= catalog.direct_privileges(Account(name, ""))
            todo += [one.role for one in catalog.edges_from.get(Account(name, ""), ())]
    if not everybody:
        return catalog
    own = catalog.direct_privileges(EVERYONE) | everybody
    return replace(catalog, grants={**catalog.grants, EVERYONE: frozenset(own)})
