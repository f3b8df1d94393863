"""The common rules of the spellings: characters and lengths of names, and the segments of a path.

A name that passes here can be stored, sorted, logged and sent on every engine. Names are
compared byte for byte: nothing is folded, trimmed or normalised; a name that would need it is
rejected. Two strengths: `check_text` is for every name that is read, `check_identifier`
and `check_user_name` only for names that are being created.
"""

from __future__ import annotations

import unicodedata
from string import ascii_letters, digits, hexdigits
from typing import Final

from lakewarden.kernel.errors import BadInput

MAX_NAME_BYTES: Final = 2_048
"""Maximum length of an entity's name, in UTF-8; PostgreSQL limits an index entry to 2,704 bytes."""

MAX_USER_CHARACTERS: Final = 256
"""Maximum length of a new user's or group's name."""

WORD: Final = frozenset(ascii_letters + digits + "_")
"""Letters, digits and underscore, ASCII only."""

_SHOWN = 80

_STEPS = frozenset({".", ".."})

_BREAKING = frozenset({"Cc", "Cs", "Zl", "Zp"})

# Printable for Python, but invisible: joiners, fillers, variation selectors.
_INVISIBLE = frozenset(
    chr(code)
    for first, last in (
        (0x034F, 0x034F),
        (0x115F, 0x1160),
        (0x17B4, 0x17B5),
        (0x180B, 0x180F),
        (0x2800, 0x2800),
        (0x3164, 0x3164),
        (0xFE00, 0xFE0F),
        (0xFFA0, 0xFFA0),
        (0xE0100, 0xE01EF),
    )
    for code in range(first, last + 1)
)

_BYTE_BY_HEX = {
    (high + low).encode(): bytes((int(high + low, 16),)) for high in hexdigits for low in hexdigits
}


def quoted(text: str) -> str:
    r"""`text` in backticks for an error message: one line, escaped where unreadable, truncated.

    >>> quoted("a\nb")
    '`a\\nb`'
    """
    return f"`{shown(text)}`"


def shown(text: str) -> str:
    """`text` as shown in messages that use other quotes."""
    return escaped(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


def escaped(text: str) -> str:
    """`text` with the characters that cannot be read in a log line written as escapes."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


def lower_word(name: str) -> str:
    """A type word in lower case; unchanged if not ASCII, so it stays unknown.

    Unicode folds further than intended: the Kelvin sign becomes the letter k.

    >>> lower_word("TABLE")
    'table'
    """
    return name.lower() if name.isascii() else name


def check_text(text: str, label: str = "the name") -> None:
    """Rejects text that an engine cannot store or a log line cannot show; for every name read.

    Empty, over `MAX_NAME_BYTES`, control characters and line breaks, lone surrogates.
    Raises `BadInput`.
    """
    if not text:
        raise BadInput(f"{label} is empty")
    if not text.isprintable():
        for character in text:
            if unicodedata.category(character) in _BREAKING:
                raise BadInput(f"{label} holds the control character {quoted(character)}")
    size = len(text) if text.isascii() else len(text.encode("utf-8"))
    if size > MAX_NAME_BYTES:
        raise BadInput(f"{label} has {size} bytes, at most {MAX_NAME_BYTES} are allowed")


def check_identifier(text: str, *, label: str, limit: int) -> None:
    """Rejects what a new name must not contain, in any alphabet.

    Not in normal form NFC, over `limit` characters, invisible or direction-changing
    characters, a space at either end; and everything that `check_text` rejects. Raises
    `BadInput`. Source: security reference, R-40.
    """
    check_text(text, label)
    if len(text) > limit:
        raise BadInput(f"{label} has {len(text)} characters, at most {limit} are allowed")
    if not unicodedata.is_normalized("NFC", text):
        raise BadInput(f"{label} {quoted(text)} is not in Unicode normal form NFC")
    for character in text:
        if not character.isprintable() or character in _INVISIBLE:
            raise BadInput(f"{label} holds the invisible character U+{ord(character):04X}")
    if text[0] == " " or text[-1] == " ":
        raise BadInput(f"{label} {quoted(text)} begins or ends with a space")


def check_user_name(name: str, *, label: str = "the user name") -> None:
    r"""Raises `BadInput` for a name that a new user or group must not have.

    At most 256 readable characters, including `/ \ ' " ; %`, because identity providers send
    `/eng/data` and `DOM\user`. Source: security reference, R-40.
    """
    check_identifier(name, label=label, limit=MAX_USER_CHARACTERS)
    check_segment(name, label)


def check_segment(name: str, label: str = "the name") -> None:
    """Raises `BadInput` for `.` and `..`, which clients remove from paths."""
    if name in _STEPS:
        raise BadInput(f"{label} cannot be {quoted(name)}")


def split_path(raw: bytes | str, *, encoded_slash: bool = False) -> tuple[str, ...]:
    """The segments of a request path: split first, then each decoded, exactly once.

    `raw` is the path as sent, without query. One slash at the end is allowed. With
    `encoded_slash` a segment may contain `%2F` and `%5C`, which are then characters of one
    name and split nothing; routes whose names have slashes (URNs, Kerberos principals)
    declare that.

    Raises `BadInput` for an empty segment, `.` and `..`, `;`, a backslash, a query, a
    broken escape, bytes that are not strict UTF-8, and control characters, NUL included.
    Source: security reference, R-42.

    >>> split_path("/api/metalakes/lk/objects/table/c.s.t%20x")
    ('api', 'metalakes', 'lk', 'objects', 'table', 'c.s.t x')
    """
    try:
        path = raw.encode("utf-8") if isinstance(raw, str) else raw
    except UnicodeEncodeError:
        raise BadInput("not UTF-8", where="path") from None
    if not path.startswith(b"/"):
        raise BadInput("expected a `/` at the beginning", where="path")
    for refused in (b"//", b";", b"\\", b"?", b"#"):
        if refused in path:
            raise BadInput(f"`{refused.decode()}` is not allowed", where="path")
    body = path[1:].removesuffix(b"/")
    return tuple(_segment(part, encoded_slash) for part in body.split(b"/")) if body else ()


def _segment(raw: bytes, encoded_slash: bool) -> str:
    """One segment of a path, decoded."""
    first, *escapes = raw.split(b"%")
    pieces = [first]
    for escape in escapes:
        byte = _BYTE_BY_HEX.get(escape[:2])
        if byte is None:
            raise BadInput("`%` without two hexadecimal digits", where="path")
        pieces += (byte, escape[2:])
    try:
        text = b"".join(pieces).decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput("not UTF-8", where="path") from None
    if text in _STEPS:
        raise BadInput(f"{quoted(text)} is not allowed", where="path")
    if not encoded_slash and ("/" in text or "\\" in text):
        raise BadInput("an encoded slash or backslash is not allowed", where="path")
    if not text.isprintable() and any(unicodedata.category(c) in _BREAKING for c in text):
        raise BadInput("an encoded control character is not allowed", where="path")
    return text
