"""`who`: reading the matrix by column is the inverse of the check."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import StaleSnapshot, Unknown
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import EntityRow, Facts
from lakewarden.kernel.request import Request
from lakewarden.kernel.who import who
from lakewarden.service.system import System
from tests.kernel.small import CATALOG_SYSTEM as CAT
from tests.kernel.small import LAKE_SYSTEM as LAKE
from tests.kernel.small import matrix, question, user, world
from tests.kernel.test_matrix import CAT_FACTS, DATASET, LAKE_FACTS, T

NEW_USER = EntityRow(Entity("user", "m:nobody-knows"), Entity("metalake", "m"))


def one_by_one(m: Matrix, request: Request) -> set[Principal]:
    coded = m.snapshot.coded
    stored = [coded.memberships.principals[id] for id in coded.memberships.stored]
    users = [principal for principal in stored if principal.kind == "user"]
    return {u for u in users if m.decide(replace(request, principal=u)).allow}


@pytest.mark.parametrize(("of", "facts"), [(LAKE, LAKE_FACTS), (CAT, CAT_FACTS)])
def test_who_may_are_the_users_whose_check_says_yes(of: System, facts: Facts) -> None:
    m = matrix(of, facts)
    names = [*of.model.operations, *(p.name for p in of.model.privileges.values())]
    targets = [row.entity for row in facts.entities]
    targets += [Entity(type, "") for type in of.model.types if of.model.judged(type)]
    for name in names:
        for target in (NO_RESOURCE, *targets):
            if m.operation(name).rule_or_none(target.type) is not None:
                request = Request(user("anybody"), name, target)
                assert who(m, request) == one_by_one(m, request), (name, target)


def test_what_is_not_stored_nobody_may_in_a_lake_and_is_judged_in_a_catalog() -> None:
    lake, catalog = matrix(LAKE, LAKE_FACTS), matrix(CAT, CAT_FACTS)
    assert who(lake, Request(user("x"), "load", Entity("table", "m:c.s.none"))) == frozenset()
    new = Entity("dataset", "urn:li:dataset:(urn:li:dataPlatform:hive,new,PROD)")
    request = Request(user("x"), "edit", new)
    assert who(catalog, request) == one_by_one(catalog, request)
    column = Request(
        user("x"), "column", Entity("schemaField", f"urn:li:schemaField:({new.name},x)")
    )
    assert who(catalog, column) == one_by_one(catalog, column)


def test_what_comes_with_the_request_counts() -> None:
    lake, catalog = matrix(LAKE, LAKE_FACTS), matrix(CAT, CAT_FACTS)
    tags = replace(question(LAKE, "x", "put_tags", T), lists={"tags": (LAKE.entity("tag:m:pii"),)})
    copy = question(LAKE, "x", "copy", T)
    there = replace(copy, targets={"to": LAKE.entity("schema:m:c.s")})
    for request in (tags, copy, there):
        assert who(lake, request) == one_by_one(lake, request)
    a, c = CAT.entity("tag:urn:li:tag:a"), CAT.entity("tag:urn:li:tag:c")
    edit = question(CAT, "x", "edit", DATASET)
    for subs in ((a,), (c,), (a, c)):
        request = replace(edit, subresources=subs)
        assert who(catalog, request) == one_by_one(catalog, request)
    soft = replace(question(CAT, "x", "unlock", DATASET), attributes={"action.soft": False})
    assert who(catalog, soft) == one_by_one(catalog, soft) != frozenset()


def test_implied_sets_spread_to_their_members() -> None:
    facts = world(
        CAT,
        [DATASET],
        members={
            "urn:li:corpGroup:staff": ["ana"],
            "urn:li:dataHubRole:R": ["all-users"],
            "urn:li:dataHubRole:G": ["any-group"],
        },
        users=["ana", "ben"],
        statements=[
            {"id": "r", "privileges": ["EDIT"], "to": ["role:urn:li:dataHubRole:R"], "where": []},
            {"id": "g", "privileges": ["VIEW"], "to": ["role:urn:li:dataHubRole:G"], "where": []},
        ],
    )
    m = matrix(CAT, facts)
    for operation in ("EDIT", "VIEW"):
        request = question(CAT, "x", operation, DATASET)
        assert who(m, request) == one_by_one(m, request)
    assert {p.name for p in who(m, question(CAT, "x", "VIEW", DATASET))} == {"urn:li:corpuser:ana"}


def test_an_entity_that_is_a_principal_nobody_knows_is_nobodys() -> None:
    facts = replace(LAKE_FACTS, entities=[*LAKE_FACTS.entities, NEW_USER])
    m = matrix(LAKE, facts)
    request = Request(user("x"), "show", NEW_USER.entity)
    assert who(m, request) == one_by_one(m, request) == frozenset()


def test_who_refuses_what_a_check_refuses() -> None:
    m = matrix(LAKE, LAKE_FACTS)
    with pytest.raises(Unknown):
        who(m, question(LAKE, "x", "fly", T))
    with pytest.raises(Unknown, match="type `file`"):
        who(m, Request(user("x"), "READ", Entity("file", "x")))
    with pytest.raises(StaleSnapshot):
        who(m, question(LAKE, "x", "load", T, float("inf")))
