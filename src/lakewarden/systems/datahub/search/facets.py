"""Facets: the number of results for each value of a field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from pyroaring import BitMap

from lakewarden.service.search_terms import Term, field_term, value_term
from lakewarden.systems.datahub.aspects import searched
from lakewarden.systems.datahub.search.index import Index
from lakewarden.systems.datahub.search.links import LINKS
from lakewarden.systems.datahub.search.texts import LOOKED_THROUGH, Texts
from lakewarden.systems.datahub.search.urns import PLATFORM, TextColumn

USUAL: Final = (
    *("_entityType", "platform", "origin", "domains", "container", "owners", "tags"),
    "glossaryTerms",
)
"""The facets returned by default."""

FACETS: Final = frozenset((*USUAL, *LINKS, *searched.FIELDS, "removed")) - {"description"}
"""All facets."""

MOST: Final = 20
"""Values of a facet that are returned by default."""


class Count(NamedTuple):
    """A value of a field, and the number of results with it."""

    value: str
    number: int


class Facet(NamedTuple):
    """A field with its values, most frequent first."""

    field: str
    counts: Sequence[Count]


class Facets:
    """Counts for one snapshot."""

    def __init__(self, index: Index, texts: Callable[[], Texts]) -> None:
        self._index = index
        self._texts = texts

    def of(self, field: str, ids: BitMap, most: int = MOST) -> Facet:
        """The facet of a field over these ids; without values if the field is not in `FACETS`."""
        name = field.removesuffix(".keyword")
        result_counts = [
            count for count in self._count_links(name, ids) if count.number and count.value
        ]
        result_counts.sort(key=lambda count: (-count.number, count.value))
        return Facet(field, result_counts[:most])

    def _count_links(self, field: str, ids: BitMap) -> Iterable[Count]:
        if field == "_entityType":
            kinds = (kind for kind in self._index.tree.kinds if kind)
            ids_by_kind = ((kind, self._index.of_type(kind)) for kind in kinds)
            return [Count(kind, ids.intersection_cardinality(own)) for kind, own in ids_by_kind]
        if field == "platform":
            return self._platform_counts(ids)
        if field in ("origin", "env"):
            return self._attribute_counts(self._index.urns.environments, ids)
        if field == "removed":
            removed = len(ids & self._index.removed)
            return [Count("true", removed), Count("false", len(ids) - removed)]
        if field in LINKS:
            links = self._index.links(field)
            counts = links.counts(ids, len(self._index.tree))
            return [Count(links.name(target), count) for target, count in counts.items()]
        return self._aspect_counts(field, ids) if field in FACETS else []

    def _attribute_counts(self, column: TextColumn, ids: BitMap) -> list[Count]:
        return [Count(text, count) for text, count in column.counts(ids).items()]

    def _platform_counts(self, ids: BitMap) -> list[Count]:
        """The counts of platforms in URNs, and in aspects for entities without one in their URN."""
        platforms = self._index.urns.platforms
        counts = platforms.counts(ids)
        without_platform = counts.pop("", 0)
        if without_platform:
            unnamed = ids & platforms.numbered(0)
            known = {text for text in platforms.texts if text}
            known.update(self._index.tree.names[id] for id in self._index.of_type("dataPlatform"))
            with_platform = self._texts().matching([[Term(field_term("platform"))]]) & unnamed
            for platform in sorted(known) if with_platform else ():
                has = self._texts().matching([[Term(value_term("platform", platform))]])
                counts[platform] = counts.get(platform, 0) + len(has & with_platform)
        return [Count(text, count) for text, count in counts.items() if text.startswith(PLATFORM)]

    def _aspect_counts(self, field: str, ids: BitMap) -> list[Count]:
        """The counts of a field that only aspects state; none if too many entities have it."""
        has = self._texts().matching([[Term(field_term(field))]]) & ids
        if len(has) > LOOKED_THROUGH:
            return []
        counts: dict[str, int] = {}
        for own in self._texts().aspects(has).values():
            for value in searched.fields(own)[field]:
                counts[value] = counts.get(value, 0) + 1
        return [Count(value, count) for value, count in counts.items()]
