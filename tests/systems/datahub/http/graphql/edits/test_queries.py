"""Queries: the permission on every subject is checked."""

from __future__ import annotations

from typing import Any

import pytest

from tests.systems.datahub.http.graphql.edits.world import (
    ANA,
    BAD,
    FORBIDDEN,
    GONE,
    MISSING,
    ORDERS,
    QUERY,
    SHOP,
    STOCK,
    World,
    column,
)

EDIT = "EDIT_ENTITY_QUERIES"
STATEMENT = {"value": "select 1", "language": "SQL"}
PROPERTIES = {"name": "n", "description": "d", "statement": STATEMENT}
UPDATE = f"""mutation m($i: UpdateQueryInput!) {{
    updateQuery(urn: "{QUERY}", input: $i) {{ urn }} }}"""
DELETE = f'mutation {{ deleteQuery(urn: "{QUERY}") }}'


def subjects_input(*subjects: str) -> dict[str, Any]:
    return {"subjects": [{"datasetUrn": one} for one in subjects]}


def create(*subjects: str) -> dict[str, Any]:
    return {"properties": PROPERTIES, **subjects_input(*subjects)}


def test_a_query_is_made_by_whoever_edits_those_of_every_subject(world: World) -> None:
    world.may(EDIT, on=ORDERS)
    assert world.refused("createQuery", create(ORDERS, STOCK)) == FORBIDDEN
    world.may(EDIT, on=STOCK)
    made = world.mutate("createQuery", create(ORDERS, STOCK))["urn"]
    found = world.read(made, "queryProperties")
    assert (found["name"], found["statement"], found["source"]) == ("n", STATEMENT, "MANUAL")
    assert found["created"]["actor"] == ANA
    subjects = [one["entity"] for one in world.read(made, "querySubjects")["subjects"]]
    assert subjects == [ORDERS, STOCK]


def test_a_column_stands_for_its_dataset(world: World) -> None:
    world.may(EDIT, on=ORDERS)
    world.mutate("createQuery", create(column(ORDERS)))
    assert world.refused("createQuery", create(column(STOCK))) == FORBIDDEN
    world.wire.put((QUERY, "querySubjects", {"subjects": [{"entity": column(STOCK)}]}))
    assert world.bad(UPDATE, i={"properties": {"name": "n"}}) == FORBIDDEN
    assert world.bad(DELETE) == FORBIDDEN


def test_a_query_is_changed_by_rights_on_the_subjects_that_it_has(world: World) -> None:
    world.wire.put((QUERY, "querySubjects", {"subjects": [{"entity": ORDERS}, {"entity": STOCK}]}))
    world.may(EDIT, on=ORDERS)
    assert world.bad(UPDATE, i={"properties": {"name": "n"}}) == FORBIDDEN
    assert world.bad(DELETE) == FORBIDDEN
    # Removing a subject requires the permission on it, too.
    assert world.bad(UPDATE, i=subjects_input(ORDERS)) == FORBIDDEN


def test_a_subject_that_comes_is_asked_about(world: World) -> None:
    world.may(EDIT, on=ORDERS)
    assert world.bad(UPDATE, i=subjects_input(ORDERS, STOCK)) == FORBIDDEN
    world.may("EDIT_ENTITY", on=STOCK)
    world.good(UPDATE, i=subjects_input(ORDERS, STOCK))
    assert len(world.read(QUERY, "querySubjects")["subjects"]) == 2


def test_without_subjects_nobody_changes_or_deletes_it(world: World) -> None:
    world.wire.put((QUERY, "querySubjects", {"subjects": []}))
    for user in ("ana", "admin"):
        assert world.bad(UPDATE, user, i={"properties": {"name": "n"}}) == FORBIDDEN
        assert world.bad(DELETE, user) == FORBIDDEN


def test_what_is_not_given_stays(world: World) -> None:
    kept = {"entity": ORDERS, "note": "kept"}
    world.wire.put((QUERY, "querySubjects", {"subjects": [kept]}))
    world.good(UPDATE, "admin", i={**subjects_input(ORDERS), "properties": {"name": "n"}})
    world.good(UPDATE, "admin", i={"properties": {"description": "d"}})
    found = world.read(QUERY, "queryProperties")
    assert (found["name"], found["description"], found["source"]) == ("n", "d", "SYSTEM")
    assert world.read(QUERY, "querySubjects") == {"subjects": [kept]}


@pytest.mark.parametrize("subject", [GONE, SHOP, "orders"])
def test_a_subject_is_a_dataset_that_is_there(world: World, subject: str) -> None:
    assert world.refused("createQuery", create(subject), "admin") == BAD
    assert "`subjects`" in world.error_message


def test_a_query_has_a_subject(world: World) -> None:
    assert world.refused("createQuery", create(), "admin") == BAD
    assert world.bad(UPDATE, "admin", i=subjects_input()) == BAD


def test_a_query_that_is_gone_is_nobodys_to_change(world: World) -> None:
    world.good(DELETE, "admin")
    assert not world.exists(QUERY)
    assert world.bad(DELETE, "admin") == FORBIDDEN
    world.without_policies()
    assert world.bad(DELETE, "admin") == MISSING
