"""Mutations without any change: refused with the argument, not answered with true."""

from __future__ import annotations

from typing import Any

import pytest

from tests.systems.datahub.http.graphql.wire import Wire, group, role, user

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
ON = {"resourceUrn": ORDERS}
ONE = {"resources": [ON]}


@pytest.mark.parametrize(
    ("mutation", "type", "input", "argument"),
    [
        ("addTags", "AddTagsInput!", {"tagUrns": [], **ON}, "tagUrns"),
        ("batchAddTags", "BatchAddTagsInput!", {"tagUrns": [], **ONE}, "tagUrns"),
        ("batchRemoveTags", "BatchRemoveTagsInput!", {"tagUrns": [], **ONE}, "tagUrns"),
        ("addTerms", "AddTermsInput!", {"termUrns": [], **ON}, "termUrns"),
        ("batchRemoveTerms", "BatchRemoveTermsInput!", {"termUrns": [], **ONE}, "termUrns"),
        ("addOwners", "AddOwnersInput!", {"owners": [], **ON}, "owners"),
        ("batchAddOwners", "BatchAddOwnersInput!", {"owners": [], **ONE}, "owners"),
        ("batchRemoveOwners", "BatchRemoveOwnersInput!", {"ownerUrns": [], **ONE}, "ownerUrns"),
        ("batchSetDomain", "BatchSetDomainInput!", {"resources": []}, "resources"),
        ("batchAssignRole", "BatchAssignRoleInput!", {"actors": []}, "actors"),
        (
            "batchAssignRole",
            "BatchAssignRoleInput!",
            {"roleUrn": role("Reader"), "actors": [user("nobody"), "ana", role("Admin")]},
            "actors",
        ),
        (
            "addGroupMembers",
            "AddGroupMembersInput!",
            {"groupUrn": group("staff"), "userUrns": []},
            "userUrns",
        ),
        (
            "removeGroupMembers",
            "RemoveGroupMembersInput!",
            {"groupUrn": group("staff"), "userUrns": []},
            "userUrns",
        ),
        (
            "batchAssignForm",
            "BatchAssignFormInput!",
            {"formUrn": "urn:li:form:f", "entityUrns": []},
            "entityUrns",
        ),
        (
            "batchRemoveForm",
            "BatchRemoveFormInput!",
            {"formUrn": "urn:li:form:f", "entityUrns": []},
            "entityUrns",
        ),
        ("updateLineage", "UpdateLineageInput!", {"edgesToAdd": [], "edgesToRemove": []}, "input"),
    ],
)
def test_an_empty_list_is_refused_with_the_argument(
    wire: Wire, mutation: str, type: str, input: dict[str, Any], argument: str
) -> None:
    query = f"mutation m($i: {type}) {{ {mutation}(input: $i) }}"
    _check_refused(wire, query, input, argument)


@pytest.mark.parametrize(
    ("mutation", "type", "urn"),
    [
        ("updateCorpUserProperties", "CorpUserUpdateInput!", user("bob")),
        ("updateCorpGroupProperties", "CorpGroupUpdateInput!", group("staff")),
        ("updateDataset", "DatasetUpdateInput!", ORDERS),
    ],
)
def test_an_update_of_nothing_is_refused(wire: Wire, mutation: str, type: str, urn: str) -> None:
    query = f'mutation m($i: {type}) {{ {mutation}(urn: "{urn}", input: $i) {{ urn }} }}'
    _check_refused(wire, query, {}, "input")


def _check_refused(wire: Wire, query: str, input: dict[str, Any], argument: str) -> None:
    wire.put("dataset", ORDERS, "status", {"removed": False})
    wire.put("form", "urn:li:form:f", "formInfo", {"name": "f"})
    before = wire.service.state.revision
    (error,) = wire.ask(query, i=input)["errors"]
    assert error["extensions"]["code"] == 400
    assert error["message"].startswith(f"`{argument}`: expected ")
    assert wire.service.state.revision == before
