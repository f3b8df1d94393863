"""What rows are found by: a digest of the names, and which texts can be stored at all.

A name may be longer than what an index of PostgreSQL takes, so rows are found by a digest of 160
bits over their names' bytes. Equal digests mean equal names, byte for byte, on every engine.
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
"""What a document can be about."""

_ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(r"(?<!\\)((?:\\\\)*)\\u(d[89a-f][0-9a-f]{2})")


def key(*names: str) -> bytes:
    """The key of what these names name together.

    INVARIANT: no name holds a NUL (`check_storable`), so different names never join alike.
    """
    return blake2b("\0".join(names).encode(), digest_size=KEY_BYTES).digest()


def document_key(about: About) -> tuple[str, bytes]:
    """How a document is found by what it is about."""
    return (STATEMENT, key(about)) if isinstance(about, str) else (ENTITY, key(*about))


def check_storable(json_text: str) -> None:
    """Raises `BadInput` where text in the JSON has a character that not every engine keeps.

    Those are NUL and half of a surrogate pair; nothing else is refused or altered.
    """
    if "\\u0000" in json_text and _ESCAPED_NUL.search(json_text):
        raise BadInput("text with a NUL character cannot be stored")
    if not json_text.isascii() and _SURROGATE.search(json_text):
        raise BadInput("text with an unpaired surrogate cannot be stored")


def check_names(*names: str) -> None:
    """Raises `BadInput` as `check_storable` does, for plain texts."""
    for name in names:
        if "\0" in name or _SURROGATE.search(name):
            raise BadInput("text with NUL or an unpaired surrogate cannot be stored")


def escaped(json_text: str) -> str:
    """The JSON text with halves of surrogate pairs escaped, so that every engine keeps it."""
    if json_text.isascii():
        return json_text
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", json_text)


def unescaped(json_text: str) -> str:
    """What `escaped` was given. Nothing else writes such an escape: see `effect.canonical`."""
    if "\\ud" not in json_text:
        return json_text
    return _ESCAPED_SURROGATE.sub(lambda match: match[1] + chr(int(match[2], 16)), json_text)
