"""The rights of the account that pushes to a MariaDB or MySQL; the missing ones with remedies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from lakewarden.names.mysql_account import Account
from lakewarden.pushdown.grants import Grant
from lakewarden.pushdown.mariadb_catalog import GRANT_OPTION
from lakewarden.pushdown.mariadb_names import grantee, pattern, quoted

GRANTED: Final = (
    *("SELECT", "INSERT", "UPDATE", "DELETE"),
    *("CREATE", "CREATE VIEW", "ALTER", "INDEX", "DROP"),
)
"""The privileges that a push grants; the account needs them with the grant option."""

SHOWN_BY: Final = ("SHOW VIEW", "TRIGGER")
SHOWN_BY_IN_MYSQL: Final = (*SHOWN_BY, "EVENT", "EXECUTE")
"""The rights with which the account sees objects that run with the rights of their definer."""

_ROLE_ADMIN: Final = "ROLE_ADMIN"


@dataclass(frozen=True, slots=True)
class AccountRights:
    """The account and its grants; `dynamic` are privileges that are not among the grants."""

    me: Account
    given: frozenset[Grant]
    dynamic: frozenset[str]
    is_mysql: bool

    @property
    def global_privileges(self) -> frozenset[str]:
        """The account's privileges on the whole server."""
        return frozenset(one.privilege for one in self.given if not one.path)

    def unreadable(self) -> str:
        """The message for an account that cannot read its own rights."""
        what = "it may not read the system tables"
        rights = "SELECT" if self.is_mysql else "SELECT, UPDATE"
        return f"{what}: GRANT {rights} ON mysql.* TO {grantee(self.me)}"

    def missing(self) -> Iterator[str]:
        """The rights that the account lacks to create roles and grant them to users."""
        me, global_privileges = grantee(self.me), self.global_privileges
        if "CREATE USER" not in global_privileges:
            yield f"it may not create roles: GRANT CREATE USER ON *.* TO {me}"
        if self.is_mysql and not {_ROLE_ADMIN, "SUPER"} & (global_privileges | self.dynamic):
            yield f"it may not grant roles that it created: GRANT {_ROLE_ADMIN} ON *.* TO {me}"
        may_update = {Grant((), "UPDATE"), Grant(("mysql",), "UPDATE")} & self.given
        if not (self.is_mysql or may_update):
            yield f"it may not set default roles: GRANT UPDATE ON mysql.* TO {me}"

    def missing_in(self, databases: Iterable[str]) -> Iterator[str]:
        """The rights that the account lacks to grant in these databases what a push may grant."""
        for name in sorted(databases):
            own = self.global_privileges | {
                one.privilege for one in self.given if one.path == (name,)
            }
            lacking = [one for one in (*GRANTED, GRANT_OPTION) if one not in own]
            if lacking:
                what = f"it may not grant all rights in the database {quoted(name)}"
                yield f"{what}: {self._grant_statement(lacking, name)}"

    def missing_for_views(self, lacking: Iterable[str], database: str) -> Iterator[str]:
        """The message if the account is `lacking` rights in the database of masking views."""
        rights = list(lacking)
        if rights:
            yield f"it may not create masking views: {self._grant_statement(rights, database)}"

    def warnings(self) -> Iterator[str]:
        """The excessive rights of the account, and what `drift` does not see with it."""
        if self.global_privileges >= {"SUPER", GRANT_OPTION}:
            what = "the account has all rights on the server, and a push needs fewer"
            yield f"{what}: give the target its own account"
        shown_by = SHOWN_BY_IN_MYSQL if self.is_mysql else SHOWN_BY
        unseen = [one for one in shown_by if one not in self.global_privileges]
        if unseen:
            what = "drift does not see everything that runs with the rights of its definer"
            yield f"{what}: GRANT {', '.join(unseen)} ON *.* TO {grantee(self.me)}"

    def _grant_statement(self, lacking: Iterable[str], database: str) -> str:
        rights = ", ".join(one for one in lacking if one != GRANT_OPTION) or "USAGE"
        where = f"{quoted(pattern(database))}.*"
        return f"GRANT {rights} ON {where} TO {grantee(self.me)} WITH GRANT OPTION"
