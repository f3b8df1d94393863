"""Names that an engine may treat as equal because they differ only in case.

Engines fold names differently: to small letters or capitals, by the whole name or
letter by letter, like Java's `equalsIgnoreCase`. Names that any engine treats as equal have the
same folded name here. SOURCE: Unicode 15, chapter 3.13, and the contract of `java.lang.String`.
"""

from __future__ import annotations

from typing import Final

_DOT_ABOVE: Final = "\u0307"
"""Left by folding of a capital I with a dot, which Java treats as an i."""


def same_but_for_case(name: str) -> str:
    r"""The common form of all names that differ from this one only in case.

    >>> same_but_for_case("IBAN"), same_but_for_case("STRASSE"), same_but_for_case("stra\xdfe")
    ('iban', 'strasse', 'strasse')
    >>> same_but_for_case("\u0130d"), same_but_for_case("\u0131d")
    ('id', 'id')
    """
    if name.isascii():
        return name.lower()
    return name.upper().casefold().replace(_DOT_ABOVE, "")
