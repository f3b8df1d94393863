"""Accounts of MySQL and MariaDB, and the names of their users elsewhere.

An account is a user at hosts; accounts of one user have separate passwords and rights, and
therefore separate names. The account for every host (`%`) has the name of its user.
"""

from __future__ import annotations

from typing import Final, NamedTuple

EVERY_HOST: Final = "%"


class Account(NamedTuple):
    """A user at a host, or a role (in MariaDB without a host)."""

    user: str
    host: str


def user_name(account: Account) -> str:
    """The user's name; unique for each account.

    >>> user_name(Account("ana", "%")), user_name(Account("ana", "10.0.0.1"))
    ('ana', 'ana@10.0.0.1')
    """
    plain = account.host == EVERY_HOST and "@" not in account.user
    return account.user if plain else f"{account.user}@{account.host}"


def account_of(name: str) -> Account:
    """The account that has the name.

    >>> account_of("ana"), account_of(user_name(Account("ana@home", "%")))
    (Account(user='ana', host='%'), Account(user='ana@home', host='%'))
    """
    user, at, host = name.rpartition("@")
    return Account(user, host) if at else Account(name, EVERY_HOST)
