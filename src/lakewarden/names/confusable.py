"""Names that people mistake for one another: equal except for case, width or alphabet.

Decisions compare names byte for byte. Where users choose a name alone, a name that looks like a
known one is rejected. For that comparison, names are folded: compatibility forms (full width,
ligatures), full case folding, and the letters of the Cyrillic and Greek alphabets that look like
Latin ones. SOURCE: Unicode 15, chapter 3.13 (case folding) and annexes 15 and 39; the letters are
those that fonts draw alike.
"""

from __future__ import annotations

import unicodedata
from typing import Final

_CYRILLIC: Final = ("авеһікӏмнорѕстухјԁԛԝ", "abehiklmhopsctyxjdqw")
_GREEK: Final = ("αβεζηικμνορτυχ", "abezhikmnoptyx")
_LATIN: Final = ("ıɑɡ", "iag")  # noqa: RUF001 — confusable letters are intended

_ALIKE: Final = str.maketrans(
    "".join(one for one, _ in (_CYRILLIC, _GREEK, _LATIN)),
    "".join(other for _, other in (_CYRILLIC, _GREEK, _LATIN)),
    "\u0307",  # left by case folding of a dotted capital I
)


def folded_name(name: str) -> str:
    r"""The common form of names that look alike; never used in decisions.

    >>> folded_name("\uff21\uff24\uff2d\uff29\uff2e"), folded_name("\u0430DMIN")
    ('admin', 'admin')
    """
    if name.isascii():
        return name.lower()
    folded = unicodedata.normalize("NFKC", name).casefold()
    return unicodedata.normalize("NFKC", folded).translate(_ALIKE)
