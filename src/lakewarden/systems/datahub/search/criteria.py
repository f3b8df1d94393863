"""Evaluates criteria: the entities that match each one.

Facts are used for the fields that they state; terms in the store for fields that only aspects
state. An unknown field matches nothing. EQUAL and IN compare exactly, all other conditions ignore
case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from pyroaring import BitMap

from lakewarden.service.cancellation import checked
from lakewarden.service.search_terms import Term, field_term, name_term, value_term
from lakewarden.systems.datahub.aspects import searched
from lakewarden.systems.datahub.aspects.facts import PROPERTY
from lakewarden.systems.datahub.search.index import Index
from lakewarden.systems.datahub.search.links import LINKS, Links
from lakewarden.systems.datahub.search.question import ABOVE, BELOW, IS_EQUAL, Condition, Criterion
from lakewarden.systems.datahub.search.texts import Texts
from lakewarden.systems.datahub.search.urns import PLATFORM

_SAME: Final = {
    "browsePathV2": "browsePathV2",
    "browsePaths": "browsePathV2",
    "domain": "domains",
    "entityType": "_entityType",
    "ownedBy": "owners",
    "parentContainer": "container",
    "properties": "customProperties",
    "tag": "tags",
    "terms": "glossaryTerms",
}
"""Other names of fields."""

_HAS: Final = {
    "hasContainer": "container",
    "hasDescription": "description",
    "hasDomain": "domains",
    "hasGlossaryTerms": "glossaryTerms",
    "hasOwners": "owners",
    "hasTags": "tags",
}
"""Fields that say whether another field has any value."""

_STRUCTURED: Final = "structuredProperties."
_KEYWORD: Final = ".keyword"


class Criteria:
    """Evaluates criteria on one snapshot; results matter only within the ids `among`."""

    def __init__(self, index: Index, texts: Callable[[], Texts], among: BitMap) -> None:
        self._index = index
        self._texts = texts
        self._among = among

    def matching(self, groups: Iterable[Iterable[Criterion]]) -> BitMap:
        """The ids that match all criteria of any group; all ids without a group."""
        sets = [self._matching_all(group) for group in groups]
        return BitMap.union(*sets) if sets else self._among

    def _matching_all(self, group: Iterable[Criterion]) -> BitMap:
        ids = self._among
        for criterion in group:
            hit = self._matching(criterion)
            ids = ids - hit if criterion.negated else ids & hit
        return ids

    def _matching(self, criterion: Criterion) -> BitMap:
        field = criterion.field.removesuffix(_KEYWORD)
        field = _SAME.get(field, field)
        if field in _HAS:
            return self._with_field(_HAS[field], criterion)
        if field in LINKS:
            return self._by_link(self._index.links(field), criterion)
        if field.startswith(_STRUCTURED):
            return self._by_property(field.removeprefix(_STRUCTURED), criterion)
        known = _FIELDS.get(field)
        if known is not None:
            return known(self, criterion)
        if field in searched.FIELDS:
            return self._by_aspect(field, criterion)
        return BitMap()

    def _with_field(self, field: str, criterion: Criterion) -> BitMap:
        """The ids with a field; `true` and `false` say whether it must have a value."""
        present = self._matching(Criterion(field, (), Condition.EXISTS))
        return self._flag(present, criterion)

    def _flag(self, present: BitMap, criterion: Criterion) -> BitMap:
        values = {value.lower() for value in criterion.values}
        if criterion.condition is Condition.EXISTS:
            return present
        ids = BitMap()
        if "true" in values:
            ids |= present
        if "false" in values:
            ids |= self._among - present
        return ids

    def _by_link(self, links: Links, criterion: Criterion) -> BitMap:
        if criterion.condition is Condition.EXISTS:
            return links.leading_to(links.distinct())
        return links.leading_to(self._targets(links, criterion))

    def _targets(self, links: Links, criterion: Criterion) -> Iterable[int]:
        condition = criterion.condition
        if condition in IS_EQUAL:
            return {id for value in criterion.values for id in links.find(value)}
        if condition in BELOW | ABOVE:
            ids = (id for value in criterion.values for id in links.find(value))
            return self._with_hierarchy(ids, condition) if links.are_entities else set(ids)
        fits = comparison(criterion)
        return [id for id in checked(links.distinct()) if fits(links.name(id))]

    def _with_hierarchy(self, ids: Iterable[int], condition: Condition) -> BitMap:
        """The ids with their descendants, their ancestors, or both."""
        tree, related = self._index.tree, BitMap()
        for id in checked(ids):
            related.add(id)
            if condition in BELOW:
                related |= tree.subtree(id)
            if condition in ABOVE:
                related.update(tree.ancestors(id))
        return related

    def _by_property(self, name: str, criterion: Criterion) -> BitMap:
        attribute = f"{PROPERTY}{name}"
        fits = comparison(criterion)
        ids = BitMap()
        for id, attributes in checked(self._index.coded.attributes.items()):
            values = attributes.get(attribute, ())
            is_there = criterion.condition is Condition.EXISTS and values
            if is_there or any(map(fits, values)):
                ids.add(id)
        return ids

    def _by_aspect(self, field: str, criterion: Criterion) -> BitMap:
        """The ids by a field that only aspects state."""
        exists = [Term(field_term(field))]
        match criterion.condition:
            case Condition.EXISTS:
                return self._texts().matching([exists])
            case _ if field == "description":
                return self._scan(field, criterion)
            case Condition.EQUAL | Condition.IN:
                return self._texts().matching([self._by_terms(field, criterion, folded=False)])
            case Condition.IEQUAL:
                return self._texts().matching([self._by_terms(field, criterion, folded=True)])
            case _:
                return self._scan(field, criterion)

    def _by_terms(self, field: str, criterion: Criterion, *, folded: bool) -> list[Term]:
        return [Term(value_term(field, value, folded=folded)) for value in criterion.values]

    def _scan(self, field: str, criterion: Criterion) -> BitMap:
        """The ids that match, by comparing every entity with the field."""
        present = self._texts().matching([[Term(field_term(field))]]) & self._among
        fits = comparison(criterion)
        aspects = self._texts().aspects(present)
        return BitMap(
            [
                id
                for id, own in checked(aspects.items())
                if any(map(fits, searched.fields(own)[field]))
            ]
        )

    def _by_urn(self, criterion: Criterion) -> BitMap:
        tree = self._index.tree
        if criterion.condition is Condition.EXISTS:
            return self._among
        if criterion.condition in IS_EQUAL:
            ids = (index.get(value) for index in tree.named.values() for value in criterion.values)
            return BitMap([id for id in ids if id is not None])
        fits = comparison(criterion)
        return BitMap([id for id in checked(self._among) if fits(tree.names[id])])

    def _by_name(self, criterion: Criterion) -> BitMap:
        if criterion.condition is Condition.EXISTS:
            return self._among
        fits = comparison(criterion)
        among = self._among
        if criterion.condition in IS_EQUAL | {Condition.IEQUAL}:
            terms = [name_term(value) for value in criterion.values]
            if all(terms):
                among = self._texts().matching([[Term(term) for term in terms]]) & among
        names = self._texts().names(among)
        return BitMap([id for id, name in checked(names.items()) if fits(name)])

    def _by_type(self, criterion: Criterion) -> BitMap:
        if criterion.condition is Condition.EXISTS:
            return self._among
        values = tuple(_type_word(value) for value in criterion.values)
        fits = comparison(Criterion(criterion.field, values, criterion.condition))
        kinds = (kind for kind in self._index.tree.kinds if kind and fits(_type_word(kind)))
        return self._index.of_types(tuple(kinds))

    def _by_platform(self, criterion: Criterion) -> BitMap:
        column = self._index.urns.platforms
        values = tuple(_platform_urn(value, criterion.condition) for value in criterion.values)
        platforms = Criterion("platform", values, criterion.condition)
        if criterion.condition in IS_EQUAL:
            ids = BitMap.union(BitMap(), *(column.matching(value) for value in values))
        else:
            ids = self._attribute_values(column.texts, column.numbered, platforms)
        return ids | self._by_aspect("platform", platforms)

    def _by_environment(self, criterion: Criterion) -> BitMap:
        environments = self._index.urns.environments
        ids = self._attribute_values(environments.texts, environments.numbered, criterion)
        if criterion.field == "env":
            ids |= self._by_aspect("env", criterion)
        return ids

    def _attribute_values(
        self, texts: tuple[str, ...], having: Callable[[int], BitMap], criterion: Criterion
    ) -> BitMap:
        fits = comparison(criterion)
        if criterion.condition is Condition.EXISTS:
            numbers = list(range(1, len(texts)))
        else:
            numbers = [number for number, text in enumerate(texts) if text and fits(text)]
        return BitMap.union(BitMap(), *map(having, numbers))

    def _soft_deleted(self, criterion: Criterion) -> BitMap:
        return self._flag(self._index.removed, criterion)

    def _by_browse_path(self, criterion: Criterion) -> BitMap:
        """The ids below a browse path at any depth; the condition is ignored.

        A path is a sequence of names, each prefixed with `␟`, or a single container. An entity with
        a path of its own is found by that path, all others by their containers.
        """
        own = self._texts().matching([[Term(field_term(_PATH))]]) if self._among else BitMap()
        links = self._index.links("container")
        if criterion.condition is Condition.EXISTS:
            return own | links.leading_to(links.distinct())
        ids = BitMap()
        for value in criterion.values:
            is_whole = value.startswith(searched.STEP)
            steps = value.removeprefix(searched.STEP).split(searched.STEP)
            ids |= self._texts().matching([[Term(value_term(_PATH, searched.path_text(steps)))]])
            if all(step.startswith(searched.CONTAINER) for step in steps):
                inside = self._contained(steps[-1])
                ids |= inside - own if is_whole else inside
        return ids & self._index.tree.stored

    def _contained(self, container: str) -> BitMap:
        """The ids in a container, at any depth."""
        links = self._index.links("container")
        containers = list(links.find(container))
        inner = self._with_hierarchy(containers, Condition.DESCENDANTS_INCL)
        return links.leading_to(inner) | (inner - BitMap(containers))


_PATH: Final = "browsePathV2"

_FIELDS: Final[dict[str, Callable[[Criteria, Criterion], BitMap]]] = {
    "_entityType": Criteria._by_type,
    _PATH: Criteria._by_browse_path,
    "env": Criteria._by_environment,
    "name": Criteria._by_name,
    "origin": Criteria._by_environment,
    "platform": Criteria._by_platform,
    "removed": Criteria._soft_deleted,
    "urn": Criteria._by_urn,
}


def _type_word(text: str) -> str:
    return text.replace("_", "").casefold()


def _platform_urn(value: str, condition: Condition) -> str:
    is_name = ":" not in value and condition in IS_EQUAL | {Condition.IEQUAL}
    return f"{PLATFORM}{value}" if is_name else value


def comparison(criterion: Criterion) -> Callable[[str], bool]:
    """A test whether a string matches one of the values."""
    values = criterion.values
    folded = [value.casefold() for value in values]
    match criterion.condition:
        case Condition.EQUAL | Condition.IN:
            return frozenset(values).__contains__
        case Condition.CONTAIN:
            return lambda text: any(value in text.casefold() for value in folded)
        case Condition.START_WITH:
            return lambda text: text.casefold().startswith(tuple(folded))
        case Condition.END_WITH:
            return lambda text: text.casefold().endswith(tuple(folded))
        case Condition.GREATER_THAN:
            return lambda text: any(a > b for a, b in _numbers(text, values))
        case Condition.GREATER_THAN_OR_EQUAL_TO:
            return lambda text: any(a >= b for a, b in _numbers(text, values))
        case Condition.LESS_THAN:
            return lambda text: any(a < b for a, b in _numbers(text, values))
        case Condition.LESS_THAN_OR_EQUAL_TO:
            return lambda text: any(a <= b for a, b in _numbers(text, values))
        case _:
            known = frozenset(folded)
            return lambda text: text.casefold() in known


def _numbers(text: str, values: Iterable[str]) -> Iterator[tuple[float, float]]:
    """A string with each of the values, if both are numbers."""
    for value in values:
        try:
            yield float(text), float(value)
        except ValueError:
            continue
