"""The search: the matches among the entities visible to the caller, in order, by pages.

Results are sets of ids until the page is built: totals and facets cover all visible results, and a
page is always full. The store is only queried for words and aspects.

Default order: first entities whose name is exactly the words, then those with all words in their
name, then all others; within each, the canonical order of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.service.cancellation import check
from lakewarden.service.search_terms import Kind, SearchQuery, Term, name_term, parse_query
from lakewarden.systems.datahub.search.criteria import Criteria
from lakewarden.systems.datahub.search.index import Index
from lakewarden.systems.datahub.search.question import URN, Order, Question
from lakewarden.systems.datahub.search.scroll import ScrollPosition
from lakewarden.systems.datahub.search.texts import Texts

SORTABLE: Final = ("_entityType", "_score", "name", "origin", "platform", "urn")
"""The fields by which results are sorted; `_score` is the usual order."""

Visible = Callable[[str], BitMap]
"""The visible stored entities of a type."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the results; `place` is the position of the next page, None for the last."""

    entities: tuple[Entity, ...]
    total: int
    place: ScrollPosition | None


class Search:
    """One search. Raises `BadInput` and `LimitExceeded` if it requests too much."""

    def __init__(
        self, index: Index, texts: Callable[[], Texts], visible: Visible, question: Question
    ) -> None:
        question.check()
        _check_order(question.order)
        self._index = index
        self._texts = texts
        self._visible = visible
        self._question = question

    @cached_property
    def among(self) -> BitMap:
        """All visible entities of the types, before words and criteria."""
        parts = [
            self._visible(type) & self._index.of_type(type)
            for type in dict.fromkeys(self._question.types)
        ]
        visible = BitMap.union(BitMap(), *parts)
        return visible if self._question.looks_at_removed else visible - self._index.removed

    @cached_property
    def parts(self) -> Sequence[BitMap]:
        """The results in ordered parts: each part sorts after the one before."""
        query = parse_query(self._question.query)
        if query is None:
            return [self._filtered(self.among)]
        if self._question.query.strip().startswith(URN):
            return [self._filtered(self._with_name(self._question.query.strip()))]
        if not query.starting:
            return []
        matching = self._filtered(self._with_term(query))
        with_words = matching & self._with_words(query)
        term = name_term(self._question.query.rstrip("*"))
        exact = (
            with_words & self._texts().matching([[Term(term)]]) if term and with_words else BitMap()
        )
        return [exact, with_words - exact, matching - with_words]

    @cached_property
    def results(self) -> BitMap:
        """All results."""
        return BitMap.union(BitMap(), *self.parts)

    def page(self, start: int, count: int) -> Page:
        """Results from the `start`-th on."""
        if self._is_sorted:
            return self._sorted_page(start, count)
        ids: list[int] = []
        skipped, place = start, None
        for number, part in enumerate(self.parts):
            if skipped < len(part) and len(ids) < count:
                page_ids = self._index.ranks.page(part, skipped, count - len(ids))
                ids += page_ids
                place = (
                    ScrollPosition(number, self._index.tree.key(page_ids[-1]))
                    if page_ids
                    else place
                )
            skipped = max(0, skipped - len(part))
        return self._page(ids, start + len(ids), place)

    def after(self, place: ScrollPosition, count: int) -> Page:
        """Results after a position."""
        if self._is_sorted:
            return self._sorted_page(self._resume_index(place), count)
        if place.part >= len(self.parts):
            return Page((), len(self.results), None)
        before = sum(len(part) for part in self.parts[: place.part])
        start = before + self._index.ranks.after(self.parts[place.part], place.key)
        return self.page(start, count)

    @property
    def _is_sorted(self) -> bool:
        return any(order.field != "_score" for order in self._question.order)

    def _resume_index(self, place: ScrollPosition) -> int:
        """The index at which a sorted list continues; for a deleted entity, its former position."""
        name, type = place.key[-1] if place.key else ("", "")
        id = self._index.tree.find(Entity(type, name))
        if id is not None and id in self.results:
            return self._sorted.index(id) + 1
        return min(place.part, len(self._sorted))

    def _page(self, ids: Sequence[int], end: int, place: ScrollPosition | None) -> Page:
        total = len(self.results)
        entities = tuple(self._index.tree.entity(id) for id in ids)
        return Page(entities, total, place if ids and end < total else None)

    def _sorted_page(self, start: int, count: int) -> Page:
        ids = self._sorted[start : start + count]
        end = start + len(ids)
        place = ScrollPosition(end, self._index.tree.key(ids[-1])) if ids else None
        return self._page(ids, end, place)

    @cached_property
    def _sorted(self) -> list[int]:
        """All results in the requested order; ties by URN."""
        tree = self._index.tree
        ids = sorted(self.results, key=lambda id: tree.names[id])
        for order in reversed(self._question.order):
            key = self._key(order.field.removesuffix(".keyword"))
            ids.sort(key=key, reverse=order.descending)
        return ids

    def _key(self, field: str) -> Callable[[int], Any]:
        tree, urns = self._index.tree, self._index.urns
        match field:
            case "urn":
                return lambda id: tree.names[id]
            case "_entityType":
                return lambda id: tree.kinds[tree.types[id]]
            case "platform":
                return lambda id: urns.platforms.texts[urns.platforms.codes[id]]
            case "origin":
                return lambda id: urns.environments.texts[urns.environments.codes[id]]
            case "name":
                names = self._texts().names(self.results)
                return lambda id: (names[id].casefold(), names[id])
            case _:
                ranked = {id: number for number, part in enumerate(self.parts) for id in part}
                return ranked.__getitem__

    def _filtered(self, ids: BitMap) -> BitMap:
        fitting = ids & self.among
        if not any(self._question.filters):
            return fitting
        for any_of in self._question.filters:
            check()
            fitting = Criteria(self._index, self._texts, fitting).matching(any_of)
        return fitting

    def _with_name(self, urn: str) -> BitMap:
        ids = (index.get(urn) for index in self._index.tree.named.values())
        return BitMap([id for id in ids if id is not None])

    def _with_term(self, query: SearchQuery) -> BitMap:
        if self._question.named:
            return self._with_words(query)
        return self._texts().matching(query.clauses(Kind.NAME, Kind.TEXT))

    def _with_words(self, query: SearchQuery) -> BitMap:
        return self._texts().matching(query.clauses(Kind.NAME))


def _check_order(orders: Sequence[Order]) -> None:
    for order in orders:
        if order.field.removesuffix(".keyword") not in SORTABLE:
            expected = ", ".join(SORTABLE)
            raise BadInput(
                f"results are not sorted by `{order.field}`; expected one of: {expected}"
            )
