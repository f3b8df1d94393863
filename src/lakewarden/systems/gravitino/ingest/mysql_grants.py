"""MySQL's and MariaDB's accounts, roles and grants as those of a Gravitino catalog.

The server is the catalog, a database is a schema. There are no owners.

    account                           user `name`, or `name@host` where the host is not `%`
    role                              role; users for whom it is active at log-in are members
    PUBLIC (MariaDB)                  all users of the metalake
    every account                     USE_CATALOG
    any privilege on or in a schema   USE_SCHEMA on it
    SELECT                            SELECT_TABLE and SELECT_VIEW, on a view the latter
    INSERT, UPDATE, DELETE            INSERT_ROWS, UPDATE_ROWS, DELETE_ROWS on tables
    SELECT, INSERT, UPDATE on columns SELECT_COLUMN and these, on the columns of a table
    SELECT, INSERT, UPDATE, DELETE
        and ALTER (MySQL: and CREATE) MODIFY_TABLE
    CREATE                            CREATE_TABLE, for the whole server CREATE_SCHEMA, too

CREATE VIEW is noted: CREATE_VIEW would also load every view, for which an account needs SELECT.
Writing to a view is noted, since many views are not writable.

Levels add up: grants on the whole server, on the schema and on the table count together, per
account or role. A role also has the grants of the roles granted to it, so nested roles are
flattened into it. Of several grants on patterns that match one schema, the engine uses only the
narrowest, and releases differ in which one that is: only what all candidates give is counted. MySQL
mixes the patterns of an account with those of its roles; there a pattern counts only if no other
pattern of any account matches.

A role that needs SET ROLE first is noted, unless `takes_granted_roles` is set. Locked accounts, and
MySQL's partial revokes together with what they limit, give nothing.

SOURCE: MariaDB documentation, GRANT and Roles; MySQL 8.4 reference manual, 8.2 Access
Control. What MariaDB does with patterns was tried with 10.11; MySQL was read, not run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import ROLE, USER, Principal
from lakewarden.names.mysql_account import Account, user_name
from lakewarden.systems.gravitino.ingest.grants import (
    MODIFIED,
    WRITES,
    Columns,
    Grants,
    closure,
    grantee_label,
    joined,
)

PUBLIC: Final = "PUBLIC"

SYSTEM_SCHEMAS: Final = frozenset({"information_schema", "mysql", "performance_schema", "sys"})

_SHOWN = "SHOW DATABASES"
_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True)
class Known:
    """One account; `active` are the roles that it has from log-in on."""

    is_role: bool = False
    is_locked: bool = False
    has_restrictions: bool = False
    privileges: frozenset[str] = frozenset()
    roles: frozenset[Account] = frozenset()
    active: frozenset[Account] = frozenset()


class OnSchema(NamedTuple):
    """Privileges on the schemas that a pattern with `%` and `_` matches."""

    account: Account
    pattern: str
    privileges: frozenset[str]


class OnTable(NamedTuple):
    """Privileges on a table or view; `columns` are those on single columns, by name."""

    account: Account
    schema: str
    table: str
    privileges: frozenset[str]
    columns: Columns = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Mysql:
    """The accounts and grants of a server. `leaves` has the type of each leaf."""

    accounts: Mapping[Account, Known]
    on_schemas: Sequence[OnSchema]
    on_tables: Sequence[OnTable]
    schemas: Sequence[str]
    leaves: Mapping[tuple[str, str], str]
    is_mariadb: bool = True
    notes: Sequence[tuple[str, str]] = field(default=())


def read(catalog: Mysql, grants: Grants, *, takes_granted_roles: bool = False) -> None:
    """Adds to `grants` what the catalog means."""
    _Reader(catalog, grants, takes_granted_roles).read()


def role_name(account: Account) -> str:
    """The role's name; a role of MariaDB has no host."""
    return user_name(account) if account.host else account.user


def matches(pattern: str, schema: str) -> bool:
    r"""Whether a grant's pattern matches a schema.

    >>> matches("shop%", "shop_a"), matches(r"a\_b", "aXb")
    (True, False)
    """
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    regex = "".join({"%": ".*", "_": "."}.get(p, re.escape(p[-1])) for p in parts)
    return re.fullmatch(regex, schema, re.DOTALL) is not None


def escaped(pattern: str) -> str:
    r"""The pattern that matches exactly the text of `pattern` if its wildcards are literal.

    >>> escaped(r"a_b"), escaped(r"a\_b")
    ('a\\_b', 'a\\_b')
    """
    return re.sub(r"\\.|[%_]", lambda match: "\\" + match[0][-1], pattern, flags=re.DOTALL)


def literal(pattern: str) -> str | None:
    """The only schema that the pattern matches; None if it has wildcards."""
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    return None if {"%", "_"} & set(parts) else "".join(part[-1] for part in parts)


