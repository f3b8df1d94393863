"""MySQL's and MariaDB's accounts, roles and grants as those of a Gravitino catalog.

The server is the catalog, a database is a schema. There are no owners.

    account                           user `name`, or `name@host` where the host is not `%`
    role                              role; users for whom it is active at log-in are members
    PUBLIC (MariaDB)                  all users of the metalake
    every account                     USE_CATALOG
    any privilege on or in a schema   USE_SCHEMA on it
    SELECT                            SELECT_TABLE and SELECT_VIEW, on a view the latter
    SELECT, INSERT, UPDATE, DELETE
        and ALTER (MySQL: and CREATE) MODIFY_TABLE
    CREATE                            CREATE_TABLE, for the whole server CREATE_SCHEMA, too
    CREATE VIEW                       CREATE_VIEW

Levels add up: what is granted for the whole server, for the schema and for the table counts
together, per account or role. A grant for a pattern of schemas holds for those it matches;
where several match, only what all of them give, since the engine takes the narrowest alone.
A role that needs SET ROLE first is noted, unless `takes_granted_roles` says to count it.
Locked accounts, and MySQL's partial revokes together with what they limit, give nothing.

SOURCE: MariaDB documentation, GRANT; MySQL 8.4 reference manual, 8.2 Access Control.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import ROLE, USER, Principal
from lakewarden.pipeline.ingest.grants import MODIFIED, Grants, called, closure, listed

PUBLIC: Final = "PUBLIC"

SYSTEM_SCHEMAS: Final = frozenset({"information_schema", "mysql", "performance_schema", "sys"})

_SHOWN = "SHOW DATABASES"


class Account(NamedTuple):
    """A user at a host, or a role (in MariaDB without a host)."""

    user: str
    host: str


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one account; `active` are the roles that it has from log-in on."""

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
    """Privileges on a table or view; `columns` are those on some columns only."""

    account: Account
    schema: str
    table: str
    privileges: frozenset[str]
    columns: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Mysql:
    """What a server says of its accounts and grants. `leaves` has the type of each leaf."""

    accounts: Mapping[Account, Known]
    on_schemas: Sequence[OnSchema]
    on_tables: Sequence[OnTable]
    schemas: Sequence[str]
    leaves: Mapping[tuple[str, str], str]
    is_mariadb: bool = True
    notes: Sequence[tuple[str, str]] = field(default=())


def read(found: Mysql, grants: Grants, *, takes_granted_roles: bool = False) -> None:
    """Tells `grants` what `found` means."""
    _Reader(found, grants, takes_granted_roles).read()


def user_name(account: Account) -> str:
    """The user's name; each account has one of its own.

    >>> user_name(Account("ana", "%")), user_name(Account("ana", "10.0.0.1"))
    ('ana', 'ana@10.0.0.1')
    """
    plain = account.host == "%" and "@" not in account.user
    return account.user if plain else f"{account.user}@{account.host}"


def role_name(account: Account) -> str:
    """The role's name; a role of MariaDB has no host."""
    return user_name(account) if account.host else account.user


def matches(pattern: str, schema: str) -> bool:
    r"""Whether the pattern of a grant holds for a schema.

    >>> matches("shop%", "shop_a"), matches(r"a\_b", "aXb")
    (True, False)
    """
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    regex = "".join({"%": ".*", "_": "."}.get(p, re.escape(p[-1])) for p in parts)
    return re.fullmatch(regex, schema, re.DOTALL) is not None


def literal(pattern: str) -> str | None:
    """The one schema that the pattern means; None when it has wildcards."""
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    return None if {"%", "_"} & set(parts) else "".join(part[-1] for part in parts)


