"""Words: what a text is found by, the same on every engine and in every query.

A word is a run of letters and digits, without case; everything between is a separator, dots and
underscores too. `shop.daily_orders` has the words shop, daily and orders. Words longer than
`LONGEST` count by their beginning. An engine is given *terms*, words behind one letter that says
what they are a word of, so that it need not know anything about text; see `Kind`.
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
"""Characters of a word that count."""

MOST: Final = 64
"""Words of one search."""

_WORD: Final = re.compile(r"[^\W_]+")
_PREFIX: Final = "*"


class Indexed(NamedTuple):
    """An entity as an index keeps it: its name, and its terms with spaces between."""

    name: str
    terms: str


class SearchTerms(Protocol):
    """What the entities of a system are found by."""

    def is_searched(self, entity: Entity) -> bool:
        """Whether a search may ever show the entity."""
        ...

    def terms(self, entity: Entity, document: Document | None) -> Indexed:
        """What an entity is found by, with its document (None: it has none)."""
        ...


class Kind(StrEnum):
    """The kind of a term: where in the entity it occurs."""

    TEXT = "w"
    """A word of some text of it, unless it is one of its name as well."""
    NAME = "n"
    """A word of its name."""
    WHOLE = "e"
    """All the words of its name, or of the last part of its name, in one."""
    VALUE = "k"
    """A value that one of its fields has."""
    FOLDED = "i"
    """The same without case."""
    FIELD = "x"
    """That it has a field at all."""


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
    """Raises `BadInput` for a search of more than `MOST` words; `where` is the field it came in."""
    check_number(max(len(query.split()), sum(1 for _ in _WORD.finditer(query))), where)


def check_number(number: int, where: str) -> None:
    """The same of words that were counted."""
    if number > MOST:
        raise BadInput(f"expected at most {MOST} words, got {number}", where=where)


class SearchQuery(NamedTuple):
    """The words of a query: all must be there. The `starting` ones may go on."""

    whole: tuple[str, ...]
    starting: tuple[str, ...]

    def clauses(self, *kinds: Kind) -> list[list[Term]]:
        """What an entity must have one of each of: every word, as one of some kind."""
        exact = [[Term(kind + word) for kind in kinds] for word in self.whole]
        return exact + [[Term(kind + word, True) for kind in kinds] for word in self.starting]


def parse_query(query: str) -> SearchQuery | None:
    """The words of a query; None: it matches everything.

    The last word may go on, and so may every word with a star behind it; a word that is
    followed by anything else, such as a space at the end, is a whole one only if it is not last.

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
    """The term of a name as one; empty where it has no word."""
    return name_term_of(words(text))


def name_term_of(parts: list[str]) -> str:
    """The same, of the name's words."""
    joined = "".join(parts)[:LONGEST]
    return f"e{joined}" if joined else ""


def value_term(field: str, value: str, *, folded: bool = False) -> str:
    """The term of a value of a field."""
    text = value.casefold() if folded else value
    return (Kind.FOLDED if folded else Kind.VALUE) + _digest(f"{field}\0{text}")


def field_term(field: str) -> str:
    """The term of having a field."""
    return Kind.FIELD + _digest(field)


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()
