"""Which names an engine may take for one another because they differ in case alone.

Engines fold names each in its own way: in small letters or capitals, by the whole name or
letter by letter, as Java's `equalsIgnoreCase` does. Names that any of them takes for equal have the
same folded name here. SOURCE: Unicode 15, chapter 3.13, and the contract of `java.lang.String`.
"""

from __future__ import annotations

from typing import Final

_DOT_ABOVE: Final = "\u0307"
"""What folding leaves of a capital I with a dot, which Java takes for an i."""


def same_but_for_case(name: str) -> str:
    r"""What all names have in common that differ from this one in case alone.

    >>> same_but_for_case("IBAN"), same_but_for_case("STRASSE"), same_but_for_case("stra\xdfe")
    ('iban', 'strasse', 'strasse')
    >>> same_but_for_case("\u0130d"), same_but_for_case("\u0131d")
    ('id', 'id')
    """
    if name.isascii():
        return name.lower()
    return name.upper().casefold().replace(_DOT_ABOVE, "")
