"""Refuses a write that would create circular or too deep nesting, before it is stored (R-17).

The kernel refuses single changes; this checks many changes at once, and rows that are loaded
together. Nesting that is already stored is no reason to refuse a write.
"""

from __future__ import annotations

from collections.abc import Iterable

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.kernel.facts import Coded
from lakewarden.kernel.hierarchy import MAX_LEVELS
from lakewarden.kernel.principal import Principal


def check_nesting(before: Coded | None, after: Coded) -> None:
    """Raises `BadInput` for a new circle, `LimitExceeded` for new depth; cheap otherwise."""
    _check_no_cycle("are below themselves", _looped(before), _looped(after))
    _check_no_cycle(
        "would be members of themselves", _inactive_people(before), _inactive_people(after)
    )
    _refuse_depth("levels above", _deep(before), _deep(after))
    _refuse_depth(
        "memberships in a row above", _people_beyond_limit(before), _people_beyond_limit(after)
    )


def _check_no_cycle(relation: str, before: set[str], after: set[str]) -> None:
    if after - before:
        raise BadInput(f"some {relation}: {_first(after - before)}")


def _refuse_depth(relation: str, before: set[str], after: set[str]) -> None:
    if after - before:
        raise LimitExceeded(f"more than {MAX_LEVELS} {relation} {_first(after - before)}")


def _first(names: set[str]) -> str:
    return f"`{min(names)}`" + (f" and {len(names) - 1} more" if len(names) > 1 else "")


def _looped(coded: Coded | None) -> set[str]:
    return set() if coded is None else _texts(map(coded.tree.entity, coded.tree.looped))


def _deep(coded: Coded | None) -> set[str]:
    if coded is None or not coded.tree.deep:
        return set()
    return _texts(map(coded.tree.entity, coded.tree.deep & coded.tree.stored))


def _inactive_people(coded: Coded | None) -> set[str]:
    return (
        set()
        if coded is None
        else _people(coded, {member for member, _ in coded.memberships.inert})
    )


def _people_beyond_limit(coded: Coded | None) -> set[str]:
    return set() if coded is None else _people(coded, coded.memberships.too_nested)


def _people(coded: Coded, ids: Iterable[int]) -> set[str]:
    return _texts(coded.memberships.principals[id] for id in ids)


def _texts(named: Iterable[Entity | Principal]) -> set[str]:
    return {":".join(each) for each in named}
