"""Documents: texts that are stored beside the assets, in their own hierarchy.

SOURCE: datahub reference 1.1, 5.4; datahub-project/datahub:…/resolvers/knowledge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.platform import document_output, shapes
from lakewarden.systems.datahub.http.graphql.platform.aspect_write import (
    AspectChanges,
    Kind,
    Read,
    change,
    creation,
    deletion,
)
from lakewarden.systems.datahub.http.graphql.platform.document_output import (
    ASPECT,
    SETTINGS,
    SUBTYPES,
    TYPE,
    parent_of,
)
from lakewarden.systems.datahub.http.graphql.records import Input, Member, provided_members
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value

_CHANGE: Final = "document.change"
_PARENT: Final = "parentDocument"
_TECHNICAL: Final = "urn:li:ownershipType:__system__technical_owner"


def _owners(_: Call, argument: str, input: Input) -> list[Value]:
    return [_owner(owner) for owner in input[argument]]


def _owner(input: Input) -> Value:
    owner = calls.entity(input["ownerUrn"], "corpuser", "corpGroup")
    type = input.get("ownershipTypeUrn")
    typed = {} if type is None else {"typeUrn": calls.entity(type, "ownershipType").name}
    return {"owner": owner.name, "type": input.get("type") or "NONE", **typed}


def _place(changes: AspectChanges, document: Entity, value: Value, input: Input) -> None:
    if input.get(_PARENT) is not None:
        value[_PARENT] = _parent(changes, document, input[_PARENT])


def _put_other_aspects(changes: AspectChanges, document: Entity, input: Input) -> None:
    _put_given_subtype(changes, document, input)
    is_shown = (input.get("settings") or {}).get("showInGlobalContext") is not False
    stamp = {"lastModified": changes.stamp}
    changes.put(document, SETTINGS, {"showInGlobalContext": is_shown, **stamp})
    creator = {"owner": changes.call.actor.name, "type": "TECHNICAL_OWNER", "typeUrn": _TECHNICAL}
    changes.put(document, "ownership", {"owners": input.get("owners") or [creator], **stamp})


def _urn_list(member: str, *types: str) -> Callable[[Iterable[str]], list[Value]]:
    return lambda urns: [{member: calls.entity(urn, *types).name} for urn in urns]


def _parent(changes: AspectChanges, document: Entity, urn: str) -> Value:
    """The parent, which must not be the document itself or one of its descendants."""
    parent = calls.entity(urn, TYPE)
    changes.check_exists(parent)
    above: Entity | None = parent
    visited: set[Entity] = set()
    while above is not None and above not in visited:
        if above == document:
            raise bad("`parentDocument`: a document does not lie in itself")
        visited.add(above)
        above = parent_of(changes.value(above, ASPECT))
    return {"document": parent.name}


def _put_subtype(changes: AspectChanges, document: Entity, input: Input) -> None:
    type = input.get("subType")
    changes.put(document, SUBTYPES, {"typeNames": [] if type is None else [type]})


def _put_given_subtype(changes: AspectChanges, document: Entity, input: Input) -> None:
    if input.get("subType") is not None:
        _put_subtype(changes, document, input)


def _set_state(_: AspectChanges, __: Entity, value: Value, input: Input) -> None:
    value["status"] = {**shapes.mapping(value.get("status")), "state": input["state"]}


def _move(changes: AspectChanges, document: Entity, value: Value, input: Input) -> None:
    value.pop(_PARENT, None)
    _place(changes, document, value, input)


def _put_settings(changes: AspectChanges, document: Entity, input: Input) -> None:
    is_shown = input["showInGlobalContext"]
    changes.merge(document, SETTINGS, showInGlobalContext=is_shown, lastModified=changes.stamp)


_RELATED: Final = (
    Member("relatedAssets", read=_urn_list("asset")),
    Member("relatedDocuments", read=_urn_list("document", TYPE)),
)
_TEXTS: Final = (Member("title"), Member("contents", read=lambda input: {"text": input["text"]}))
_STATE: Final = Member(
    "status", of="state", read=lambda state: {"state": state}, default={"state": "UNPUBLISHED"}
)
_NATIVE: Final = Member("source", default={"sourceType": "NATIVE"})
_PROPERTIES: Final = Member("customProperties", default={})


def _kind(*record: Member) -> Kind:
    return Kind(TYPE, ASPECT, record, stamps=("created", "lastModified"), about=None)


def _member_reader(member: Member) -> Read:
    """Reads an argument as a member, before any authorization check."""

    def read(_: Call, argument: str, input: Input) -> object:
        provided_members([member], input)
        return input[argument]

    return read


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "createDocument": creation(
            _kind(_STATE, _NATIVE, _PROPERTIES, *_TEXTS, *_RELATED),
            "entity.create",
            _place,
            reads={"owners": _owners},
            then=_put_other_aspects,
        ),
        "updateDocumentContents": change(_kind(*_TEXTS), _CHANGE, then=_put_given_subtype),
        "updateDocumentRelatedEntities": change(
            _kind(*_RELATED),
            _CHANGE,
            reads={member.name: _member_reader(member) for member in _RELATED},
        ),
        "updateDocumentStatus": change(_kind(), _CHANGE, _set_state),
        "updateDocumentSubType": change(_kind(), _CHANGE, then=_put_subtype),
        "updateDocumentSettings": change(_kind(), _CHANGE, then=_put_settings),
        "moveDocument": change(_kind(), _CHANGE, _move),
        "deleteDocument": deletion(_kind(), "entity.delete"),
    },
    **document_output.RESOLVERS,
}
