"""How what the platform keeps is deleted: a table of kinds, by mutation.

Kinds that ask more than one operation, or take more with them, are deleted in their own modules.
SOURCE: datahub reference 1.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from graphql import GraphQLBoolean, get_named_type

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.authorization import Ask
from lakewarden.systems.datahub.http.graphql.platform.draft import Draft, write, write_all
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers


class Kind(NamedTuple):
    """What is deleted, and the operation that is asked about `target`; None: about itself."""

    type: str
    operation: str
    target: Entity | None = NO_RESOURCE
    audited_as: str = ""
    """The name of the entity in the audit trail; empty: the trail has it as the target."""


_KINDS: Final = {
    "deleteApplication": Kind(
        "application", "entity.manage", Entity("application", ""), "application"
    ),
    "deleteBusinessAttribute": Kind(
        "businessAttribute", "business_attribute.manage", audited_as="businessAttribute"
    ),
    "deleteConnection": Kind("dataHubConnection", "connection.manage", audited_as="connection"),
    "deleteDocument": Kind("document", "entity.delete", None),
    "deleteForm": Kind("form", "form.manage", audited_as="form"),
    "deleteIngestionSource": Kind("dataHubIngestionSource", "entity.delete", None),
    "deletePost": Kind("post", "home_post.delete", audited_as="post"),
    "deleteSecret": Kind("dataHubSecret", "secret.manage", audited_as="secret"),
    "deleteStructuredProperty": Kind(
        *("structuredProperty", "structured_property.manage", Entity("structuredProperty", "")),
        audited_as="property",
    ),
    "deleteTest": Kind("test", "test.manage", audited_as="test"),
}


def _deleting(kind: Kind) -> Callable[..., bool | str]:
    def delete(_: object, info: Info, **given: Any) -> bool | str:
        entity = _entity(given, kind.type)
        target = entity if kind.target is None else kind.target
        audited = {kind.audited_as: entity.name} if kind.audited_as else None
        write(info.context, kind.operation, target, lambda draft: draft.drop(entity), audited)
        return get_named_type(info.return_type) == GraphQLBoolean or entity.name

    return delete


def deleting(type: str, asks: Callable[[Draft, Entity], Sequence[Ask]]) -> Callable[..., bool]:
    """The resolver that deletes an entity of a type which decides itself what is asked."""

    def delete(_: object, info: Info, **given: Any) -> bool:
        entity = _entity(given, type)
        write_all(info.context, lambda draft: asks(draft, entity), lambda draft: draft.drop(entity))
        return True

    return delete


def _entity(given: Mapping[str, Any], type: str) -> Entity:
    """What the mutation's `urn`, or that of its `input`, names; raises `Failure` 400."""
    return calls.entity(given.get("input", given)["urn"], type)


RESOLVERS: Final[Resolvers] = {
    "Mutation": {name: _deleting(kind) for name, kind in _KINDS.items()},
}
