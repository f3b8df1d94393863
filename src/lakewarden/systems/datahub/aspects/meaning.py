"""The meaning of each aspect of a DataHub entity for authorization, as normalised rows.

Aspects that are not in `READERS` only mean that their entity exists. A malformed aspect raises
`BadInput`. A name in an aspect that is not a URN, or a URN of the wrong type, gives a rejected row,
so it is set aside and not lost. If the kind of owner or the type of a target decides, nothing is
guessed.

SOURCE: datahub reference 3.5, 3.6 and 6.7.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal
from lakewarden.kernel.relations import REMOVED
from lakewarden.names.canonical import quoted
from lakewarden.service.source_row import (
    BAD_NAME,
    At,
    Row,
    attribute_row,
    membership_row,
    owner_row,
    placement_row,
    relation_row,
)
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects.fields import Fields
from lakewarden.systems.datahub.aspects.policy import policy

Reader = Callable[[Entity, Fields, At], Iterator[Row]]

_NEVER_MARKED: Final = frozenset({"dataHubPolicy", "dataHubRole", "dataHubAccessToken"})
"""Types that grant access, and would continue to grant it while marked as removed."""

_KIND_WORDS = {USER: "user", GROUP: "group", ROLE: "role"}


def rows(entity: Entity, aspect: str, value: Fields, place: str, model: Model) -> list[Row]:
    """The rows of one aspect, some of them rejected; raises `BadInput` if it is malformed."""
    return list(READERS[aspect](entity, value, At(place, model)))


def _ownership(entity: Entity, value: Fields, at: At) -> Iterator[Row]:
    """The ownership type of an owner is its `typeUrn`; the older enum `type` is not read.

    The original compares typed policies only with the URN, so an enum value never matches. SOURCE:
    datahub reference 3.5.
    """
    for item in value.objects("owners"):
        owner, problem = _actor(item.text("owner"), USER, GROUP)
        ownership = item.text_or_none("typeUrn") or ""
        if ownership and not problem:
            _, problem = target(ownership, frozenset({"ownershipType"}))
        yield _checked_row(owner_row(entity, owner, ownership, at.place), problem)


def _edge(kind: str, entity: Entity, urn: str, at: At) -> Row:
    """An edge of a declared kind; rejected if the model has none between these types."""
    relation = at.model.relations[kind]
    linked, problem = target(urn, relation.targets)
    if relation.sources and entity.type not in relation.sources:
        problem = f"`{kind}` does not lead from a {quoted(entity.type)}"
    return _checked_row(relation_row(kind, entity, linked, at.place), problem)


def _domains(entity: Entity, value: Fields, at: At) -> Iterator[Row]:
    domains = value.texts("domains")
    for urn in domains:
        yield _edge("domain", entity, urn, at)
    associated = [item.text("domain") for item in value.objects("domainAssociations")]
    if entity.type == "dataProduct":
        for urn in associated or domains:
            yield _edge("product_domain", entity, urn, at)


def _parent_reader(key: str, type: str, of: str) -> Reader:
    """The parent in a field of an aspect, for entities of one type."""

    def read(entity: Entity, value: Fields, at: At) -> Iterator[Row]:
        urn = value.text_or_none(key)
        if urn is not None:
            parent, problem = target(urn, frozenset({type}))
            if entity.type != of:
                problem = f"expected a {of} with `{key}`, got {quoted(entity.name)}"
            yield _checked_row(placement_row(entity, parent, at.place), problem)

    return read


def _container(entity: Entity, value: Fields, at: At) -> Iterator[Row]:
    """The parent of entities that the model places in containers; for others, a relation."""
    urn = value.text("container")
    declared = at.model.types.get(entity.type)
    placed = declared is not None and "container" in declared.parents
    if placed and datahub.parent(entity) is None:
        container, problem = target(urn, frozenset({"container"}))
        yield _checked_row(placement_row(entity, container, at.place), problem)
    else:
        yield _edge("container", entity, urn, at)


def _edge_reader(kind: str, key: str, field: str) -> Reader:
    """Edges to the entities in a field of each member of a list."""

    def read(entity: Entity, value: Fields, at: At) -> Iterator[Row]:
        for item in value.objects(key):
            yield _edge(kind, entity, item.text(field), at)

    return read


def _instance(entity: Entity, value: Fields, at: At) -> Iterator[Row]:
    urn = value.text_or_none("instance")
    if urn is not None:
        yield _edge("platform_instance", entity, urn, at)


def _logical_parent(entity: Entity, value: Fields, at: At) -> Iterator[Row]:
    parent = value.object_or_none("parent")
    if parent is not None:
        yield _edge("logical_parent", entity, parent.text("destinationUrn"), at)


def _membership_reader(key: str, kind: str) -> Reader:
    """The groups or roles of a user (or a group)."""

    def read(entity: Entity, value: Fields, at: At) -> Iterator[Row]:
        member, problem = _actor(entity.name, USER, *((GROUP,) if kind == ROLE else ()))
        for urn in value.texts(key):
            of, wrong = _actor(urn, kind)
            yield _checked_row(membership_row(member, of, at.place), problem or wrong)

    return read


def _status(entity: Entity, value: Fields, at: At) -> Iterator[Row]:
    """Soft deletion. SOURCE: entity-registry.yml, where some types have no `status`."""
    if value.flag("removed"):
        marked = f"a {quoted(entity.type)} is not marked as removed but deleted"
        problem = marked if entity.type in _NEVER_MARKED else ""
        yield _checked_row(attribute_row(entity, REMOVED, "true", at.place), problem)


def _properties(entity: Entity, value: Fields, at: At) -> Iterator[Row]:
    for item in value.objects("properties"):
        urn = item.text("propertyUrn")
        _, problem = target(urn, frozenset({"structuredProperty"}))
        for index, member in enumerate(item.values("values")):
            text = _property_text(member, f"{item.at('values')}[{index}]")
            wrong = "a NUL is no text" if "\0" in text else problem
            yield _checked_row(attribute_row(entity, urn, text, at.place), wrong)


def _property_text(value: object, where: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise BadInput("expected a string or a number", where=where)
    if abs(value) > sys.float_info.max:
        raise BadInput("expected a number that a double can be", where=where)
    return java_double(float(value))


def java_double(value: float) -> str:
    """A number as Java formats a double, in which values of properties are compared.

    The shortest digits that parse to the same value, as of Java 19.

    >>> java_double(10.0), java_double(12345678.5), java_double(-0.0001)
    ('10.0', '1.23456785E7', '-1.0E-4')
    """
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits)).rstrip("0")
    magnitude = len(digits) - 1 + int(exponent)
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{magnitude}"


# Owners, tags and domains repeat often.
@lru_cache(maxsize=65_536)
def target(urn: str, types: frozenset[str]) -> tuple[Entity, str]:
    """The entity of a URN, and the problem with it; with no types, any type is valid."""
    try:
        type = datahub.urn_type(urn)
    except BadInput as error:
        return Entity("", urn), error.message
    if types and type not in types:
        expected = " or ".join(sorted(types))
        return Entity(type, urn), f"expected the URN of a {expected}, got {quoted(urn)}"
    return Entity(type, urn), ""


@lru_cache(maxsize=65_536)
def _actor(urn: str, *kinds: str) -> tuple[Principal, str]:
    try:
        principal = datahub.actor(urn)
    except BadInput as error:
        return Principal("", urn), error.message
    if principal.kind in kinds:
        return principal, ""
    expected = " or ".join(_KIND_WORDS[kind] for kind in kinds)
    return principal, f"expected the URN of a {expected}, got {quoted(urn)}"


def _checked_row(row: Row, problem: str) -> Row:
    return row.rejected(BAD_NAME, problem) if problem else row


READERS: Final[Mapping[str, Reader]] = {
    "container": _container,
    "dataHubPolicyInfo": policy,
    "dataPlatformInstance": _instance,
    "dataProductProperties": _edge_reader("asset", "assets", "destinationUrn"),
    "domainProperties": _parent_reader("parentDomain", "domain", "domain"),
    "domains": _domains,
    "globalTags": _edge_reader("tag", "tags", "tag"),
    "glossaryNodeInfo": _parent_reader("parentNode", "glossaryNode", "glossaryNode"),
    "glossaryTermInfo": _parent_reader("parentNode", "glossaryNode", "glossaryTerm"),
    "glossaryTerms": _edge_reader("term", "terms", "urn"),
    "groupMembership": _membership_reader("groups", GROUP),
    "logicalParent": _logical_parent,
    "nativeGroupMembership": _membership_reader("nativeGroups", GROUP),
    "ownership": _ownership,
    "querySubjects": _edge_reader("subject", "subjects", "entity"),
    "roleMembership": _membership_reader("roles", ROLE),
    "status": _status,
    "structuredProperties": _properties,
}
"""The aspects that have a meaning here."""
