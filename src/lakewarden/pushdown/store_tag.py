"""What tells a store in names that are short."""

from __future__ import annotations

from base64 import b32hexencode
from functools import lru_cache
from hashlib import sha256
from typing import Final

_TAG_DIGITS: Final = 4


@lru_cache
def tag_of(store: str) -> str:
    """The tag of a store, by its id; nothing without a store.

    It begins with no digit of 16, as digests in names without one do.

    >>> tag_of("")
    ''
    """
    if not store:
        return ""
    digest = letters(store)
    first = next((one for one in digest if one > "f"), "g")
    return first + digest[: _TAG_DIGITS - 1]


def letters(text: str) -> str:
    """The digest of a text in digits of 32."""
    return b32hexencode(sha256(text.encode()).digest()).decode().lower()
