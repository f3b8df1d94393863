"""Stored policies to statements: actors, resources old and new, constraints, errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import ALL_USERS, ANY_GROUP, Principal
from lakewarden.kernel.statement import (
    Anything,
    Condition,
    Criterion,
    Owners,
    Statement,
    Where,
)
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.source_row import BAD_STATEMENT, At, Row
from lakewarden.service.system import load_system
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects.fields import Fields
from lakewarden.systems.datahub.aspects.policy import check_change, deactivated, policy

MODEL = load_system("datahub").model
POLICY = Entity("dataHubPolicy", "urn:li:dataHubPolicy:p")
ANA, STAFF = "urn:li:corpuser:ana", "urn:li:corpGroup:staff"
READER = "urn:li:dataHubRole:Reader"
TYPE_A = "urn:li:ownershipType:a"
TABLE = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
EQUALS, NOT_EQUALS, STARTS_WITH = Condition.EQUALS, Condition.NOT_EQUALS, Condition.STARTS_WITH


def rows(**fields: Any) -> list[Row]:
    whole = {
        "displayName": "a policy",
        "description": "",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": ["VIEW_ENTITY_PAGE"],
        "actors": {"users": [ANA]},
        "editable": True,
    }
    value = {k: v for k, v in (whole | fields).items() if v is not ...}
    return list(policy(POLICY, Fields(value, "p.json"), At("p.json: line 1", MODEL)))


def read(row: Row) -> Statement:
    assert not row.reason, row.detail
    assert row.cells[0] == POLICY.name
    (statement,) = read_statements([json.loads(row.cells[1])], MODEL, datahub, "p")
    return statement


def read_row(**fields: Any) -> Statement:
    (row,) = rows(**fields)
    return read(row)


def test_a_policy_is_one_statement_called_by_its_name() -> None:
    assert read_row() == Statement(
        id=POLICY.name,
        effect=read_row().effect,
        privileges=frozenset({"VIEW_ENTITY_PAGE"}),
        scope=Anything(),
        principals=frozenset({Principal("user", ANA)}),
        title="a policy",
    )


def test_what_is_no_policy_has_no_statement() -> None:
    value = Fields({"type": "PLATFORM"}, "p.json")
    (row,) = policy(Entity("dataset", TABLE), value, At("p.json: line 1", MODEL))
    assert row.reason == BAD_STATEMENT
    assert row.detail == f"expected the URN of a policy, got `{TABLE}`"


@pytest.mark.parametrize("state", ["INACTIVE", "DRAFT", "active"])
def test_only_active_is_active(state: str) -> None:
    assert not read_row(state=state).active


def test_all_kinds_of_actors_are_alternatives() -> None:
    actors = {
        "users": [ANA],
        "groups": [STAFF],
        "roles": [READER],
        "allUsers": True,
        "allGroups": True,
        "resourceOwners": True,
    }
    statement = read_row(actors=actors)
    assert statement.principals == {
        Principal("user", ANA),
        Principal("group", STAFF),
        Principal("role", READER),
        ALL_USERS,
        ANY_GROUP,
    }
    assert statement.owners == Owners()


@pytest.mark.parametrize(
    ("actors", "owners"),
    [
        ({"resourceOwners": True, "resourceOwnersTypes": None}, Owners()),
        ({"resourceOwners": True, "resourceOwnersTypes": [TYPE_A]}, Owners(frozenset({TYPE_A}))),
        ({"resourceOwners": True, "resourceOwnersTypes": []}, None),
        ({"resourceOwners": True, "resourceOwnersTypes": [""]}, None),
        ({"resourceOwners": False, "resourceOwnersTypes": [TYPE_A]}, None),
        ({}, None),
    ],
)
def test_owners_of_which_types(actors: dict[str, Any], owners: Owners | None) -> None:
    assert read_row(actors=actors).owners == owners


def test_an_actor_that_can_be_nobody_is_left_out_and_noted() -> None:
    row, *notes = rows(actors={"users": ["ana", STAFF], "groups": [STAFF]})
    assert read(row).principals == {Principal("group", STAFF)}
    assert [note.cells for note in notes] == [
        (POLICY.name, "actor `ana` among the users"),
        (POLICY.name, f"actor `{STAFF}` among the users"),
    ]


def test_a_privilege_that_is_not_known_is_left_out_and_noted() -> None:
    row, note = rows(privileges=["EDIT_ENTITY", "FLY_ENTITY"])
    assert read(row).privileges == {"EDIT_ENTITY"}
    assert note.cells == (POLICY.name, "privilege `FLY_ENTITY`")


TABLES = Criterion("TYPE", EQUALS, ("dataset",))
SCOPES: dict[str, tuple[object, object]] = {
    "no resources: everything, also without a resource": (None, Anything()),
    "nothing said of the resources: every resource": ({}, Where(())),
    "a filter without criteria": ({"filter": {"criteria": []}}, Where(())),
    "the type of nothing": (
        {"type": "", "allResources": True},
        Where((Criterion("TYPE", EQUALS, ("",)),)),
    ),
    "all resources": ({"allResources": True, "resources": [TABLE]}, Where(())),
    "a type": ({"type": "dataset"}, Where((TABLES,))),
    "all of a type": ({"type": "dataset", "allResources": True}, Where((TABLES,))),
    "a list": ({"resources": [TABLE]}, Where((Criterion("URN", EQUALS, (TABLE,)),))),
    "an empty list matches nothing": (
        {"type": "dataset", "resources": []},
        Where((TABLES, Criterion("URN", EQUALS, ()))),
    ),
    "a filter hides the older fields": (
        {
            "type": "chart",
            "resources": ["x"],
            "filter": {"criteria": [{"field": "TYPE", "values": ["dataset"]}]},
        },
        Where((TABLES,)),
    ),
    "conditions and older names of fields": (
        {
            "filter": {
                "criteria": [
                    {"field": "RESOURCE_TYPE", "values": ["dataset"], "condition": "EQUALS"},
                    {"field": "domain", "values": ["urn:li:domain:x"], "condition": "NOT_EQUALS"},
                    {"field": "URN", "values": ["urn:li:dataset:"], "condition": "STARTS_WITH"},
                ]
            }
        },
        Where(
            (
                TABLES,
                Criterion("DOMAIN", NOT_EQUALS, ("urn:li:domain:x",)),
                Criterion("URN", STARTS_WITH, ("urn:li:dataset:",)),
            )
        ),
    ),
    "values of structured properties, all of them required": (
        {
            "filter": {
                "criteria": [
                    {
                        "field": "STRUCTURED_PROPERTY",
                        "values": [],
                        "structuredPropertyValues": [
                            {"propertyUrn": "urn:li:structuredProperty:a", "values": ["1", "2"]},
                            {"propertyUrn": "urn:li:structuredProperty:b", "values": ["3"]},
                        ],
                    }
                ]
            }
        },
        Where(
            (
                Criterion(
                    "STRUCTURED_PROPERTY",
                    EQUALS,
                    ("urn:li:structuredProperty:a=1", "urn:li:structuredProperty:a=2"),
                ),
                Criterion("STRUCTURED_PROPERTY", EQUALS, ("urn:li:structuredProperty:b=3",)),
            )
        ),
    ),
}


@pytest.mark.parametrize("name", SCOPES)
def test_where_a_policy_holds(name: str) -> None:
    resources, scope = SCOPES[name]
    assert read_row(resources=resources).scope == scope


def test_the_resources_of_a_platform_policy_are_not_read() -> None:
    resources = {"type": "dataset", "privilegeConstraints": {"criteria": []}}
    statement = read_row(type="PLATFORM", privileges=["MANAGE_POLICIES"], resources=resources)
    assert statement.scope == Anything()
    assert statement.constraint is None


def test_constraints_limit_the_sub_resources() -> None:
    criteria = [{"field": "URN", "values": ["urn:li:tag:pii"], "condition": "EQUALS"}]
    resources = {"privilegeConstraints": {"criteria": criteria}}
    statement = read_row(privileges=["EDIT_ENTITY_TAGS"], resources=resources)
    assert statement.constraint == (Criterion("URN", EQUALS, ("urn:li:tag:pii",)),)
    assert statement.scope == Where(())


def _criterion(**fields: Any) -> dict[str, Any]:
    return {"filter": {"criteria": [{"field": "TYPE", "values": ["dataset"]} | fields]}}


WITHOUT_VALUE = [{"propertyUrn": "urn:li:structuredProperty:a", "values": []}]
WITH_VALUE = [{"propertyUrn": "urn:li:structuredProperty:a", "values": ["1"]}]


@pytest.mark.parametrize(
    ("fields", "detail"),
    [
        ({"type": "SPECIAL"}, "unknown type of policy `SPECIAL`"),
        ({"resources": _criterion(field="COLOUR")}, "unknown field `COLOUR`"),
        ({"resources": _criterion(condition="LIKE")}, "unknown `LIKE`"),
        (
            {"resources": {"privilegeConstraints": {"criteria": [{"field": "X", "values": []}]}}},
            "unknown field `X`",
        ),
        (
            {"resources": _criterion(field="TAG", structuredPropertyValues=WITH_VALUE)},
            "unknown field `structuredPropertyValues[0]`",
        ),
        (
            {
                "resources": _criterion(
                    field="STRUCTURED_PROPERTY",
                    condition="NOT_EQUALS",
                    values=[],
                    structuredPropertyValues=WITHOUT_VALUE,
                )
            },
            "unknown field `structuredPropertyValues[0]`",
        ),
    ],
)
def test_a_policy_that_cannot_be_said_exactly_is_rejected_whole(
    fields: dict[str, Any], detail: str
) -> None:
    (row,) = rows(**fields)
    assert (row.table, row.reason) == ("statements", BAD_STATEMENT)
    assert detail in row.detail


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"displayName": ...}, "p.json.displayName: expected a string"),
        ({"state": 1}, "p.json.state: expected a string"),
        ({"actors": ...}, "p.json.actors: expected an object"),
        ({"actors": {"users": "x"}}, "p.json.actors.users: expected a list"),
        ({"actors": {"allUsers": "yes"}}, "p.json.actors.allUsers: expected true or false"),
        ({"privileges": [1]}, "p.json.privileges[0]: expected a string"),
        ({"privileges": None}, "p.json.privileges: expected a list"),
        ({"resources": {"filter": {}}}, "resources.filter.criteria: expected a list"),
        (
            {"resources": {"privilegeConstraints": {"criteria": None}}},
            "privilegeConstraints.criteria: expected a list",
        ),
        (
            {"resources": _criterion(condition="NOT_EQUALS", values=None)},
            "criteria[0].values: expected a list",
        ),
        ({"resources": _criterion(values=[1])}, "criteria[0].values[0]: expected a string"),
    ],
)
def test_a_malformed_policy_is_an_error_of_the_file(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput) as refused:
        rows(**fields)
    assert message in str(refused.value)


def _with_fields(filter: str, constraint: str) -> dict[str, Any]:
    """A policy with a criterion of each kind."""
    criteria = {
        key: {"criteria": [{"field": field, "values": ["x"]}]}
        for key, field in (("filter", filter), ("privilegeConstraints", constraint))
    }
    return {"resources": criteria}


def test_a_field_is_written_in_upper_case_unless_it_stands_there_already() -> None:
    check_change(None, _with_fields("RESOURCE_TYPE", "URN"), MODEL)
    for wrong in (_with_fields("Domain", "URN"), _with_fields("DOMAIN", "urn")):
        for old in (None, _with_fields("DOMAIN", "URN")):
            with pytest.raises(BadInput, match=r"`(Domain|urn)`; expected one of: CONT"):
                check_change(old, wrong, MODEL)
        check_change(wrong, wrong, MODEL)


@pytest.mark.parametrize("key", ["users", "groups", "roles", "resourceOwnersTypes"])
def test_an_actor_is_a_urn_unless_it_stands_there_already(key: str) -> None:
    wrong = {"actors": {key: ["urn:li:corpuser:ana@corp.test", "ana"]}}
    olds: list[dict[str, Any] | None] = [None, {"actors": {}}, {"actors": {key: None}}]
    for old in olds:
        with pytest.raises(BadInput, match="expected `urn:li:type:key`, got `ana`"):
            check_change(old, wrong, MODEL)
    check_change(wrong, wrong, MODEL)


def test_a_statement_can_be_put_out_of_force() -> None:
    (row,) = rows()
    assert not read(deactivated(row)).active
    assert deactivated(row).place == row.place
