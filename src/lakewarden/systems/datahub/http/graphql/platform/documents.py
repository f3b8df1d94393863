"""Documents: texts that are kept beside the assets, in a hierarchy of their own.

SOURCE: datahub reference 1.1, 5.4; datahub-project/datahub:…/resolvers/knowledge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.platform import document_output, shapes
from lakewarden.systems.datahub.http.graphql.platform.document_output import (
    ASPECT,
    SETTINGS,
    SUBTYPES,
    TYPE,
    parent_of,
)
from lakewarden.systems.datahub.http.graphql.platform.draft import Draft, given, named, write
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_CHANGE: Final = "document.change"
_TECHNICAL: Final = "urn:li:ownershipType:__system__technical_owner"


def _create(_: object, info: Info, input: Mapping[str, Any]) -> str:
    document = named(TYPE, input.get("id"))
    owners = [_owner(one) for one in input.get("owners") or ()]

    def task(draft: Draft) -> str:
        draft.check_new(document)
        stamp = draft.stamp()
        value = {
            "status": {"state": input.get("state") or "UNPUBLISHED"},
            "source": {"sourceType": "NATIVE"},
            "contents": {"text": input["contents"]["text"]},
            "created": stamp,
            "lastModified": stamp,
            "customProperties": {},
            **given(input, "title"),
            **_related(input),
        }
        if input.get("parentDocument") is not None:
            value["parentDocument"] = _parent(draft, document, input["parentDocument"])
        draft.put(document, ASPECT, value)
        if input.get("subType") is not None:
            draft.put(document, SUBTYPES, {"typeNames": [input["subType"]]})
        shown = (input.get("settings") or {}).get("showInGlobalContext") is not False
        draft.put(document, SETTINGS, {"showInGlobalContext": shown, "lastModified": stamp})
        maker = {"owner": draft.call.actor.name, "type": "TECHNICAL_OWNER", "typeUrn": _TECHNICAL}
        draft.put(document, "ownership", {"owners": owners or [maker], "lastModified": stamp})
        return document.name

    return write(info.context, "entity.create", document, task)


def _owner(input: Mapping[str, Any]) -> dict[str, Any]:
    owner = calls.entity(input["ownerUrn"], "corpuser", "corpGroup")
    type = input.get("ownershipTypeUrn")
    typed = {} if type is None else {"typeUrn": calls.entity(type, "ownershipType").name}
    return {"owner": owner.name, "type": input.get("type") or "NONE", **typed}


def _related(input: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if input.get("relatedAssets") is not None:
        assets = [calls.entity(urn) for urn in input["relatedAssets"]]
        found["relatedAssets"] = [{"asset": one.name} for one in assets]
    if input.get("relatedDocuments") is not None:
        documents = [calls.entity(urn, TYPE) for urn in input["relatedDocuments"]]
        found["relatedDocuments"] = [{"document": one.name} for one in documents]
    return found


def _parent(draft: Draft, document: Entity, urn: str) -> dict[str, str]:
    """What lies above, which is not the document itself, nor below it."""
    parent = calls.entity(urn, TYPE)
    draft.check_there(parent)
    above: Entity | None = parent
    seen: set[Entity] = set()
    while above is not None and above not in seen:
        if above == document:
            raise bad("`parentDocument`: a document does not lie in itself")
        seen.add(above)
        above = parent_of(draft.value(above, ASPECT))
    return {"document": parent.name}


Change = Callable[[Draft, dict[str, Any]], None]


def _changed(info: Info, urn: str, change: Change) -> bool:
    """Changes what is said of a document, for whoever may edit it."""
    document = calls.entity(urn, TYPE)

    def task(draft: Draft) -> bool:
        draft.check_there(document)
        value = draft.value(document, ASPECT)
        change(draft, value)
        draft.put(document, ASPECT, {**value, "lastModified": draft.stamp()})
        return True

    return write(info.context, _CHANGE, document, task)


def _contents(_: object, info: Info, input: Mapping[str, Any]) -> bool:
    def change(draft: Draft, value: dict[str, Any]) -> None:
        value |= given(input, "title")
        if input.get("contents") is not None:
            value["contents"] = {"text": input["contents"]["text"]}
        if input.get("subType") is not None:
            _put_subtype(draft, input["urn"], input["subType"])

    return _changed(info, input["urn"], change)


def _put_subtype(draft: Draft, urn: str, type: str | None) -> None:
    document = calls.entity(urn, TYPE)
    draft.put(document, SUBTYPES, {"typeNames": [] if type is None else [type]})


def _subtype(_: object, info: Info, input: Mapping[str, Any]) -> bool:
    def change(draft: Draft, _: dict[str, Any]) -> None:
        _put_subtype(draft, input["urn"], input.get("subType"))

    return _changed(info, input["urn"], change)


def _relate(_: object, info: Info, input: Mapping[str, Any]) -> bool:
    related = _related(input)
    return _changed(info, input["urn"], lambda _, value: value.update(related))


def _status(_: object, info: Info, input: Mapping[str, Any]) -> bool:
    def change(_: Draft, value: dict[str, Any]) -> None:
        value["status"] = {**shapes.mapping(value.get("status")), "state": input["state"]}

    return _changed(info, input["urn"], change)


def _move(_: object, info: Info, input: Mapping[str, Any]) -> bool:
    document = calls.entity(input["urn"], TYPE)

    def change(draft: Draft, value: dict[str, Any]) -> None:
        value.pop("parentDocument", None)
        if input.get("parentDocument") is not None:
            value["parentDocument"] = _parent(draft, document, input["parentDocument"])

    return _changed(info, input["urn"], change)


def _settings(_: object, info: Info, input: Mapping[str, Any]) -> bool:
    document = calls.entity(input["urn"], TYPE)

    def change(draft: Draft, _: dict[str, Any]) -> None:
        value = draft.value(document, SETTINGS)
        told = {"showInGlobalContext": input["showInGlobalContext"], "lastModified": draft.stamp()}
        draft.put(document, SETTINGS, {**value, **told})

    return _changed(info, input["urn"], change)


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "createDocument": _create,
        "updateDocumentContents": _contents,
        "updateDocumentRelatedEntities": _relate,
        "updateDocumentStatus": _status,
        "updateDocumentSubType": _subtype,
        "updateDocumentSettings": _settings,
        "moveDocument": _move,
    },
    **document_output.RESOLVERS,
}