@dataclass(frozen=True, slots=True)
class _Privileges:
    """The privileges of an account, or of a role together with the roles granted to it."""

    everywhere: frozenset[str]
    on_patterns: Mapping[str, frozenset[str]]
    on_tables: Mapping[tuple[str, str], frozenset[str]]
    on_columns: Mapping[tuple[str, str], Columns]


def _narrowest(patterns: Iterable[str]) -> list[str]:
    """The patterns, one of which the engine uses for a schema that all of them match.

    Older releases use the one with the longest text before a wildcard, newer ones the one that
    matches fewer names. SOURCE: MariaDB Server, the comment of `get_magic_sort`; tried with 10.11.
    """
    candidates = list(patterns)
    longest = max(map(_literal_prefix, candidates))
    fewest = min(map(_match_count, candidates))
    return [p for p in candidates if _literal_prefix(p) == longest or _match_count(p) == fewest]


def _literal_prefix(pattern: str) -> int:
    """The length of the text before the first wildcard, escapes included."""
    match = re.match(r"(?:\\.|[^%_])*", pattern, re.DOTALL)
    end = match.end() if match else 0
    return _LONGEST_NAME * 2 + 1 if end == len(pattern) else end


def _match_count(pattern: str) -> tuple[int, int, int]:
    """A measure of how many names the pattern matches."""
    parts = re.findall(r"\\.|%+|.", pattern, re.DOTALL)
    ones = parts.count("_")
    runs = sum(part.startswith("%") for part in parts)
    free = _LONGEST_NAME - (len(parts) - runs) if runs else 0
    return (2 * free + 1, runs, ones) if free > ones else (2 * ones, free, runs)


