"""Words by which texts are found, the same on every engine and in every query.

A word is a run of letters and digits, without case; everything between is a separator, including
dots and underscores. `shop.daily_orders` has the words shop, daily and orders. Of words longer than
`LONGEST`, only the beginning counts. An engine receives *terms*, words with a letter as prefix that
tells where they occur, so it need not analyze text; see `Kind`.
"""

from __future__ import annotations

import re
from enum import StrEnum
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol
from unicodedata import normalize

from lakewarden.kernel.errors import BadInput

if TYPE_CHECKING:
    from lakewarden.kernel.entity import Entity
    from lakewarden.service.effect import Document

LONGEST: Final = 64
"""The number of characters of a word that count."""

MOST: Final = 64
"""The most words of one search."""

_WORD: Final = re.compile(r"[^\W_]+")
_PREFIX: Final = "*"


class Indexed(NamedTuple):
    """An entity in the index: its name, and its terms separated by spaces."""

    name: str
    terms: str


class SearchTerms(Protocol):
    """The search terms of a system's entities."""

    def is_searched(self, entity: Entity) -> bool:
        """Whether a search may ever show the entity."""
        ...

    def terms(self, entity: Entity, document: Document | None) -> Indexed:
        """The search terms of an entity with its document (None: it has none)."""
        ...


class Kind(StrEnum):
    """The kind of a term: where in the entity it occurs."""

    TEXT = "w"
    """A word of any of its texts, unless its name contains the word."""
    NAME = "n"
    """A word of its name."""
    WHOLE = "e"
    """All the words of its name, or of the last part of its name, joined."""
    VALUE = "k"
    """A value of one of its fields."""
    FOLDED = "i"
    """The same without case."""
    FIELD = "x"
    """The presence of a field."""


class Term(NamedTuple):
    """A search term; a `starting` one matches all terms with this prefix."""

    text: str
    starting: bool = False


def words(text: str) -> list[str]:
    """The words of a text, in order.

    >>> words("Shop.daily_ORDERS, 2nd")
    ['shop', 'daily', 'orders', '2nd']
    """
    folded = text.lower() if text.isascii() else normalize("NFKC", text).casefold()
    matches = _WORD.findall(folded)
    return [word[:LONGEST] for word in matches] if len(folded) > LONGEST else matches


def check_search(query: str, where: str) -> None:
    """Raises `BadInput` for a search of more than `MOST` words; `where` is its field."""
    check_number(max(len(query.split()), sum(1 for _ in _WORD.finditer(query))), where)


def check_number(number: int, where: str) -> None:
    """The same for a number of words."""
    if number > MOST:
        raise BadInput(f"expected at most {MOST} words, got {number}", where=where)


class SearchQuery(NamedTuple):
    """The words of a query; all are required. The `starting` ones are prefixes."""

    whole: tuple[str, ...]
    starting: tuple[str, ...]

    def clauses(self, *kinds: Kind) -> list[list[Term]]:
        """The clauses of the query: for every word, the terms of these kinds."""
        exact = [[Term(kind + word) for kind in kinds] for word in self.whole]
        return exact + [[Term(kind + word, True) for kind in kinds] for word in self.starting]


def parse_query(query: str) -> SearchQuery | None:
    """The words of a query; None: it matches everything.

    The last word is a prefix, and so is every word with a star behind it; all others are whole
    words. A separator at the end, such as a space, does not make the last word whole.

    >>> parse_query("Daily ord")
    SearchQuery(whole=('daily',), starting=('ord',))
    >>> parse_query("da* orders"), parse_query("*")
    (SearchQuery(whole=(), starting=('da', 'orders')), None)
    """
    if not query.strip(" *"):
        return None
    complete: dict[str, None] = {}
    starting: dict[str, None] = {}
    last = ""
    for piece in query.split():
        terms = words(piece)
        if terms:
            complete.update(dict.fromkeys(terms))
            last = terms[-1]
            if piece.endswith(_PREFIX):
                starting[last] = None
    if last:
        starting[last] = None
    return SearchQuery(tuple(word for word in complete if word not in starting), tuple(starting))


def name_term(text: str) -> str:
    """The term of a name as one; empty if it has no word."""
    return name_term_of(words(text))


def name_term_of(parts: list[str]) -> str:
    """The same, for the words of a name."""
    joined = "".join(parts)[:LONGEST]
    return f"e{joined}" if joined else ""


def value_term(field: str, value: str, *, folded: bool = False) -> str:
    """The term for a value of a field."""
    text = value.casefold() if folded else value
    return (Kind.FOLDED if folded else Kind.VALUE) + _digest(f"{field}\0{text}")


def field_term(field: str) -> str:
    """The term for the presence of a field."""
    return Kind.FIELD + _digest(field)


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()
