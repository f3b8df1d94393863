"""Wildcards in names: `*` stands for any run of characters, `?` for exactly one.

Everything else is literal, case included, and neither can be escaped. Only
CDAP's names have wildcards; in every other system both are ordinary characters.
Matching does not use regular expressions: patterns come from users, and a
pattern must never be able to make matching slow.
"""

from __future__ import annotations


def is_pattern(text: str) -> bool:
    """Whether `text` holds a wildcard character."""
    return "*" in text or "?" in text


def matches(pattern: str, text: str) -> bool:
    """Whether the whole of `text` is of the form `pattern`.

    The pieces between stars are searched from left to right, each at its first
    occurrence; an earlier occurrence never leaves less room for the pieces that follow,
    so nothing is ever tried twice. Steps grow with the length of pattern plus text.

    Source: CDAP 5.1, class Authorizable (wildcard grants); linear by our own rule.

    >>> matches("sales.*", "sales.orders"), matches("ds?", "ds"), matches("S*", "sales")
    (True, False, False)
    """
    head, *rest = pattern.split("*")
    if not rest:
        return len(pattern) == len(text) and _matches_at(pattern, text, 0)
    *middle, tail = rest
    end = len(text) - len(tail)
    if end < len(head) or not _matches_at(head, text, 0) or not _matches_at(tail, text, end):
        return False
    at = len(head)
    for piece in middle:
        place = _find(piece, text, at, end)
        if place < 0:
            return False
        at = place + len(piece)
    return True


def _matches_at(piece: str, text: str, at: int) -> bool:
    """Whether `piece`, free of stars, matches `text` at `at`; the text must be long enough."""
    if "?" not in piece:
        return text.startswith(piece, at)
    return all(p in ("?", t) for p, t in zip(piece, text[at : at + len(piece)], strict=True))


def _find(piece: str, text: str, start: int, end: int) -> int:
    """The first index where `piece`, free of stars, matches inside `text[start:end]`; -1 if none.

    With `?` in the piece, one step per character keeps every prefix of the piece that
    still matches as one bit, instead of backtracking.
    """
    if "?" not in piece:
        return text.find(piece, start, end)
    anything = 0
    accepting: dict[str, int] = {}
    for position, character in enumerate(piece):
        if character == "?":
            anything |= 1 << position
        else:
            accepting[character] = accepting.get(character, 0) | 1 << position
    complete = 1 << (len(piece) - 1)
    alive = 0
    for at in range(start, end):
        alive = (alive << 1 | 1) & (accepting.get(text[at], 0) | anything)
        if alive & complete:
            return at - len(piece) + 1
    return -1
