"""Names in statements of MariaDB, and the names of our roles.

A grant on a database accepts a pattern, in which `%` and `_` are wildcards; one on a table does
not. So names of databases are escaped in the former, and a pattern that matches several names is
none of ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from lakewarden.names.mysql_account import Account, account_of, user_name
from lakewarden.pushdown.grants import Path
from lakewarden.pushdown.store_tag import letters, tag_of

MAX_PATTERN: Final = 64
"""The length of a pattern that MariaDB stores; a longer one would be cut."""

DIRECTLY: Final = "account "
OF_ROLE: Final = "role "
"""The prefix of a member of our role that is a role and that others added."""

_DIGITS: Final = 16
_OLD_DIGITS: Final = f"[0-9a-f]{{{_DIGITS}}}"
_SPECIAL: Final = re.compile(r"[\\%_]")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


def quoted(name: str) -> str:
    """A name, quoted for a statement.

    >>> quoted("a`b")
    '`a``b`'
    """
    return f"`{name.replace('`', '``')}`"


def grantee(account: Account) -> str:
    """An account or a role, quoted for a statement; a role has no host.

    >>> grantee(Account("ana", "%")), grantee(Account("readers", ""))
    ('`ana`@`%`', '`readers`')
    """
    user = quoted(account.user)
    return f"{user}@{quoted(account.host)}" if account.host else user


def pattern(database: str) -> str:
    r"""The pattern that matches this database alone.

    >>> print(pattern("a_b"))
    a\_b
    """
    return _SPECIAL.sub(r"\\\g<0>", database)


def database_of(held: str) -> str | None:
    r"""The database of a pattern that `pattern` wrote; None for a pattern with another meaning.

    >>> database_of(r"a\_b"), database_of("a_b")
    ('a_b', None)
    """
    name = _ESCAPED.sub(r"\1", held)
    return name if pattern(name) == held else None


def pattern_regex(held: str) -> re.Pattern[str]:
    """The regular expression for a pattern of databases or of hosts.

    >>> bool(pattern_regex("a%").fullmatch("ab")), bool(pattern_regex("a_").fullmatch("b"))
    (True, False)
    """
    parts = re.findall(r"\\.|.", held, re.DOTALL)
    signs = {"%": ".*", "_": "."}
    text = "".join(
        re.escape(one[1:]) if one.startswith("\\") and one[1:] else signs.get(one, re.escape(one))
        for one in parts
    )
    return re.compile(text, re.DOTALL)


def may_match_host(host: str, pattern: str) -> bool:
    """Whether a client of an account with this host may also match another account's host.

    Networks are not evaluated: any host may be in one.

    >>> may_match_host("10.0.0.1", "10.%"), may_match_host("%", "10.%")
    (True, False)
    """
    return "/" in pattern or pattern_regex(pattern).fullmatch(host) is not None


def object_sql(path: Path) -> str:
    """The object of a privilege, in the syntax of statements.

    >>> object_sql(("a_b", "t")), object_sql(())
    ('`a_b`.`t`', '*.*')
    """
    if not path:
        return "*.*"
    if len(path) == 1:
        return f"{quoted(pattern(path[0]))}.*"
    return f"{quoted(path[0])}.{quoted(path[1])}"


def member(of: Account) -> str:
    """The name in plans and drift of a member that others added to our role."""
    return f"{DIRECTLY}{user_name(of)}" if of.host else f"{OF_ROLE}{of.user}"


def member_of(name: str) -> Account | None:
    """The account that `member` named; None for a user who has the role through a personal role.

    >>> member_of("account ana@h"), member_of("role r"), member_of("ana")
    (Account(user='ana', host='h'), Account(user='r', host=''), None)
    """
    if name.startswith(DIRECTLY):
        return account_of(name.removeprefix(DIRECTLY))
    return Account(name.removeprefix(OF_ROLE), "") if name.startswith(OF_ROLE) else None


@dataclass(frozen=True, slots=True)
class RoleNames:
    """The names of our roles in a target: shared ones, and one for each user.

    They contain a tag of the store, which distinguishes them from those of another store with a
    target of the same name. `kept` are our personal roles from before names had a tag.

    >>> RoleNames("shop").is_shared("lw_shop_0123456789abcdef")
    True
    >>> RoleNames("shop").is_shared("lw_shop_x")
    False
    >>> RoleNames("shop", "1f0c").is_shared("lw_shop_0123456789abcdef")
    False
    """

    target: str
    store: str = ""
    kept: frozenset[str] = frozenset()

    @property
    def tag(self) -> str:
        """The tag behind the target in the names of this store's roles."""
        return tag_of(self.store)

    def personal(self, user: str) -> str:
        """The default role of a user, which has the shared roles."""
        old = self.untagged(user)
        if not self.tag or old in self.kept:
            return old
        return f"lw_{self.target}-{self.tag}{letters(user)[: _DIGITS - len(self.tag)]}"

    def untagged(self, user: str) -> str:
        """The name of a user's role from before names had a tag."""
        return f"lw_{self.target}-{sha256(user.encode()).hexdigest()[:_DIGITS]}"

    def is_personal(self, name: str) -> bool:
        """Whether a role may be one of a user."""
        return self._matches(name, "-") or name in self.kept

    def is_shared(self, name: str) -> bool:
        """Whether a role may be one of several users."""
        return self._matches(name, "_")

    def _matches(self, name: str, sign: str) -> bool:
        digits = f"{self.tag}[0-9a-v]{{{_DIGITS - len(self.tag)}}}" if self.tag else _OLD_DIGITS
        return re.fullmatch(f"lw_{self.target}{sign}{digits}", name) is not None
