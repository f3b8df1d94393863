"""Documents: stored with the assets; editable by the asset's editors, or managers of all."""

from __future__ import annotations

from typing import Any

import pytest

from tests.systems.datahub.http.graphql.platform.granting import HIVE, dataset, grant, input_of
from tests.systems.datahub.http.graphql.wire import (
    BAD,
    CONFLICT,
    FORBIDDEN,
    NOT_FOUND,
    Wire,
    document,
    group,
    user,
)

CREATE = input_of("CreateDocumentInput", "createDocument")
MOVE = input_of("MoveDocumentInput", "moveDocument")
CONTENTS = input_of("UpdateDocumentContentsInput", "updateDocumentContents")
RELATE = input_of("UpdateDocumentRelatedEntitiesInput", "updateDocumentRelatedEntities")
STATUS = input_of("UpdateDocumentStatusInput", "updateDocumentStatus")
SUBTYPE = input_of("UpdateDocumentSubTypeInput", "updateDocumentSubType")
SETTINGS = input_of("UpdateDocumentSettingsInput", "updateDocumentSettings")
DELETE = "mutation m($urn: String!) { deleteDocument(urn: $urn) }"
SHOW = document("platform_document")


@pytest.fixture(autouse=True)
def _world(wire: Wire) -> None:
    wire.built(_fill_realm)


def _fill_realm(wire: Wire) -> None:
    grant(wire, "ana", "MANAGE_DOCUMENTS")
    dataset(wire, HIVE)


def text(**members: Any) -> dict[str, Any]:
    return {"contents": {"text": "how"}, "title": "How to", **members}


def create_document(wire: Wire, id: str = "d", **members: Any) -> str:
    urn: str = wire.good(CREATE, "ana", i=text(id=id, **members))
    assert urn == f"urn:li:document:{id}"
    return urn


def get_document(wire: Wire, urn: str) -> dict[str, Any]:
    found: dict[str, Any] = wire.good(SHOW, "eve", urn=urn)
    return found


def test_a_document_is_shown_as_it_was_made(wire: Wire) -> None:
    other = create_document(wire, "other")
    urn = create_document(wire, subType="FAQ", relatedAssets=[HIVE], relatedDocuments=[other])
    found = get_document(wire, urn)
    info = found["info"]
    assert (info["title"], info["contents"], found["subType"]) == ("How to", {"text": "how"}, "FAQ")
    assert info["status"] == {"state": "UNPUBLISHED"}
    assert info["source"]["sourceType"] == "NATIVE"
    assert info["relatedAssets"] == [{"asset": {"urn": HIVE}}]
    assert info["relatedDocuments"] == [{"document": {"urn": other}}]
    assert found["settings"] == {"showInGlobalContext": True}
    assert found["parentDocuments"] == {"count": 0, "documents": []}
    (owner,) = wire.aspects("document", urn)["ownership"]["owners"]
    assert owner["owner"] == user("ana")
    assert wire.bad(CREATE, "ana", i=text(id="d")) == CONFLICT


def test_who_makes_a_document_may_name_its_owners(wire: Wire) -> None:
    staff = {"ownerUrn": group("staff"), "ownerEntityType": "CORP_GROUP"}
    urn = create_document(wire, owners=[staff])
    assert [one["owner"] for one in wire.aspects("document", urn)["ownership"]["owners"]] == [
        group("staff")
    ]


def test_a_document_is_edited_by_who_may_edit_it(wire: Wire) -> None:
    urn, other = create_document(wire), create_document(wire, "other")
    grant(wire, "bob", "EDIT_ENTITY_DOCS", on=(urn,))
    assert wire.good(CONTENTS, "bob", i={"urn": urn, "contents": {"text": "so"}, "subType": "Q"})
    assert wire.bad(CONTENTS, "bob", i={"urn": other, "title": "x"}) == FORBIDDEN
    assert wire.good(STATUS, "bob", i={"urn": urn, "state": "PUBLISHED"})
    assert wire.good(RELATE, "bob", i={"urn": urn, "relatedAssets": [HIVE]})
    assert wire.good(SETTINGS, "bob", i={"urn": urn, "showInGlobalContext": False})
    found = get_document(wire, urn)
    assert (found["info"]["title"], found["info"]["contents"]) == ("How to", {"text": "so"})
    assert (found["subType"], found["info"]["status"]) == ("Q", {"state": "PUBLISHED"})
    assert found["settings"] == {"showInGlobalContext": False}
    assert wire.good(SUBTYPE, "bob", i={"urn": urn})
    assert get_document(wire, urn)["subType"] is None
    assert wire.bad(DELETE, "bob", urn=urn) == FORBIDDEN
    grant(wire, "bob", "DELETE_ENTITY", on=(urn,))
    assert wire.good(DELETE, "bob", urn=urn)
    assert wire.bad(DELETE, "ana", urn=urn) == NOT_FOUND
    assert wire.bad(CONTENTS, "ana", i={"urn": urn, "title": "x"}) == NOT_FOUND


def test_documents_lie_in_documents_but_not_in_themselves(wire: Wire) -> None:
    top = create_document(wire, "top")
    middle = create_document(wire, "middle", parentDocument=top)
    low = create_document(wire, "low", parentDocument=middle)
    parents = get_document(wire, low)["parentDocuments"]
    assert parents == {"count": 2, "documents": [{"urn": middle}, {"urn": top}]}
    assert wire.bad(MOVE, "ana", i={"urn": top, "parentDocument": low}) == BAD
    assert wire.bad(MOVE, "ana", i={"urn": top, "parentDocument": top}) == BAD
    nowhere = "urn:li:document:none"
    assert wire.bad(MOVE, "ana", i={"urn": low, "parentDocument": nowhere}) == NOT_FOUND
    assert wire.good(MOVE, "ana", i={"urn": low})
    assert get_document(wire, low)["info"]["parentDocument"] is None


def test_a_document_does_not_name_what_one_is_not_shown(wire: Wire) -> None:
    top = create_document(wire, "top")
    urn = create_document(wire, relatedAssets=[HIVE], parentDocument=top)
    wire.configure(view=True)
    grant(wire, "eve", "VIEW_ENTITY_PAGE", on=(urn,))
    found = get_document(wire, urn)
    assert found["info"]["relatedAssets"] == []
    assert found["info"]["parentDocument"] is None
    assert found["parentDocuments"]["count"] == 0