class _Reader:
    """One reading."""

    def __init__(self, catalog: Mysql, grants: Grants, takes_granted: bool) -> None:
        self._mysql = catalog
        self._grants = grants
        self._catalog = grants.catalog
        self._takes_granted = takes_granted
        self._modified = MODIFIED | {"ALTER"} | (set() if catalog.is_mariadb else {"CREATE"})

    def read(self) -> None:
        self._grants.grant(
            "every account",
            [self._catalog.everybody],
            self._catalog.entity,
            ["USE_CATALOG"],
            ["an account"],
        )
        for account, known in sorted(self._mysql.accounts.items()):
            if self._is_account(account, known):
                self._principal(account, known)
                self._privileges(account, known)
        for subject, note in self._mysql.notes:
            self._grants.note(subject, note)

    def _is_account(self, account: Account, known: Known) -> bool:
        if known.is_role:
            return True
        if not account.user:
            self._grants.note(f"''@'{account.host}'", "an account without a name")
        elif known.is_locked:
            self._grants.note(user_name(account), "a locked account")
        return bool(account.user) and not known.is_locked

    def _is_public(self, account: Account, known: Known) -> bool:
        """Whether the account is PUBLIC; in MySQL a role of that name is an ordinary role."""
        return self._mysql.is_mariadb and known.is_role and account == Account(PUBLIC, "")

    def _principal(self, account: Account, known: Known) -> None:
        if self._is_public(account, known):
            for role in sorted(known.roles):
                self._grants.note(PUBLIC, f"the role `{role_name(role)}`, which takes SET ROLE")
        elif known.is_role:
            self._grants.role(role_name(account))
        else:
            memberships = known.roles if self._takes_granted else known.active & known.roles
            roles = [self._catalog.role(role_name(role)) for role in sorted(memberships)]
            self._grants.user(user_name(account), roles)
            for role in sorted(known.roles - memberships):
                note = f"the role `{role_name(role)}`, which takes SET ROLE"
                self._grants.note(user_name(account), note)

    def _grantee(self, account: Account, known: Known) -> tuple[str, Principal]:
        """The label of the grantee, and the principal that its privileges reach."""
        if not known.is_role:
            return grantee_label(USER, user_name(account)), Principal(USER, user_name(account))
        if self._is_public(account, known):
            return PUBLIC, self._catalog.everybody
        return grantee_label(ROLE, role_name(account)), self._catalog.role(role_name(account))

    def _effective_privileges(self, account: Account, known: Known) -> _Privileges:
        """The account's privileges without SET ROLE; a role includes all roles granted to it."""
        whose = {account}
        if known.is_role and not self._is_public(account, known):
            edges = {account: other.roles for account, other in self._mysql.accounts.items()}
            whose |= closure(account, edges)
        everywhere = frozenset[str]()
        for role in whose & set(self._mysql.accounts):
            everywhere |= self._everywhere(role)
        patterns: dict[str, frozenset[str]] = {}
        for row in self._mysql.on_schemas:
            if row.account in whose:
                patterns[row.pattern] = patterns.get(row.pattern, frozenset()) | row.privileges
        tables: dict[tuple[str, str], frozenset[str]] = {}
        columns: dict[tuple[str, str], dict[str, set[str]]] = {}
        for on in self._mysql.on_tables:
            if on.account in whose:
                key = (on.schema, on.table)
                tables[key] = tables.get(key, frozenset()) | on.privileges
                for column, column_privileges in on.columns.items():
                    columns.setdefault(key, {}).setdefault(column, set()).update(column_privileges)
        return _Privileges(everywhere, patterns, tables, columns)

    def _everywhere(self, account: Account) -> frozenset[str]:
        known = self._mysql.accounts[account]
        if not known.has_restrictions:
            return known.privileges
        note = f"{joined(known.privileges)}, limited by partial revokes"
        self._grants.note(user_name(account), note)
        return frozenset()

    def _privileges(self, account: Account, known: Known) -> None:
        label, to = self._grantee(account, known)
        has = self._effective_privileges(account, known)
        everywhere = has.everywhere
        above = self._catalog_words(everywhere)
        self._state_grant(label, to, self._catalog.entity, above, everywhere, everywhere)
        for schema in self._mysql.schemas:
            schema_privileges = self._on_schema(has, schema)
            inside = [key for key in has.on_tables if key[0] == schema]
            together = everywhere | schema_privileges
            granted = self._schema_words(together, schema_privileges or inside) - above
            entity = self._catalog.schema(schema)
            self._state_grant(label, to, entity, granted, schema_privileges, together)
            for key in inside:
                self._on_table(label, to, has, key, together, granted | above)

    def _on_schema(self, has: _Privileges, schema: str) -> frozenset[str]:
        matching = [pattern for pattern in has.on_patterns if matches(pattern, schema)]
        if not matching:
            return frozenset()
        if not self._mysql.is_mariadb and literal(matching[0]) is None:
            everybodys = {row.pattern for row in self._mysql.on_schemas}
            if sum(matches(pattern, schema) for pattern in everybodys) > 1:
                return frozenset()
        return frozenset.intersection(*(has.on_patterns[p] for p in _narrowest(matching)))

    def _on_table(
        self,
        label: str,
        to: Principal,
        has: _Privileges,
        key: tuple[str, str],
        above: frozenset[str],
        had: set[str],
    ) -> None:
        type, table_privileges, subject = (
            self._mysql.leaves.get(key),
            has.on_tables[key],
            ".".join(key),
        )
        on_columns = has.on_columns.get(key, {})
        if type is None:
            unmapped = table_privileges.union(*on_columns.values())
            if unmapped:
                self._grants.note(subject, f"{joined(unmapped)} to {label}")
            return
        entity = self._catalog.leaf(type, *key)
        self._grants.columns(label, [to], entity, on_columns)
        together = above | table_privileges
        granted = set[str]()
        if "SELECT" in together:
            granted.add("SELECT_TABLE" if type == "table" else "SELECT_VIEW")
        if type == "table":
            granted |= {WRITES[name] for name in together & WRITES.keys()}
        if type == "table" and together >= self._modified:
            granted.add("MODIFY_TABLE")
        self._state_grant(label, to, entity, granted - had, table_privileges, together)

    def _catalog_words(self, privileges: frozenset[str]) -> set[str]:
        granted = self._schema_words(privileges, privileges & (MODIFIED | {_SHOWN, "CREATE"}))
        return granted | ({"CREATE_SCHEMA"} if "CREATE" in privileges else set())

    def _schema_words(self, privileges: frozenset[str], visible: object) -> set[str]:
        granted = {"USE_SCHEMA"} if visible else set[str]()
        if "SELECT" in privileges:
            granted |= {"SELECT_TABLE", "SELECT_VIEW"}
        granted |= {WRITES[name] for name in privileges & WRITES.keys()}
        if privileges >= self._modified:
            granted.add("MODIFY_TABLE")
        if "CREATE" in privileges:
            granted.add("CREATE_TABLE")
        return granted

    def _state_grant(
        self,
        label: str,
        to: Principal,
        on: Entity,
        granted: set[str],
        sql_privileges: Iterable[str],
        together: frozenset[str],
    ) -> None:
        """States `sql_privileges`, and notes the parts of the grant without a counterpart."""
        expressible = {"SELECT", "CREATE", _SHOWN, *WRITES}
        if on.type == "table":
            expressible = {"SELECT", *WRITES}
        elif on.type == "view":
            expressible = {"SELECT"}
        if together >= self._modified and on.type != "view":
            expressible |= self._modified
        self._grants.grant(label, [to], on, granted, set(sql_privileges) & expressible or {"USAGE"})
        unmapped = set(sql_privileges) - expressible
        if unmapped:
            self._grants.note(str(on), f"{joined(unmapped)} to {label}")
