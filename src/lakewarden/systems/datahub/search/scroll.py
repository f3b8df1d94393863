"""The position of a scroll: opaque to callers, only valid for the question that it came from.

It holds the position of the last returned entity in the order of the question, so entities added
or removed meanwhile cause neither duplicates nor gaps. Visibility is decided again for every page,
so a forged position discloses nothing.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import asdict
from enum import Enum
from hashlib import blake2b
from typing import Final, NamedTuple

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.tree import Name
from lakewarden.systems.datahub.search.question import Question

_VERSION: Final = 1
_LONGEST: Final = 16_384
_REFUSED: Final = "the scroll id is none of this question; start without one"


class ScrollPosition(NamedTuple):
    """The last returned entity: its part of the order, and its key there."""

    part: int
    key: tuple[Name, ...]


def digest(question: Question, *asker: str) -> str:
    """Identifies a question and its caller."""
    text = json.dumps([asdict(question), asker], sort_keys=True, default=_plain)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _plain(value: object) -> object:
    return value.value if isinstance(value, Enum) else str(value)


def scroll_id(digest: str, place: ScrollPosition) -> str:
    """The scroll id of a position."""
    text = json.dumps([_VERSION, digest, place.part, place.key], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode("utf-8", "surrogatepass")).decode()


def read_scroll_id(text: str, digest: str) -> ScrollPosition:
    """The position of a scroll id. Raises `BadInput` for one of another question."""
    try:
        if len(text) > _LONGEST:
            raise ValueError
        cells = json.loads(base64.b64decode(text.encode("ascii"), altchars=b"-_", validate=True))
        version, of, part, key = cells
        names = tuple((str(name), str(kind)) for name, kind in key)
    except (ValueError, TypeError, binascii.Error, RecursionError):
        raise BadInput(_REFUSED, where="scrollId") from None
    if version != _VERSION or of != digest or type(part) is not int or part < 0:
        raise BadInput(_REFUSED, where="scrollId")
    return ScrollPosition(part, names)
