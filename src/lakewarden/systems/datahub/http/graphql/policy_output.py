"""A stored policy as the schema shows it.

An aspect may have been written in either spelling of JSON
(`lakewarden.systems.datahub.aspects.fields`), and may hold words that the schema has not; these
are shown as what they count for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects.fields import Fields
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_STATES: Final = ("DRAFT", "ACTIVE", "INACTIVE")
_CONDITIONS: Final = ("EQUALS", "STARTS_WITH", "NOT_EQUALS")
_URN: Final = "urn:li:"


class Policy(NamedTuple):
    """A policy's URN and its aspect."""

    urn: str
    value: Mapping[str, Any]

    @property
    def name(self) -> str:
        return Fields(self.value, self.urn).text("displayName")

    @property
    def description(self) -> str:
        return Fields(self.value, self.urn).text_or_none("description") or ""

    @property
    def state(self) -> str:
        """One of the schema's words; what is no word of it does not grant."""
        word = Fields(self.value, self.urn).text_or_none("state")
        return word if word in _STATES else "INACTIVE"

    @property
    def editable(self) -> bool:
        return Fields(self.value, self.urn).flag("editable", default=True)

    @property
    def changed(self) -> int:
        """When it was changed last, in milliseconds; 0: nobody knows."""
        time = Fields(self.value, self.urn).raw("lastUpdatedTimestamp")
        return time if isinstance(time, int) else 0


def shown(policy: Policy) -> Mapping[str, Any]:
    """The policy, its members as the schema names them."""
    fields = Fields(policy.value, policy.urn)
    resources, actors = fields.object_or_none("resources"), fields.object_or_none("actors")
    return {
        "urn": policy.urn,
        "type": "PLATFORM" if fields.raw("type") == "PLATFORM" else "METADATA",
        "name": policy.name,
        "state": policy.state,
        "description": policy.description,
        "resources": None if resources is None else _resources(resources),
        "privileges": fields.texts("privileges"),
        "actors": _actors(actors or Fields({}, policy.urn)),
        "editable": policy.editable,
    }


def _resources(fields: Fields) -> Mapping[str, Any]:
    constraints = _match(fields, "privilegeConstraints")
    return {
        "type": fields.text_or_none("type"),
        "resources": _texts(fields, "resources"),
        "allResources": fields.flag("allResources"),
        "filter": _match(fields, "filter"),
        "privilegeConstraints": constraints,
        "policyConstraints": constraints,
    }


def _match(fields: Fields, key: str) -> Mapping[str, Any] | None:
    found = fields.object_or_none(key)
    if found is None:
        return None
    return {"criteria": [_criterion(one) for one in found.objects("criteria")]}


def _criterion(fields: Fields) -> Mapping[str, Any]:
    condition = fields.text_or_none("condition")
    properties = fields.objects("structuredPropertyValues")
    return {
        "field": fields.text("field"),
        "values": [{"value": text} for text in fields.texts("values")],
        "condition": condition if condition in _CONDITIONS else "EQUALS",
        "structuredPropertyValues": [
            {"propertyUrn": one.text("propertyUrn"), "values": one.texts("values")}
            for one in properties
        ]
        or None,
    }


def _actors(fields: Fields) -> Mapping[str, Any]:
    types = _texts(fields, "resourceOwnersTypes")
    return {
        "users": _texts(fields, "users"),
        "groups": _texts(fields, "groups"),
        "roles": _texts(fields, "roles"),
        "allUsers": fields.flag("allUsers"),
        "allGroups": fields.flag("allGroups"),
        "resourceOwners": fields.flag("resourceOwners"),
        "resourceOwnersTypes": types,
        "resourceOwnersTypesUrns": types,
    }


def _texts(fields: Fields, key: str) -> list[str] | None:
    """A list of texts; None where there is none, which is not the same as an empty one."""
    return fields.texts(key) if key in fields else None


def _resolved(key: str, type: str) -> Callable[..., list[Entity] | None]:
    """The entities of the URNs under a key, of the type, as far as the caller is shown them."""

    def resolve(actors: Mapping[str, Any], info: Info) -> list[Entity] | None:
        urns = actors[key]
        return None if urns is None else _entities(info.context, urns, type)

    return resolve


def _entities(call: Call, urns: Iterable[str], type: str) -> list[Entity]:
    found = [entity for urn in urns if (entity := _entity(urn)) is not None and entity.type == type]
    shown = authorization.visible(call, found)
    call.together(shown)
    return shown


def _entity(text: str) -> Entity | None:
    try:
        return datahub.parse("", text) if text.startswith(_URN) else None
    except BadInput:
        return None


def _named(value: Mapping[str, str], info: Info) -> Entity | None:
    """The entity that a criterion's value names, if it is there and the caller is shown it."""
    call: Call = info.context
    entity = _entity(value["value"])
    if entity is None or not call.state.matrix.snapshot.coded.is_known(entity):
        return None
    return entity if authorization.visible(call, [entity]) else None


RESOLVERS: Final[Resolvers] = {
    "ActorFilter": {
        "resolvedUsers": _resolved("users", "corpuser"),
        "resolvedGroups": _resolved("groups", "corpGroup"),
        "resolvedRoles": _resolved("roles", "dataHubRole"),
        "resolvedOwnershipTypes": _resolved("resourceOwnersTypes", "ownershipType"),
    },
    "PolicyMatchCriterionValue": {"entity": _named},
}
