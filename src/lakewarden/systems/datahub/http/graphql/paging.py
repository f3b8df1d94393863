"""Pages of lists: start, count and total."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from lakewarden.service.cancellation import check
from lakewarden.systems.datahub.http.graphql.errors import bad

T = TypeVar("T")

COUNT: Final = 20
"""The default size of a page."""


def page(
    items: Sequence[T], arguments: Mapping[str, Any], most: int
) -> tuple[list[T], dict[str, int]]:
    """The requested part of the items, and the page's start, count and total."""
    start, count = arguments.get("start"), arguments.get("count")
    start = 0 if start is None else start
    count = min(COUNT, most) if count is None else count
    if start < 0 or not 0 <= count <= most:
        raise bad(f"expected a `start` of at least 0 and a `count` of 0 to {most}")
    page_items = list(items[start : start + count])
    return page_items, {"start": start, "count": len(page_items), "total": len(items)}


def contains_words(query: str | None, *texts: str) -> bool:
    """Whether every word of a search is in one of the texts; `*` and an empty one match always."""
    check()  # lists are searched item by item
    terms = (query or "").casefold().split()
    within = "\n".join(texts).casefold()
    return terms in ([], ["*"]) or all(term in within for term in terms)


def criterion_values(criterion: Mapping[str, Any]) -> list[str]:
    """The values of a list's criterion, which are compared exactly."""
    condition = criterion.get("condition")
    if condition not in (None, "EQUAL", "IN"):
        raise bad(f"a list is not filtered by `{condition}`; expected EQUAL or IN")
    values = criterion.get("values")
    if values is not None:
        return list(values)
    value = criterion.get("value")
    return [] if value is None else [value]
