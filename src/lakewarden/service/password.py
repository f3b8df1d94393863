"""Passwords: the requirements for a new one, and the port for hashing."""

from __future__ import annotations

import unicodedata
from typing import Final, Protocol

from lakewarden.kernel.errors import BadInput

SHORTEST: Final = 8
LONGEST: Final = 256
"""The most characters of a new password."""

_FEWEST: Final = 4
"""The fewest different characters of a password."""

_COMMON: Final = frozenset(
    (  # noqa: SIM905 — this many words are easier to read than a list
        """
    password passw0rd password1 password12 password123 password1234 p@ssw0rd p@ssword pa55word
    12345678 123456789 1234567890 0123456789 87654321 987654321 123123123 1q2w3e4r 1q2w3e4r5t
    qwertyui qwertyuiop qwerty123 qwerty12345 asdfghjkl zxcvbnm123 abcd1234 abc12345 a1b2c3d4
    iloveyou sunshine princess football baseball superman starwars trustno1 whatever welcome1
    welcome123 letmein1 letmein123 changeme changeme1 changeme123 administrator admin123 admin1234
    adminadmin default1 computer internet secret123 test1234 testtest guest123 datahub1 datahub123
    lakewarden
    """
    ).split()
)
"""The words that attackers try first."""


class Hashing(Protocol):
    """Hashes passwords slowly, and compares them."""

    def hash(self, password: str) -> str:
        """The salted hash of a password. Raises `Unavailable`."""
        ...

    def verify(self, hashed: str | None, password: str) -> bool:
        """Whether the password is the one that was hashed. Raises `Unavailable`.

        None: there is no password; that takes the same time, and is never true.
        """
        ...


def check_strength(password: str, *names: str) -> None:
    """Refuses a new password that is easily guessed; raises `BadInput`, which does not quote it.

    `names` are the user's names: the password must not be one of them.

    SOURCE: NIST SP 800-63B, 5.1.1.2: a minimum length, no composition rules, no known words.
    """
    plain = prepared(password)
    if not SHORTEST <= len(plain) <= LONGEST:
        raise BadInput(f"a password must have {SHORTEST} to {LONGEST} characters")
    if len(set(plain)) < _FEWEST:
        raise BadInput(f"a password must have at least {_FEWEST} different characters")
    folded = plain.casefold()
    if folded in _COMMON or folded in {name.casefold() for name in names}:
        raise BadInput("the password is too weak")


def prepared(password: str) -> str:
    """The password in a normal form, independent of how it was typed."""
    return unicodedata.normalize("NFKC", password)
