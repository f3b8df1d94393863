"""The facts of an index: what its manifest contains beside the tables, and their form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, Final

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.index.id_space import FIRST, WIDTH, IdWidth
from lakewarden.pipeline.storage.location import Location


def check_facts(facts: Mapping[str, Any], file: Location) -> None:
    """Raises `BadInput` for a fact of the manifest `file` that is missing or malformed."""
    for name, is_well_formed in _FORMS.items():
        if name not in facts or not is_well_formed(facts[name]):
            what = "is missing" if name not in facts else "is not as it was written"
            raise BadInput(f"is damaged: `{name}` {what}; rebuild the index", where=str(file))
    if facts.get(WIDTH, IdWidth.WIDE.value) != IdWidth.WIDE.value:
        what = f"`{WIDTH}` is not one that this release reads"
        raise BadInput(f"{what}; rebuild the index, or read it with a newer one", where=str(file))
    if not _is_count(facts.get(FIRST, 0)):
        what = f"`{FIRST}` is not as it was written"
        raise BadInput(f"is damaged: {what}; rebuild the index", where=str(file))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_count_or_none(value: object) -> bool:
    return value is None or _is_count(value)


def _is_moment(value: object) -> bool:
    """Whether it is a moment in seconds; None: there is no bound."""
    if value is None or isinstance(value, bool):
        return value is None
    return isinstance(value, (int, float)) and isfinite(value)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _are_entities(value: object) -> bool:
    return isinstance(value, list) and all(_are_texts(one) and len(one) == 2 for one in value)


def _is_named_by_texts(value: object) -> bool:
    return isinstance(value, dict) and _are_texts([*value, *value.values()])


_FORMS: Final[Mapping[str, Callable[[object], bool]]] = {
    **dict.fromkeys(("realm", "model", "digest", "store", "scopes"), _is_text),
    **dict.fromkeys(("count", "bits"), _is_count),
    **dict.fromkeys(("from", "until"), _is_moment),
    "revision": _is_count_or_none,
    "settings": _is_named_by_texts,
    "members": _are_entities,
    "ownerships": _are_texts,
}
