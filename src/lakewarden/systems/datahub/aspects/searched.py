"""The search terms of an entity, from its name and its aspects.

Texts are names, descriptions, field paths, descriptions of fields, tags and terms, custom
properties and subtypes; the first name in an aspect is the display name. The terms also include the
targets of the entity's edges (`lakewarden.systems.datahub.aspects.edges`), those of columns last.
An entity without aspects has the name in its URN. Entities that hold permissions or secrets
(`UNSEARCHED`) are never found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.service.search_terms import (
    Indexed,
    field_term,
    name_term,
    name_term_of,
    value_term,
    words,
)
from lakewarden.systems.datahub.aspects import edges
from lakewarden.systems.datahub.aspects.fields import without_avro_type

URN: Final = "urn:li:"

UNSEARCHED: Final = frozenset(
    (
        *("dataHubAccessToken", "dataHubConnection", "dataHubExecutionRequest", "dataHubPolicy"),
        *("dataHubIngestionSource", "dataHubOAuthClient", "dataHubOAuthSession"),
        *("dataHubRetention", "dataHubSecret", "dataHubStepState", "dataHubUpgrade"),
        *("dataHubView", "globalSettings", "inviteToken", "platformResource", "telemetry"),
    )
)
"""Types that no search shows, for every caller."""

CONTAINER: Final = "urn:li:container:"
"""The prefix of URNs of containers."""

STEP: Final = "␟"
"""The prefix of each name of a browse path."""

MOST_STEPS: Final = 32
"""The maximum number of names of a path that count."""

MOST_BYTES: Final = 400_000
"""The maximum size in bytes of the terms of one entity; later terms do not count."""

_NAMES: Final = ("name", "title", "displayName", "fullName", "qualifiedName", "username")
_TEXTS: Final = (
    "description",
    "definition",
    "aboutMe",
    "email",
    "documentation",
    "shortDescription",
)
_INNER: Final = re.compile(r"urn:li:\w+:")
_OUTER: Final = frozenset({"schemaField", "dataJob"})

_FIRST: Final = (
    *("editableDatasetProperties", "editableContainerProperties", "editableDashboardProperties"),
    *("editableChartProperties", "editableDataJobProperties", "editableDataFlowProperties"),
    "corpUserEditableInfo",
)
"""Aspects whose names take precedence as display names."""

FIELDS: Final = frozenset(
    (
        *("typeNames", "customProperties", "fieldTags", "fieldGlossaryTerms", "fieldPaths"),
        *("platform", "env", "description", "email", "browsePathV2"),
    )
)
"""The fields by which documents are looked up; others are facts, or unknown."""

Values = Mapping[str, Mapping[str, Any]]
"""Aspects by name."""


def is_searched(entity: Entity) -> bool:
    """Whether a search may ever show the entity."""
    return entity.name.startswith(URN) and entity.type not in UNSEARCHED


def name_in_urn(entity: Entity) -> str:
    """The name in a URN.

    >>> name_in_urn(Entity("dataset", "urn:li:dataset:(urn:li:dataPlatform:hive,a.b,PROD)"))
    'a.b'
    """
    return _label(entity, _inner_key(entity.name))


def name_terms(entity: Entity) -> Indexed:
    """The index entry of an entity without aspects. A bulk load calls it for each entity."""
    inner = _inner_key(entity.name)
    name = _label(entity, inner)
    own = words(name)
    terms = {f"n{term}": None for term in own}
    terms[name_term_of(own)] = None
    if "." in name:
        terms[name_term(name.rpartition(".")[2])] = None
    if name != inner:
        split = inner.rpartition if entity.type in _OUTER else inner.partition
        before, _, after = split(f",{name}")
        _add_terms(terms, (*_common_words(before), *_common_words(after)))
    terms.pop("", None)
    return Indexed(name, " ".join(terms))


@lru_cache(maxsize=10_000)
def _common_words(text: str) -> tuple[str, ...]:
    """Words that occur in many names."""
    return tuple(words(text))


def index_entry(entity: Entity, aspects: Values) -> Indexed:
    """The index entry of an entity with aspects."""
    if not aspects:
        return name_terms(entity)
    inner = _inner_key(entity.name)
    label = _label(entity, inner)
    names = list(_names(aspects))
    terms = _terms_of_names(inner, [*names, label])
    stated_edges = list(edges.stated_edges(entity, aspects))
    terms.update(dict.fromkeys(edges.terms(stated_edges, of_columns=False)))
    _add_terms(terms, (term for text in _texts(aspects) for term in words(text)))
    for field, values in fields(aspects).items():
        if values:
            terms[field_term(field)] = None
        for value in values if field != "description" else ():
            terms[value_term(field, value)] = None
            terms[value_term(field, value, folded=True)] = None
    terms.update(dict.fromkeys(edges.terms(stated_edges, of_columns=True)))
    return Indexed(names[0] if names else label, " ".join(_limited_terms(terms)))


def display_name(entity: Entity, aspects: Values) -> str:
    """The display name."""
    return next(_names(aspects), "") or name_in_urn(entity)


def fields(aspects: Values) -> dict[str, list[str]]:
    """The values of `FIELDS` that the aspects contain."""
    values_by_field: dict[str, list[str]] = {name: [] for name in FIELDS}
    values_by_field["typeNames"] += _strings(aspects.get("subTypes", {}).get("typeNames"))
    platform = aspects.get("dataPlatformInstance", {}).get("platform")
    values_by_field["platform"] += _strings([platform])
    for value in aspects.values():
        values_by_field["description"] += [
            text for text in _strings([value.get("description")]) if text
        ]
        values_by_field["env"] += _strings([value.get("env")])
        values_by_field["email"] += [text for text in _strings([value.get("email")]) if text]
        properties = value.get("customProperties")
        if isinstance(properties, Mapping):
            values_by_field["customProperties"] += [f"{k}={v}" for k, v in properties.items()]
    steps = [name for name, _ in browse_path(aspects)]
    values_by_field["browsePathV2"] += [path_text(steps[: end + 1]) for end in range(len(steps))]
    for column in _columns(aspects):
        values_by_field["fieldPaths"] += _strings([column.get("fieldPath")])
        values_by_field["fieldTags"] += _associated_urns(column, "globalTags", "tags", "tag")
        values_by_field["fieldGlossaryTerms"] += _associated_urns(
            column, "glossaryTerms", "terms", "urn"
        )
    return {name: list(dict.fromkeys(values)) for name, values in values_by_field.items()}


def browse_path(aspects: Values) -> list[tuple[str, str]]:
    """The place of an entity when browsing: names, each with a URN if it has one.

    Empty if the path consists of its containers, or is unknown.
    """
    listed = without_avro_type(aspects.get("browsePathsV2", {}).get("path"))
    steps = []
    for step in listed if isinstance(listed, list) else ():
        name = without_avro_type(step.get("id")) if isinstance(step, Mapping) else None
        if isinstance(name, str) and name:
            urn = without_avro_type(step.get("urn"))
            steps.append((name, urn if isinstance(urn, str) else ""))
    is_of_containers = all(name.startswith(CONTAINER) for name, _ in steps)
    return [] if is_of_containers else steps[:MOST_STEPS]


def path_text(steps: Iterable[str]) -> str:
    """A path as a value of the field `browsePathV2`."""
    return "".join(f"{STEP}{name}" for name in steps)


def _terms_of_names(inner: str, names: Iterable[str]) -> dict[str, None]:
    """The terms of names, and of the other words in the URN."""
    terms: dict[str, None] = {}
    for name in names:
        for term in words(name):
            terms[f"n{term}"] = None
        terms[name_term(name)] = None
        if "." in name:
            terms[name_term(name.rpartition(".")[2])] = None
    _add_terms(terms, words(inner))
    terms.pop("", None)
    return terms


def _add_terms(terms: dict[str, None], added: Iterable[str]) -> None:
    """Adds the words that occur in no name."""
    for term in added:
        if f"n{term}" not in terms:
            terms[f"w{term}"] = None


def _limited_terms(terms: Mapping[str, None]) -> Iterator[str]:
    remaining = MOST_BYTES
    for term in terms:
        remaining -= len(term.encode()) + 1
        if remaining < 0:
            return
        yield term


def _inner_key(urn: str) -> str:
    """The key without the prefixes of URNs in it."""
    return _INNER.sub("", urn)


def _label(entity: Entity, inner: str) -> str:
    if not inner.startswith("("):
        return inner
    parts = inner.strip("()").split(",")
    if entity.type in _OUTER:
        return inner[:-1].rpartition(",")[2]
    return parts[1] if len(parts) > 1 else parts[0]


def _names(aspects: Values) -> Iterator[str]:
    """The names in aspects, those for display first."""
    order = [name for name in _FIRST if name in aspects]
    order += sorted(name for name in aspects if name not in _FIRST and not name.endswith("Key"))
    for key in _NAMES:
        for aspect in order:
            yield from (text for text in _strings([aspects[aspect].get(key)]) if text)


def _texts(aspects: Values) -> Iterator[str]:
    for value in aspects.values():
        yield from _strings([value.get(key) for key in _TEXTS])
    for field, values in fields(aspects).items():
        if field not in ("description", "platform", "browsePathV2"):
            yield from (_INNER.sub("", text) for text in values)
    for column in _columns(aspects):
        yield from _strings([column.get("description")])
    for of, list, key in (("globalTags", "tags", "tag"), ("glossaryTerms", "terms", "urn")):
        yield from (_INNER.sub("", text) for text in _associated_urns(aspects, of, list, key))


def _columns(aspects: Values) -> Iterator[Mapping[str, Any]]:
    for aspect, key in (
        ("schemaMetadata", "fields"),
        ("editableSchemaMetadata", "editableSchemaFieldInfo"),
    ):
        columns = aspects.get(aspect, {}).get(key)
        for column in columns if isinstance(columns, list) else ():
            if isinstance(column, Mapping):
                yield column


def _associated_urns(holder: Mapping[str, Any], of: str, list_key: str, key: str) -> list[str]:
    """The URNs of the tags or terms of an entity or a field."""
    value = without_avro_type(holder.get(of))
    items = value.get(list_key) if isinstance(value, Mapping) else None
    listed = items if isinstance(items, list) else ()
    values = [item.get(key) for item in listed if isinstance(item, Mapping)]
    return _strings(values)


def _strings(values: object) -> list[str]:
    """The strings among values, without the names of their Avro types."""
    if not isinstance(values, list):
        return []
    return [text for text in map(without_avro_type, values) if isinstance(text, str)]
