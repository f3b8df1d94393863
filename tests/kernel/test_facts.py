"""Rows become integers, with the members of every scope."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyroaring import BitMap

from lakewarden.kernel.blocks import Named, Stored
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.facts import Coded, code, rows_of
from lakewarden.kernel.model import Reach
from lakewarden.kernel.relations import EntityRow, Facts, OwnerRow, RelationRow
from lakewarden.kernel.scopes import Block, match, normal
from lakewarden.kernel.statement import (
    Anything,
    Condition,
    Criterion,
    Matching,
    On,
    Scope,
    Where,
)
from lakewarden.service.system import load_system
from tests.kernel.small import CATALOG_SYSTEM as CAT
from tests.kernel.small import LAKE_SYSTEM as LAKE
from tests.kernel.small import user, world

DOMAIN, CHILD = "domain:urn:li:domain:top", "domain:urn:li:domain:child"
OUTER, INNER = "container:urn:li:container:outer", "container:urn:li:container:inner"
DATASET = "dataset:urn:li:dataset:(urn:li:dataPlatform:hive,a,PROD)"
OTHER = "dataset:urn:li:dataset:(urn:li:dataPlatform:hive,b,PROD)"
COLUMN = "schemaField:urn:li:schemaField:(urn:li:dataset:(urn:li:dataPlatform:hive,a,PROD),x)"
TAG = "tag:urn:li:tag:pii"
ANA = "corpuser:urn:li:corpuser:ana"

FACTS = world(
    CAT,
    [DOMAIN, TAG, OTHER, COLUMN, OUTER, ANA],
    placed={CHILD: DOMAIN, INNER: OUTER, DATASET: INNER},
    relations=[
        ("domain", DATASET, CHILD),
        ("late_domain", DATASET, "domain:urn:li:domain:ignored"),
        ("late_domain", OTHER, DOMAIN),
        ("tag", DATASET, TAG),
        ("tag", OTHER, "tag:urn:li:tag:private"),
    ],
    owners={DATASET: ["ana=urn:li:ownershipType:x"]},
    attributes=[(DATASET, "urn:p", "high"), (DATASET, "urn:p", "low"), (OTHER, "urn:p", "low")],
    members={"urn:li:corpGroup:staff": ["ana"], "urn:li:dataHubRole:Admin": ["ana"]},
)
CODED = code(FACTS, CAT.model, CAT.spelling)


def entities(coded: Coded, rows: BitMap) -> set[str]:
    found = (coded.tree.entity(id) for id in rows)
    return {f"{e.type}:{e.name}" for e in found if e.name}


def holding(field: str, condition: str, *values: str) -> set[str]:
    scope = Where((Criterion(field, Condition(condition), values),))
    return entities(CODED, match(Stored(CODED), [normal(scope, Reach.EXACTLY)])[0])


def in_one(block: Block, *criteria: Criterion) -> bool:
    return bool(match(block, [normal(Where(criteria), Reach.EXACTLY)])[0])


def equals(field: str, *values: str) -> Criterion:
    return Criterion(field, Condition.EQUALS, values)


def urn(text: str) -> str:
    return text.partition(":")[2]


def test_a_type_is_matched_by_equality_and_prefix() -> None:
    assert holding("TYPE", "EQUALS", "dataset") == {DATASET, OTHER}
    assert holding("TYPE", "STARTS_WITH", "data", "con") == {DATASET, OTHER, OUTER, INNER}
    assert holding("TYPE", "EQUALS", "nothing") == set()


def test_a_name_is_matched_by_equality_and_prefix() -> None:
    assert holding("URN", "EQUALS", urn(DATASET)) == {DATASET}
    assert holding("URN", "STARTS_WITH", "urn:li:dataset:") == {DATASET, OTHER}
    assert holding("URN", "EQUALS", "") == set()
    assert holding("URN", "STARTS_WITH", "") == set()


def test_a_domain_covers_what_is_in_it_and_below_it_and_itself() -> None:
    assert holding("DOMAIN", "EQUALS", urn(DOMAIN)) == {DATASET, OTHER, DOMAIN, CHILD}
    assert holding("DOMAIN", "EQUALS", urn(CHILD)) == {DATASET, CHILD}
    assert holding("DOMAIN", "EQUALS", "urn:li:domain:none") == set()


def test_the_second_relation_is_read_only_where_the_first_is_empty() -> None:
    assert holding("DOMAIN", "EQUALS", "urn:li:domain:ignored") == {"domain:urn:li:domain:ignored"}


def test_a_container_covers_what_lies_in_it_but_not_the_columns() -> None:
    assert holding("CONTAINER", "EQUALS", urn(OUTER)) == {OUTER, INNER, DATASET}
    assert holding("CONTAINER", "STARTS_WITH", "urn:li:container:in") == {INNER, DATASET}
    assert holding("CONTAINER", "EQUALS", urn(DATASET)) == set()


def test_a_tag_is_matched_directly() -> None:
    assert holding("TAG", "EQUALS", urn(TAG)) == {DATASET}
    assert holding("TAG", "STARTS_WITH", "urn:li:tag:p") == {DATASET, OTHER}


def test_not_equals_holds_where_nothing_is_known() -> None:
    everything = holding("TYPE", "STARTS_WITH", "d", "t", "c", "s")
    assert holding("TAG", "NOT_EQUALS", urn(TAG)) >= everything - {DATASET}
    assert DATASET not in holding("TAG", "NOT_EQUALS", urn(TAG))
    assert DATASET in holding("TAG", "NOT_EQUALS")


def test_owners_groups_and_attributes_are_matched_by_name() -> None:
    assert holding("OWNER", "EQUALS", "urn:li:corpuser:ana") == {DATASET}
    assert holding("OWNER", "STARTS_WITH", "urn:li:corpuser:") == {DATASET}
    assert holding("GROUP", "EQUALS", "urn:li:corpGroup:staff") == {ANA}
    assert holding("PROPERTY", "EQUALS", "urn:p=low") == {DATASET, OTHER}
    assert holding("PROPERTY", "EQUALS", "urn:p") == {DATASET, OTHER}
    assert holding("PROPERTY", "EQUALS", "urn:p=high") == {DATASET}


def test_criteria_narrow_each_other_and_none_means_any_resource() -> None:
    both = Where((equals("TYPE", "dataset"), equals("TYPE", "dataset"), equals("TAG", urn(TAG))))
    rows = match(Stored(CODED), [normal(both, Reach.EXACTLY)])[0]
    assert entities(CODED, rows) == {DATASET}
    anything, resources = match(
        Stored(CODED), [normal(Anything(), Reach.BELOW), normal(Where(()), Reach.BELOW)]
    )
    assert anything - resources == BitMap([0])


def test_one_block_answers_many_scopes_alike() -> None:
    prefix = Criterion("TAG", Condition.STARTS_WITH, ("urn:li:tag:p",))
    late = [equals("DOMAIN", urn(DOMAIN)), equals("DOMAIN", urn(CHILD))]
    block = Stored(CODED)
    scopes = [normal(Where((c,)), Reach.EXACTLY) for c in (prefix, *late, prefix, *late)]
    rows = match(block, scopes)
    assert rows[:3] == rows[3:]
    assert all(rows)


def test_a_block_of_some_rows_answers_for_those_only() -> None:
    id = CODED.tree.find(CAT.entity(DATASET))
    assert id is not None
    some = Stored(CODED, BitMap([id]))
    scopes: list[Scope] = [Anything(), Where(()), Where((equals("TYPE", "dataset"),))]
    assert match(some, [normal(s, Reach.EXACTLY) for s in scopes]) == [BitMap([id])] * 3


def test_a_column_belongs_to_its_table_stored_or_not() -> None:
    assert holding("TABLE", "EQUALS", urn(DATASET)) == {COLUMN}
    new = Named(CODED, Entity("schemaField", urn(COLUMN).replace(",x)", ",y)")))
    assert in_one(new, equals("TABLE", urn(DATASET)))
    assert not in_one(new, equals("TABLE", urn(OTHER)))


def test_a_name_that_is_not_stored_is_matched_by_what_it_tells() -> None:
    column = Named(CODED, Entity("schemaField", urn(COLUMN).replace(",x)", ",y)")))
    assert in_one(column, equals("TYPE", "schemaField"))
    assert in_one(column, Criterion("URN", Condition.STARTS_WITH, ("urn:li:schemaField:",)))
    assert not in_one(column, equals("CONTAINER", urn(INNER)))
    assert not in_one(column, equals("OWNER", "urn:li:corpuser:ana"))
    domain = Named(CODED, Entity("domain", "urn:li:domain:new"))
    assert in_one(domain, equals("DOMAIN", "urn:li:domain:new"))
    assert not in_one(Named(CODED, NO_RESOURCE))
    assert match(Named(CODED, NO_RESOURCE), [normal(Anything(), Reach.EXACTLY)]) == [BitMap([0])]
    member = Named(CODED, Entity("corpuser", "urn:li:corpuser:ana"))
    assert in_one(member, equals("GROUP", "urn:li:corpGroup:staff"))
    assert not in_one(Named(CODED, Entity("dataset", "")), equals("URN", ""))


def test_anchors_reach_exactly_below_and_above() -> None:
    lake = code(
        world(LAKE, ["metalake:m", "catalog:m:c", "schema:m:c.s", "table:m:c.s.t"]),
        LAKE.model,
        LAKE.spelling,
    )
    schema = On(LAKE.entity("schema:m:c.s"))
    missing = On(Entity("schema", "m:c.none"))
    scopes = [normal(s, reach) for s in (schema, missing) for reach in Reach]
    found = [entities(lake, rows) for rows in match(Stored(lake), scopes)]
    assert found == [
        {"schema:m:c.s"},
        {"schema:m:c.s", "table:m:c.s.t"},
        {"schema:m:c.s", "catalog:m:c", "metalake:m"},
        set(),
        set(),
        {"catalog:m:c", "metalake:m"},
    ]
    table = Named(lake, Entity("table", "m:c.s.new"))
    assert [bool(row) for row in match(table, scopes[:3])] == [False, True, False]
    above = Named(lake, Entity("catalog", "m:c"))
    assert [bool(row) for row in match(above, scopes)] == [False, False, True, False, False, True]
    own = Named(lake, Entity("schema", "m:c.none"))
    assert [bool(row) for row in match(own, scopes[3:])] == [True, True, True]


def test_wildcards_match_part_by_part() -> None:
    cdap = load_system("cdap")
    texts = [
        "namespace:a",
        "namespace:b",
        "dataset:a.x1",
        "dataset:b.x2",
        "dataset:a.y",
        "application:a.app",
        "program:a.app.workflow.w",
    ]
    coded = code(world(cdap, texts), cdap.model, cdap.spelling)
    pattern = Matching("dataset", ("a", "x?"))
    programs = Matching("program", ("*", "app", "workflow.*"))
    apps = Matching("application", ("*", "app"))
    scopes = [
        normal(pattern, Reach.EXACTLY),
        normal(pattern, Reach.ABOVE),
        normal(programs, Reach.ABOVE),
        normal(apps, Reach.BELOW),
        normal(Matching("stream", ("*", "*")), Reach.BELOW),
        normal(Matching("artifact", ("*", "*")), Reach.EXACTLY),
        normal(Matching("dataset", ("a",)), Reach.EXACTLY),
        normal(Matching("dataset", ("a", "x1", "more")), Reach.EXACTLY),
    ]
    found = [entities(coded, rows) for rows in match(Stored(coded), scopes)]
    program = "program:a.app.workflow.w"
    assert found == [
        {"dataset:a.x1"},
        {"dataset:a.x1", "namespace:a"},
        {program, "application:a.app", "namespace:a", "namespace:b"},
        {"application:a.app", program},
        *[set[str]()] * 4,
    ]
    new = Named(coded, Entity("program", "b.app.workflow.new"))
    assert [bool(r) for r in match(new, scopes[:6])] == [False, False, True, True, False, False]
    namespace = Named(coded, Entity("namespace", "zzz"))
    assert [bool(r) for r in match(namespace, scopes)] == [False, False, True, *[False] * 5]
    assert not any(match(Named(coded, Entity("dataset", "")), scopes))


def test_domains_on_a_cycle_reach_only_themselves() -> None:
    facts = world(
        CAT,
        [DATASET],
        placed={DOMAIN: CHILD, CHILD: DOMAIN},
        relations=[("domain", DATASET, CHILD)],
    )
    coded = code(facts, CAT.model, CAT.spelling)
    scope = Where((equals("DOMAIN", urn(DOMAIN)),))
    rows = match(Stored(coded), [normal(scope, Reach.EXACTLY)])[0]
    assert entities(coded, rows) == {DOMAIN}
    inner = Where((equals("DOMAIN", urn(CHILD)),))
    rows = match(Stored(coded), [normal(inner, Reach.EXACTLY)])[0]
    assert entities(coded, rows) == {DATASET, CHILD}
    beside = Where((equals("CONTAINER", urn(DOMAIN)), equals("TABLE", urn(DATASET))))
    assert not match(Stored(coded), [normal(beside, Reach.EXACTLY)])[0]
    table = Where((equals("TABLE", urn(DATASET)),))
    assert not match(Stored(coded), [normal(table, Reach.EXACTLY)])[0]


def test_rows_about_what_is_not_stored_are_refused() -> None:
    ghost = Entity("dataset", urn(OTHER))
    for facts, what in (
        (Facts(owners=[OwnerRow(ghost, user("ana"))]), "owner of"),
        (Facts(relations=[RelationRow("tag", ghost, ghost)]), "relation of"),
    ):
        with pytest.raises(BadInput, match=f"{what} .* not stored"):
            code(facts, CAT.model, CAT.spelling)


def test_what_a_lake_names_must_be_stored() -> None:
    orphan = Facts(entities=[EntityRow(Entity("schema", "m:c.s"), Entity("catalog", "m:c"))])
    with pytest.raises(BadInput, match="` is named but not stored"):
        code(orphan, LAKE.model, LAKE.spelling)


def test_an_undeclared_relation_is_refused() -> None:
    facts = replace(FACTS, relations=[RelationRow("likes", CAT.entity(TAG), CAT.entity(TAG))])
    with pytest.raises(BadInput, match="unknown relation `likes`; expected one of: domain"):
        code(facts, CAT.model, CAT.spelling)


def test_rows_come_back_as_they_went_in() -> None:
    again = rows_of(CODED, {})
    assert set(again.entities) == set(FACTS.entities)
    assert set(again.relations) == set(FACTS.relations)
    assert set(again.attributes) == set(FACTS.attributes)
    assert set(again.owners) == set(FACTS.owners)
    assert set(again.memberships) == set(FACTS.memberships)
    assert set(again.principals) == set(FACTS.principals)


def test_the_canonical_key_of_a_name_that_is_not_stored_follows_its_spelling() -> None:
    assert CODED.key(Entity("schemaField", urn(COLUMN)))[-1] == (urn(COLUMN), "schemaField")
    assert CODED.key(Entity("dataset", "")) == (("", "dataset"),)
    assert CODED.label("urn:li:ownershipType:none") == -1


def test_what_another_type_comes_between_is_not_followed() -> None:
    facts = world(CAT, [OUTER], placed={DATASET: OUTER, INNER: DATASET, OTHER: INNER})
    within = normal(Where((equals("CONTAINER", urn(OUTER)),)), Reach.EXACTLY)
    coded = code(facts, CAT.model, CAT.spelling)
    assert entities(coded, match(Stored(coded), [within])[0]) == {OUTER, DATASET}


def test_a_relation_is_read_only_where_nothing_lies_above() -> None:
    field = replace(CAT.model.fields["CONTAINER"], origin=("parent", "late_domain"))
    model = replace(CAT.model, fields={**CAT.model.fields, "CONTAINER": field})
    facts = world(
        CAT,
        [OUTER, OTHER],
        placed={DATASET: OUTER},
        relations=[("late_domain", DATASET, INNER), ("late_domain", OTHER, INNER)],
    )
    coded = code(facts, model, CAT.spelling)
    named = normal(Where((equals("CONTAINER", urn(INNER)),)), Reach.EXACTLY)
    assert OTHER in entities(coded, match(Stored(coded), [named])[0])
    assert DATASET not in entities(coded, match(Stored(coded), [named])[0])


def test_beside_a_cycle_a_container_covers_what_lies_in_it() -> None:
    third, fourth = "container:urn:li:container:third", "container:urn:li:container:fourth"
    facts = world(
        CAT,
        [third, COLUMN],
        placed={OUTER: INNER, INNER: OUTER, DATASET: OUTER, fourth: third, OTHER: fourth},
    )
    coded = code(facts, CAT.model, CAT.spelling)

    def covered(container: str) -> set[str]:
        named = normal(Where((equals("CONTAINER", urn(container)),)), Reach.EXACTLY)
        return entities(coded, match(Stored(coded), [named])[0])

    assert covered(third) == {third, fourth, OTHER}
    assert covered(OUTER) == {OUTER, DATASET}
    assert covered(INNER) == {INNER}