class _Reader:
    """One reading."""

    def __init__(self, found: Mysql, grants: Grants, takes_granted: bool) -> None:
        self._found = found
        self._grants = grants
        self._catalog = grants.catalog
        self._takes_granted = takes_granted
        self._modified = MODIFIED | {"ALTER"} | (set() if found.is_mariadb else {"CREATE"})

    def read(self) -> None:
        self._grants.grant(
            "every account",
            [self._catalog.everybody],
            self._catalog.entity,
            ["USE_CATALOG"],
            ["an account"],
        )
        edges = {account: known.roles for account, known in self._found.accounts.items()}
        for account, known in sorted(self._found.accounts.items()):
            if self._is_someone(account, known):
                self._principal(account, known, edges)
                self._privileges(account, known)
        for subject, what in self._found.notes:
            self._grants.note(subject, what)

    def _is_someone(self, account: Account, known: Known) -> bool:
        if known.is_role:
            return True
        if not account.user:
            self._grants.note(f"''@'{account.host}'", "an account without a name")
        elif known.is_locked:
            self._grants.note(user_name(account), "a locked account")
        return bool(account.user) and not known.is_locked

    def _principal(
        self, account: Account, known: Known, edges: Mapping[Account, frozenset[Account]]
    ) -> None:
        if account.user == PUBLIC and known.is_role:
            for role in sorted(known.roles):
                self._grants.note(PUBLIC, f"the role `{role_name(role)}`, which takes SET ROLE")
        elif known.is_role:
            self._grants.role(role_name(account))
        else:
            start = known.roles if self._takes_granted else known.active & known.roles
            acting = {reached for role in start for reached in (role, *closure(role, edges))}
            roles = [self._catalog.role(role_name(role)) for role in sorted(acting)]
            self._grants.user(user_name(account), roles)
            for role in sorted(known.roles - acting):
                what = f"the role `{role_name(role)}`, which takes SET ROLE"
                self._grants.note(user_name(account), what)

    def _to(self, account: Account, known: Known) -> tuple[str, Principal]:
        """What the grantee is called, and whom its privileges reach."""
        if not known.is_role:
            return called(USER, user_name(account)), Principal(USER, user_name(account))
        if account.user == PUBLIC:
            return PUBLIC, self._catalog.everybody
        return called(ROLE, role_name(account)), self._catalog.role(role_name(account))

    def _privileges(self, account: Account, known: Known) -> None:
        label, to = self._to(account, known)
        everywhere = known.privileges
        if known.has_restrictions:
            what = f"{listed(everywhere)}, limited by partial revokes"
            self._grants.note(label, what)
            everywhere = frozenset()
        above = self._catalog_words(everywhere)
        self._given(label, to, self._catalog.entity, above, everywhere, everywhere)
        tables = [one for one in self._found.on_tables if one.account == account]
        for schema in self._found.schemas:
            mine = self._on_schema(account, schema)
            inside = [one for one in tables if one.schema == schema]
            together = everywhere | mine
            words = self._schema_words(together, mine or inside) - above
            entity = self._catalog.schema(schema)
            self._given(label, to, entity, words, mine, together)
            for one in inside:
                self._on_table(label, to, one, together, words | above)

    def _on_schema(self, account: Account, schema: str) -> frozenset[str]:
        rows = [row for row in self._found.on_schemas if row.account == account]
        for row in rows:
            if literal(row.pattern) == schema:
                return row.privileges
        matching = [row.privileges for row in rows if matches(row.pattern, schema)]
        return frozenset.intersection(*matching) if matching else frozenset()

    def _on_table(
        self, label: str, to: Principal, one: OnTable, above: frozenset[str], had: set[str]
    ) -> None:
        type = self._found.leaves.get((one.schema, one.table))
        if one.columns:
            subject = f"{one.schema}.{one.table}"
            self._grants.note(subject, f"{listed(one.columns)} on some columns to {label}")
        if type is None:
            if one.privileges:
                subject = f"{one.schema}.{one.table}"
                self._grants.note(subject, f"{listed(one.privileges)} to {label}")
            return
        together = above | one.privileges
        reads = "SELECT_TABLE" if type == "table" else "SELECT_VIEW"
        words = {reads} if "SELECT" in together else set[str]()
        if type == "table" and together >= self._modified:
            words.add("MODIFY_TABLE")
        entity = self._catalog.leaf(type, one.schema, one.table)
        self._given(label, to, entity, words - had, one.privileges, together)

    def _catalog_words(self, privileges: frozenset[str]) -> set[str]:
        words = self._schema_words(privileges, privileges & (MODIFIED | {_SHOWN, "CREATE"}))
        return words | ({"CREATE_SCHEMA"} if "CREATE" in privileges else set())

    def _schema_words(self, privileges: frozenset[str], visible: object) -> set[str]:
        words = {"USE_SCHEMA"} if visible else set[str]()
        if "SELECT" in privileges:
            words |= {"SELECT_TABLE", "SELECT_VIEW"}
        if privileges >= self._modified:
            words.add("MODIFY_TABLE")
        if "CREATE" in privileges:
            words.add("CREATE_TABLE")
        if "CREATE VIEW" in privileges:
            words.add("CREATE_VIEW")
        return words

    def _given(
        self,
        label: str,
        to: Principal,
        on: Entity,
        words: set[str],
        mine: Iterable[str],
        together: frozenset[str],
    ) -> None:
        """States `words`, and notes what of the grant itself says nothing here."""
        said = {"SELECT", "CREATE", "CREATE VIEW", _SHOWN}
        if on.type in ("table", "view"):
            said = {"SELECT"}
        if together >= self._modified and on.type != "view":
            said |= self._modified
        self._grants.grant(label, [to], on, words, set(mine) & said or {"USAGE"})
        left = set(mine) - said
        if left:
            self._grants.note(f"{on.type}:{on.name}", f"{listed(left)} to {label}")
