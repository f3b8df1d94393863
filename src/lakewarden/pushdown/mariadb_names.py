"""How things are called in statements of MariaDB, and the names of roles of ours.

A grant on a database takes a pattern, in which `%` and `_` stand for others; one on a table does
not. So names of databases are escaped in the first, and a pattern that says more than one name is
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
"""Characters of a pattern that MariaDB keeps; a longer one would be cut."""

DIRECTLY: Final = "account "
OF_ROLE: Final = "role "
"""What a member of a role of ours begins with that somebody else made one."""

_DIGITS: Final = 16
_OLD_DIGITS: Final = f"[0-9a-f]{{{_DIGITS}}}"
_SPECIAL: Final = re.compile(r"[\\%_]")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


def quoted(name: str) -> str:
    """A name in a statement.

    >>> quoted("a`b")
    '`a``b`'
    """
    return f"`{name.replace('`', '``')}`"


def grantee(account: Account) -> str:
    """An account or a role in a statement; a role has no host.

    >>> grantee(Account("ana", "%")), grantee(Account("readers", ""))
    ('`ana`@`%`', '`readers`')
    """
    user = quoted(account.user)
    return f"{user}@{quoted(account.host)}" if account.host else user


def pattern(database: str) -> str:
    r"""The pattern that holds for this database alone.

    >>> print(pattern("a_b"))
    a\_b
    """
    return _SPECIAL.sub(r"\\\g<0>", database)


def database_of(held: str) -> str | None:
    r"""The database of a pattern that `pattern` wrote; None for one that says something else.

    >>> database_of(r"a\_b"), database_of("a_b")
    ('a_b', None)
    """
    name = _ESCAPED.sub(r"\1", held)
    return name if pattern(name) == held else None


def fitting(held: str) -> re.Pattern[str]:
    """What a pattern of databases, or of hosts, stands for.

    >>> bool(fitting("a%").fullmatch("ab")), bool(fitting("a_").fullmatch("b"))
    (True, False)
    """
    parts = re.findall(r"\\.|.", held, re.DOTALL)
    signs = {"%": ".*", "_": "."}
    text = "".join(
        re.escape(one[1:]) if one.startswith("\\") and one[1:] else signs.get(one, re.escape(one))
        for one in parts
    )
    return re.compile(text, re.DOTALL)


def may_come_from(host: str, pattern: str) -> bool:
    """Whether a client that an account of this host is for may be one of another host's.

    Which one a network has is not worked out: it may be any.

    >>> may_come_from("10.0.0.1", "10.%"), may_come_from("%", "10.%")
    (True, False)
    """
    return "/" in pattern or fitting(pattern).fullmatch(host) is not None


def place(path: Path) -> str:
    """What a privilege is on, in a statement.

    >>> place(("a_b", "t")), place(())
    ('`a_b`.`t`', '*.*')
    """
    if not path:
        return "*.*"
    if len(path) == 1:
        return f"{quoted(pattern(path[0]))}.*"
    return f"{quoted(path[0])}.{quoted(path[1])}"


def member(of: Account) -> str:
    """A member of a role of ours that somebody else made one, as plans and drift name it."""
    return f"{DIRECTLY}{user_name(of)}" if of.host else f"{OF_ROLE}{of.user}"


def member_of(name: str) -> Account | None:
    """Whom `member` named; None for a user who has a role by one of their own.

    >>> member_of("account ana@h"), member_of("role r"), member_of("ana")
    (Account(user='ana', host='h'), Account(user='r', host=''), None)
    """
    if name.startswith(DIRECTLY):
        return account_of(name.removeprefix(DIRECTLY))
    return Account(name.removeprefix(OF_ROLE), "") if name.startswith(OF_ROLE) else None


@dataclass(frozen=True, slots=True)
class Marks:
    """The names that roles of a target have: shared ones, and one for each user.

    They have a tag of the store in them, so that those of another store with a target of the same
    name are told from ours. `kept` are roles of users that are ours, from before names had one.

    >>> Marks("shop").is_shared("lw_shop_0123456789abcdef"), Marks("shop").is_shared("lw_shop_x")
    (True, False)
    >>> Marks("shop", "1f0c").is_shared("lw_shop_0123456789abcdef")
    False
    """

    target: str
    store: str = ""
    kept: frozenset[str] = frozenset()

    @property
    def tag(self) -> str:
        """What the names of this store's roles have behind the target."""
        return tag_of(self.store)

    def personal(self, user: str) -> str:
        """The role that a user has by default, which has the shared ones."""
        old = self.untagged(user)
        if not self.tag or old in self.kept:
            return old
        return f"lw_{self.target}-{self.tag}{letters(user)[: _DIGITS - len(self.tag)]}"

    def untagged(self, user: str) -> str:
        """The role of a user as it was called before names had a tag."""
        return f"lw_{self.target}-{sha256(user.encode()).hexdigest()[:_DIGITS]}"

    def is_personal(self, name: str) -> bool:
        """Whether a role may be one of a user."""
        return self._is(name, "-") or name in self.kept

    def is_shared(self, name: str) -> bool:
        """Whether a role may be one of several users."""
        return self._is(name, "_")

    def _is(self, name: str, sign: str) -> bool:
        digits = f"{self.tag}[0-9a-v]{{{_DIGITS - len(self.tag)}}}" if self.tag else _OLD_DIGITS
        return re.fullmatch(f"lw_{self.target}{sign}{digits}", name) is not None
