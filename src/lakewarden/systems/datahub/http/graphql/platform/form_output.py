"""Forms as the schema shows them, and those that are asked about an asset.

SOURCE: PDL records of forms, acryl-datahub 1.7.0.17.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.pages.part import Part, aspect, typed
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.listing import known, shown, stamp_field
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

HAVING_FORMS: Final = (
    *("Chart", "Container", "Dashboard", "DataFlow", "DataJob", "DataProduct", "Dataset"),
    *("Domain", "GlossaryNode", "GlossaryTerm", "CorpUser", "CorpGroup", "Application"),
    *("MLModel", "MLModelGroup", "MLFeature", "MLFeatureTable", "MLPrimaryKey"),
)
"""The types of assets that forms are asked about."""


def _info(form: Entity, info: Info) -> Part:
    return Part(form, info.context.aspect(form, "formInfo"))


def _actors(of: Part, _info: Info) -> Part:
    return of.part("actors") or Part(of.entity, {})


def _owners(of: Part, _info: Info) -> bool:
    return of.get("owners") is not False


def _people(key: str, type: str) -> Callable[..., Any]:
    def resolve(of: Part, info: Info) -> list[Entity]:
        found = (shown(info.context, one) for one in shapes.entities(of.texts(key), type))
        return [one for one in found if one is not None]

    return resolve


def _is_mine(of: Part, info: Info) -> bool:
    call: Call = info.context
    own = call.aspects([call.actor]).get(call.actor, {})
    groups = {
        urn
        for name, key in (("groupMembership", "groups"), ("nativeGroupMembership", "nativeGroups"))
        if name in own
        for urn in shapes.texts(own[name].value.get(key))
    }
    return call.actor.name in of.texts("users") or not groups.isdisjoint(of.texts("groups"))


def _form_urn(of: Part, _info: Info) -> str:
    return of.entity.name


def _property(of: Part, _info: Info) -> Entity | None:
    return shapes.entity(of.get("urn"), "structuredProperty")


def _form(key: str) -> Callable[..., Any]:
    def resolve(of: Part, info: Info) -> Entity | None:
        return shown(info.context, shapes.entity(of.get(key), "form"))

    return resolve


_PROMPTS: Final = ("STRUCTURED_PROPERTY", "FIELDS_STRUCTURED_PROPERTY", "OWNERSHIP")


def _look_up(_: object, info: Info, urn: str) -> Entity | None:
    return known(info.context, calls.entity(urn, "form"))


RESOLVERS: Final[Resolvers] = {
    "Query": {"form": _look_up},
    "Form": {"info": _info},
    "FormInfo": {
        "type": typed(otherwise="COMPLETION"),
        "actors": _actors,
    },
    "FormActorAssignment": {
        "owners": _owners,
        "users": _people("users", "corpuser"),
        "groups": _people("groups", "corpGroup"),
        "isAssignedToMe": _is_mine,
    },
    "FormPrompt": {
        "formUrn": _form_urn,
        "type": typed(otherwise=_PROMPTS[0]),
    },
    "StructuredPropertyParams": {"structuredProperty": _property},
    "OwnershipParams": {"cardinality": typed(otherwise="MULTIPLE")},
    **{type: {"forms": aspect("forms")} for type in HAVING_FORMS},
    "FormAssociation": {
        "form": _form("urn"),
        "associatedUrn": _form_urn,
    },
    "FormVerificationAssociation": {
        "form": _form("form"),
        "lastModified": stamp_field("lastModified"),
    },
    "FormPromptAssociation": {"lastModified": stamp_field("lastModified")},
    "FieldFormPromptAssociation": {"lastModified": stamp_field("lastModified")},
}
