"""The short tag that identifies a store in names."""

from __future__ import annotations

from base64 import b32hexencode
from functools import lru_cache
from hashlib import sha256
from typing import Final

_TAG_DIGITS: Final = 4


@lru_cache
def tag_of(store: str) -> str:
    """The tag of a store, from its id; "" without a store.

    It does not begin with a hexadecimal digit, unlike digests in names without a tag.

    >>> tag_of("")
    ''
    """
    if not store:
        return ""
    digest = letters(store)
    first = next((one for one in digest if one > "f"), "g")
    return first + digest[: _TAG_DIGITS - 1]


def letters(text: str) -> str:
    """The digest of a text in base 32."""
    return b32hexencode(sha256(text.encode()).digest()).decode().lower()
