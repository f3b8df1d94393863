"""The keys of rows, which are digests of names, and the texts that can be stored.

A name may be longer than a PostgreSQL index accepts, so rows are found by a 160-bit digest of the
bytes of their names. Equal digests mean equal names, byte for byte, on every engine.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Final

from lakewarden.kernel.errors import BadInput
from lakewarden.service.effect import About

KEY_BYTES = 20

ENTITY: Final = "entity"
STATEMENT: Final = "statement"
"""The two kinds of subjects of a document."""

_ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(r"(?<!\\)((?:\\\\)*)\\u(d[89a-f][0-9a-f]{2})")


def key(*names: str) -> bytes:
    """The key of these names together.

    INVARIANT: no name contains a NUL (`check_storable`), so different names never join to the same
    text.
    """
    return blake2b("\0".join(names).encode(), digest_size=KEY_BYTES).digest()


def document_key(about: About) -> tuple[str, bytes]:
    """The kind and key under which a document is found."""
    return (STATEMENT, key(about)) if isinstance(about, str) else (ENTITY, key(*about))


def check_storable(json_text: str) -> None:
    """Raises `BadInput` if a JSON text contains a character that some engine cannot store.

    These are NUL and unpaired surrogates; nothing else is refused or altered.
    """
    if "\\u0000" in json_text and _ESCAPED_NUL.search(json_text):
        raise BadInput("text with a NUL character cannot be stored")
    if not json_text.isascii() and _SURROGATE.search(json_text):
        raise BadInput("text with an unpaired surrogate cannot be stored")


def check_names(*names: str) -> None:
    """Raises `BadInput` like `check_storable`, for plain texts."""
    for name in names:
        if "\0" in name or _SURROGATE.search(name):
            raise BadInput("text with NUL or an unpaired surrogate cannot be stored")


def escaped(json_text: str) -> str:
    """The JSON text with unpaired surrogates escaped, which every engine can store."""
    if json_text.isascii():
        return json_text
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", json_text)


def unescaped(json_text: str) -> str:
    """Reverses `escaped`. Nothing else writes such an escape: see `effect.canonical`."""
    if "\\ud" not in json_text:
        return json_text
    return _ESCAPED_SURROGATE.sub(lambda match: match[1] + chr(int(match[2], 16)), json_text)
