"""Sentences of statements: principals, privileges, scope, and whether they are active."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.admin.api import Api

D = "/realms/datahub/statements"
DOMAIN = "urn:li:domain:sales"


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        (
            {"to": ["user:ana"], "privileges": ["EDIT_ENTITY"]},
            "ana may EDIT_ENTITY on everything",
        ),
        ({"to": ["user:ana"], "privileges": ["MANAGE_POLICIES"]}, "ana may MANAGE_POLICIES"),
        (
            {
                "to": ["group:urn:li:corpGroup:eng"],
                "privileges": ["EDIT_ENTITY", "VIEW_ENTITY_PAGE"],
                "where": [
                    {"field": "DOMAIN", "values": [DOMAIN]},
                    {"field": "TYPE", "values": ["dataset", "chart"]},
                    {"field": "TAG", "condition": "NOT_EQUALS", "values": ["urn:li:tag:pii"]},
                ],
                "active": False,
            },
            "members of eng may EDIT_ENTITY and VIEW_ENTITY_PAGE on every dataset or chart whose"
            " domain is sales and tag is not pii (inactive)",
        ),
        (
            {
                "to": ["owners:urn:li:ownershipType:__system__technical_owner"],
                "privileges": ["EDIT_ENTITY"],
                "where": [
                    {"field": "URN", "condition": "STARTS_WITH", "values": ["urn:li:chart:"]}
                ],
            },
            "owners of the resource as technical owner may EDIT_ENTITY on everything whose urn"
            " starts with urn:li:chart:",
        ),
    ],
)
def test_a_statement_has_a_sentence(api: Api, statement: dict[str, Any], sentence: str) -> None:
    api.must("PUT", f"{D}/one", statement)
    words = api.must("GET", f"{D}/one")["words"]
    assert "".join(word["text"] for word in words).startswith(sentence)
    named = {word["ref"]["name"] for word in words if word["ref"]}
    to = {one for one in statement["to"] if not one.startswith("owners")}
    assert {*to, *statement["privileges"]} <= named
