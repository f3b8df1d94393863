"""The value of an aspect for facts that were not written as that aspect.

Entities may come from files that only contain facts, and owners, tags or grants may change through
our own API. An aspect must agree with the stored facts: a written value is kept if it still states
them; otherwise its lists are derived from them.

SOURCE: shapes of the aspects, datahub reference 6.7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import ALL_USERS, ANY_GROUP, GROUP, ROLE, USER
from lakewarden.kernel.relations import AttributeRow, MembershipRow, OwnerRow, RelationRow
from lakewarden.kernel.statement import Criterion, Statement, Where
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects.facts import Fact, Placement, stated_facts
from lakewarden.systems.datahub.aspects.fields import without_avro_type

Value = dict[str, Any]
"""An aspect, as JSON."""

SYSTEM_TYPES: Final[Mapping[str, str]] = {
    "urn:li:ownershipType:__system__technical_owner": "TECHNICAL_OWNER",
    "urn:li:ownershipType:__system__business_owner": "BUSINESS_OWNER",
    "urn:li:ownershipType:__system__data_steward": "DATA_STEWARD",
    "urn:li:ownershipType:__system__none": "NONE",
}
"""The ownership types that every DataHub has, and their older enum values."""

_UNKNOWN_ACTOR = "urn:li:corpuser:unknown"
_NEVER = {"time": 0, "actor": _UNKNOWN_ACTOR}


def consistent_value(
    entity: Entity, aspect: str, value: Value | None, facts: frozenset[Fact], model: Model
) -> Value | None:
    """The aspect for readers: it states exactly the `facts`. None if there is none.

    `value` is the written value, if any.
    """
    if _stated_facts(entity, aspect, value, model) == facts:
        return value
    if not facts and value is None:
        return None
    return _RENDERERS[aspect](RenderInput(entity, dict(value or {}), facts, model))


def _stated_facts(
    entity: Entity, aspect: str, value: Value | None, model: Model
) -> frozenset[Fact]:
    if value is None:
        return frozenset()
    try:
        return stated_facts(entity, aspect, value, model, datahub)
    except BadInput:
        return frozenset()


class RenderInput(NamedTuple):
    """The input of a renderer: the written value (a copy), and the stored facts."""

    entity: Entity
    value: Value
    facts: frozenset[Fact]
    model: Model


Renderer = Callable[[RenderInput], Value]


def _list_renderer(aspect: str, key: str, render_fact: Callable[[Fact], object]) -> Renderer:
    """A list whose members state one fact each: others are removed, missing ones are added."""

    def render(input: RenderInput) -> Value:
        remaining, unrendered = [], set(input.facts)
        members = without_avro_type(input.value.get(key))
        for member in members if isinstance(members, list) else ():
            facts = _stated_facts(input.entity, aspect, {key: [member]}, input.model)
            if facts and facts <= unrendered:
                remaining.append(member)
                unrendered -= facts
        return {
            **input.value,
            key: [*remaining, *(render_fact(fact) for fact in sorted(unrendered, key=repr))],
        }

    return render


def _text_of(fact: Fact) -> object:
    match fact:
        case RelationRow(_, _, target):
            return target.name
        case MembershipRow(_, of):
            return of.name
    raise AssertionError(fact)


def _under(key: str) -> Callable[[Fact], object]:
    return lambda fact: {key: _text_of(fact)}


def _owner(fact: Fact) -> object:
    match fact:
        case OwnerRow(_, owner, ""):
            return {"owner": owner.name, "type": "NONE"}
        case OwnerRow(_, owner, ownership):
            type = SYSTEM_TYPES.get(ownership, "CUSTOM")
            return {"owner": owner.name, "type": type, "typeUrn": ownership}
    raise AssertionError(fact)


def _ownership(input: RenderInput) -> Value:
    value = _list_renderer("ownership", "owners", _owner)(input)
    value.pop("ownerTypes", None)
    return {"lastModified": _NEVER, **value}


def _domains(input: RenderInput) -> Value:
    edges = [fact for fact in input.facts if isinstance(fact, RelationRow)]
    names = sorted({edge.target.name for edge in edges if edge.kind == "domain"})
    of_product = sorted({edge.target.name for edge in edges if edge.kind != "domain"})
    value: Value = {"domains": names}
    if of_product and of_product != names:
        value["domainAssociations"] = [{"domain": name} for name in of_product]
    return value


def _terms(input: RenderInput) -> Value:
    return {"auditStamp": _NEVER, **_list_renderer("glossaryTerms", "terms", _under("urn"))(input)}


def _single_renderer(key: str) -> Renderer:
    """A field that names one entity; the other fields of the aspect stay."""

    def render(input: RenderInput) -> Value:
        input.value.pop(key, None)
        for fact in input.facts:
            reference_text = fact.parent.name if isinstance(fact, Placement) else _text_of(fact)
            input.value[key] = reference_text
        return input.value

    return render


def _instance(input: RenderInput) -> Value:
    value = _single_renderer("instance")(input)
    if "platform" not in value and "instance" in value:
        value["platform"] = datahub.key_parts(value["instance"])[0]
    return value


def _logical(input: RenderInput) -> Value:
    parents = [{"destinationUrn": _text_of(fact)} for fact in input.facts]
    return {"parent": parents[0]} if parents else {}


def _status(input: RenderInput) -> Value:
    return {**input.value, "removed": bool(input.facts)}


def _properties(input: RenderInput) -> Value:
    values: dict[str, list[object]] = {}
    for fact in sorted(input.facts, key=repr):
        if isinstance(fact, AttributeRow):
            values.setdefault(fact.attribute, []).append({"string": fact.value})
    return {"properties": [{"propertyUrn": urn, "values": v} for urn, v in values.items()]}


def policy_of(statement: Statement, model: Model) -> Value:
    """Converts a statement to a policy: the reverse of `lakewarden.systems.datahub.aspects.policy`.

    A statement does not contain the policy's type; if all its privileges are checked without a
    resource, it is a platform policy.
    """
    actors: Value = {"resourceOwners": False, "allUsers": False, "allGroups": False}
    for key, kind in (("users", USER), ("groups", GROUP), ("roles", ROLE)):
        actors[key] = sorted(p.name for p in statement.principals if p.kind == kind)
    actors["allUsers"] = ALL_USERS in statement.principals
    actors["allGroups"] = ANY_GROUP in statement.principals
    if statement.owners is not None:
        actors["resourceOwners"] = True
        if statement.owners.types is not None:
            actors["resourceOwnersTypes"] = sorted(statement.owners.types)
    value: Value = {
        "displayName": statement.title or statement.id,
        "description": "",
        "type": "PLATFORM" if _is_platform(statement, model) else "METADATA",
        "state": "ACTIVE" if statement.active else "INACTIVE",
        "privileges": sorted(statement.privileges),
        "actors": actors,
        "editable": not is_immutable(statement.id, model),
    }
    resources: Value = {}
    if isinstance(statement.scope, Where):
        resources["filter"] = {"criteria": [_criterion(c) for c in statement.scope.criteria]}
    if statement.constraint is not None:
        resources["privilegeConstraints"] = {
            "criteria": [_criterion(c) for c in statement.constraint]
        }
    return {**value, "resources": resources} if resources else value


def _is_platform(statement: Statement, model: Model) -> bool:
    bound = isinstance(statement.scope, Where) or statement.constraint is not None
    return not bound and all(not model.privilege(name).on for name in statement.privileges)


def is_immutable(policy: str, model: Model, value: Mapping[str, Any] | None = None) -> bool:
    """Whether a policy is shipped with the system and immutable, or was written as immutable."""
    if value is not None and without_avro_type(value.get("editable")) is False:
        return True
    return policy in model.immutable_ids


def _criterion(criterion: Criterion) -> Value:
    return {
        "field": criterion.field,
        "condition": criterion.condition.value,
        "values": list(criterion.values),
    }


def _policy(input: RenderInput) -> Value:
    for fact in input.facts:
        if isinstance(fact, Statement):
            return {**input.value, **policy_of(fact, input.model)}
    return {**input.value, "state": "INACTIVE"}


_RENDERERS: Final[Mapping[str, Renderer]] = {
    "container": _single_renderer("container"),
    "dataHubPolicyInfo": _policy,
    "dataPlatformInstance": _instance,
    "dataProductProperties": _list_renderer(
        "dataProductProperties", "assets", _under("destinationUrn")
    ),
    "domainProperties": _single_renderer("parentDomain"),
    "domains": _domains,
    "globalTags": _list_renderer("globalTags", "tags", _under("tag")),
    "glossaryNodeInfo": _single_renderer("parentNode"),
    "glossaryTermInfo": _single_renderer("parentNode"),
    "glossaryTerms": _terms,
    "groupMembership": _list_renderer("groupMembership", "groups", _text_of),
    "logicalParent": _logical,
    "nativeGroupMembership": _list_renderer("nativeGroupMembership", "nativeGroups", _text_of),
    "ownership": _ownership,
    "querySubjects": _list_renderer("querySubjects", "subjects", _under("entity")),
    "roleMembership": _list_renderer("roleMembership", "roles", _text_of),
    "status": _status,
    "structuredProperties": _properties,
}
"""The same aspects as in `lakewarden.systems.datahub.aspects.meaning.READERS`."""
