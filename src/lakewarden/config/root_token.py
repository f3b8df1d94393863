"""Requirements for a root token, which any client that reaches the server can try to guess.

A token needs at least `MIN_CHARACTERS` and an estimate of at least `MIN_BITS`. The estimate counts
unpredictable characters. Each counts with the bits of the token's alphabet (digits 3.3, hexadecimal
4, letters of one case 4.7, of both 5.7, with digits 6), unless it continues a sequence (`aaa`,
`abc`, `321`) or completes three characters that occurred before. Words are not recognized: create
the token with a generator.

Source: NIST SP 800-63B, 5.1.1 (at least 112 bits for generated secrets).
"""

from __future__ import annotations

import math
import re
import string
from typing import Final

from lakewarden.kernel.errors import BadInput

MIN_CHARACTERS: Final = 32
MIN_BITS: Final = 128

GENERATOR: Final = "openssl rand -hex 32"
"""A command that prints a strong token."""

_BEARER: Final = re.compile(r"[A-Za-z0-9._~+/=-]+")
_ALPHABETS: Final = (
    string.digits,
    "0123456789abcdef",
    "0123456789ABCDEF",
    string.ascii_lowercase,
    string.ascii_uppercase,
    string.ascii_lowercase + string.digits,
    string.ascii_uppercase + string.digits,
    string.ascii_letters,
    string.ascii_letters + string.digits,
    string.ascii_letters + string.digits + "-._~+/=",
)
"""Smallest first; a token's alphabet is the first that contains its characters."""


def check_root_token(text: str) -> None:
    """Raises `BadInput` for a guessable token; the message never quotes it."""
    if _BEARER.fullmatch(text) is None:
        raise BadInput(
            "the root token must not be empty and may contain only letters, digits and `-._~+/=`"
        )
    if len(text) < MIN_CHARACTERS or bits(text) < MIN_BITS:
        raise BadInput(
            f"the root token is too weak: expected at least {MIN_CHARACTERS} characters and"
            f" {MIN_BITS} bits, not counting sequences and repetitions; `{GENERATOR}`"
            " generates one"
        )


def bits(text: str) -> float:
    """An upper bound of the entropy of the token, in bits.

    >>> bits("a" * 64) < 10, bits("0123456789" * 10) < 20
    (True, True)
    """
    alphabet = next(characters for characters in _ALPHABETS if set(text) <= set(characters))
    return _counted(text) * math.log2(len(alphabet))


def _counted(text: str) -> int:
    """The number of unpredictable characters."""
    triples: set[str] = set()
    counted = 0
    for at, letter in enumerate(text):
        triple = text[at - 2 : at + 1] if at >= 2 else ""
        is_sequence = bool(triple) and _step(triple[0], triple[1]) == _step(triple[1], letter) != 9
        counted += not (is_sequence or triple in triples)
        if triple:
            triples.add(triple)
    return counted


def _step(first: str, second: str) -> int:
    """The step of a sequence: 0, 1 or -1; 9 if there is none."""
    step = ord(second) - ord(first)
    return step if abs(step) <= 1 else 9
