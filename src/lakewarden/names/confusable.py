"""Which names people take for one another: the same but for case, width or alphabet.

Names are compared byte for byte wherever something is decided. Where somebody chooses a name
alone, a name that reads like one that is known is refused, so what is compared there is folded:
compatibility forms (full width, ligatures), full case folding, and the letters of the Cyrillic and
Greek alphabets that are drawn as Latin ones. SOURCE: Unicode 15, chapter 3.13 (case folding) and
annexes 15 and 39; the letters are those that fonts draw alike.
"""

from __future__ import annotations

import unicodedata
from typing import Final

_CYRILLIC: Final = ("авеһікӏмнорѕстухјԁԛԝ", "abehiklmhopsctyxjdqw")
_GREEK: Final = ("αβεζηικμνορτυχ", "abezhikmnoptyx")
_LATIN: Final = ("ıɑɡ", "iag")  # noqa: RUF001 — letters that look alike are meant

_ALIKE: Final = str.maketrans(
    "".join(one for one, _ in (_CYRILLIC, _GREEK, _LATIN)),
    "".join(other for _, other in (_CYRILLIC, _GREEK, _LATIN)),
    "\u0307",  # what case folding leaves of a dotted capital I
)


def folded_name(name: str) -> str:
    r"""What names that read alike have in common; never a name to decide by.

    >>> folded_name("\uff21\uff24\uff2d\uff29\uff2e"), folded_name("\u0430DMIN")
    ('admin', 'admin')
    """
    if name.isascii():
        return name.lower()
    folded = unicodedata.normalize("NFKC", name).casefold()
    return unicodedata.normalize("NFKC", folded).translate(_ALIKE)
