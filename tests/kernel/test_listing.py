"""Listings are exactly the entities that a check allows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lakewarden.kernel import listing as listing_module
from lakewarden.kernel import matrix as matrix_module
from lakewarden.kernel import memos, snapshot
from lakewarden.kernel.batch import Batch, decide_many
from lakewarden.kernel.change import EntityAdded, EntityDropped
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, StaleSnapshot, Unknown
from lakewarden.kernel.incremental_compile import apply
from lakewarden.kernel.listing import count, filtered, listing, named, page
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.request import Request
from lakewarden.service.system import System
from tests.kernel.small import CATALOG, matrix, question, system, user, world
from tests.kernel.small import CATALOG_SYSTEM as CAT
from tests.kernel.small import LAKE_SYSTEM as LAKE
from tests.kernel.test_matrix import CAT_FACTS, COLUMN, DATASET, LAKE_FACTS, T

WHO = {
    "lake": ("ana", "ben", "cid", "owner", "schema-owner", "table-owner", "barred", "stranger"),
    "catalog": ("ana", "ben", "cid", "typed", "limited", "high"),
}


def everyone(of: System) -> list[Principal]:
    return [of.principal(name) for name in WHO[of.model.name]]


def checked(m: Matrix, request: Request) -> set[Entity]:
    operation = m.operation(request.operation)
    stored = [m.snapshot.coded.tree.entity(id) for id in m.snapshot.coded.tree.stored]
    kept = [e for e in stored if operation.rule_or_none(e.type) is not None]
    return {e for e in kept if m.decide(replace(request, target=e)).allow}


@pytest.fixture(params=["classes", "few", "bitmaps"])
def limit(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    limits = {"classes": 16_384, "few": 5, "bitmaps": 0}
    monkeypatch.setattr(snapshot, "CLASS_LIMIT", limits[request.param])
    return str(request.param)


@pytest.mark.usefixtures("limit")
@pytest.mark.parametrize(("few", "small"), [(0, 0), (8, 0), (8, 16)])
@pytest.mark.parametrize(("of", "facts"), [(LAKE, LAKE_FACTS), (CAT, CAT_FACTS)])
def test_a_list_is_the_set_of_positive_checks(
    of: System, facts: object, few: int, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regardless of the number of entities that are walked singly, and of the size of classes."""
    monkeypatch.setattr(listing_module, "FEW", few)
    monkeypatch.setattr(matrix_module, "SMALL", small)
    m = matrix(of, LAKE_FACTS if of is LAKE else CAT_FACTS)
    for principal in everyone(of):
        for operation in of.model.operations:
            request = Request(principal, operation)
            expected = checked(m, request)
            assert count(m, request) == len(expected)
            assert named(m, listing(m, request)) == expected
            assert named(m, listing(m, request)) == expected
            assert count(m, request) == len(expected)
            entities = sorted(expected) + [Entity("table", "m:none.s.t")] * (of is LAKE)
            entities = [e for e in entities if m.operation(operation).rule_or_none(e.type)]
            singles = [
                i for i, e in enumerate(entities) if m.decide(replace(request, target=e)).allow
            ]
            assert filtered(m, request, entities) == singles


@pytest.mark.usefixtures("limit")
def test_what_a_request_brings_counts_in_lists_too() -> None:
    m = matrix(LAKE, LAKE_FACTS)
    plain = question(LAKE, "cid", "load", None)
    staff = replace(plain, groups=(Principal("group", "staff"),))
    assert named(m, listing(m, staff)) == {LAKE.entity(T), LAKE.entity("table:m:c.s.u")}
    ana = question(LAKE, "ana", "load", None)
    assert not listing(m, replace(ana, roles=frozenset()))
    assert not listing(m, replace(ana, roles=frozenset({Principal("role", "m:barring")})))
    pii = LAKE.entity("tag:m:pii")
    tags = replace(question(LAKE, "ana", "put_tags", None), lists={"tags": (pii,)})
    assert named(m, listing(m, tags)) == checked(m, tags)
    copy = question(LAKE, "ana", "copy", None)
    there = replace(copy, targets={"to": LAKE.entity("schema:m:c.s")})
    nowhere = replace(copy, targets={"to": Entity("schema", "m:c.none")})
    assert named(m, listing(m, there)) == checked(m, there)
    assert not listing(m, nowhere)
    assert filtered(m, there, [LAKE.entity(T)]) == [0]
    c = matrix(CAT, CAT_FACTS)
    tag = replace(
        question(CAT, "limited", "edit", None), subresources=(CAT.entity("tag:urn:li:tag:c"),)
    )
    assert named(c, listing(c, tag)) == checked(c, tag)
    soft = replace(question(CAT, "cid", "unlock", None), attributes={"action.soft": False})
    assert named(c, listing(c, soft)) == checked(c, soft) != set()


def test_within_keeps_what_lies_below() -> None:
    m = matrix(LAKE, LAKE_FACTS)
    request = question(LAKE, "owner", "show", None)
    inside = named(m, listing(m, request, LAKE.entity("schema:m:c.s")))
    assert inside == {LAKE.entity(T), LAKE.entity("table:m:c.s.u")}
    assert not listing(m, request, Entity("schema", "m:none.s"))
    assert count(m, request, LAKE.entity("schema:m:c.s")) == 2


def test_pages_follow_the_canonical_order_and_end() -> None:
    m = matrix(LAKE, LAKE_FACTS)
    request = question(LAKE, "owner", "show", None)
    expected = [m.snapshot.coded.tree.entity(id) for id in listing(m, request)]
    seen: list[Entity] = []
    after = None
    while True:
        found = page(m, request, 2, after)
        assert found.total == len(expected)
        seen += found.entities
        if found.after is None:
            break
        after = found.after
    assert seen == expected
    for skip in range(len(expected) + 1):
        assert page(m, request, 2, skip=skip).entities == tuple(expected[skip : skip + 2])
    assert page(m, request, 1, expected[0], skip=1).entities == (expected[2],)
    with pytest.raises(BadInput, match="page size"):
        page(m, request, 0)


def test_pages_keep_their_order_when_entities_come_and_go() -> None:
    m = matrix(LAKE, LAKE_FACTS)
    request = question(LAKE, "owner", "load", None)
    new = LAKE.entity("table:m:c.s.between")
    later = apply(m, [EntityAdded(new, LAKE.entity("schema:m:c.s"))], now=0.0, revision=2)
    first = page(later, request, 1)
    assert first.entities == (new,)
    assert page(later, request, 1, skip=1).entities == (LAKE.entity(T),)
    assert page(later, request, 1, skip=2).entities == (LAKE.entity("table:m:c.s.u"),)
    assert page(later, request, 9, first.after).entities == (
        LAKE.entity(T),
        LAKE.entity("table:m:c.s.u"),
    )
    gone = apply(later, [EntityDropped(LAKE.entity(T))], now=0.0, revision=3)
    rest = page(gone, request, 9, LAKE.entity(T))
    assert rest.entities == (LAKE.entity("table:m:c.s.u"),)
    assert page(gone, request, 9).entities == (new, LAKE.entity("table:m:c.s.u"))


def test_filtering_refuses_what_a_check_would_refuse() -> None:
    m = matrix(LAKE, LAKE_FACTS)
    with pytest.raises(Unknown, match="target type"):
        filtered(m, question(LAKE, "ana", "load", None), [LAKE.entity("catalog:m:c")])
    with pytest.raises(StaleSnapshot):
        count(m, question(LAKE, "ana", "load", None, float("inf")))


@pytest.mark.usefixtures("limit")
def test_a_batch_is_the_singles_in_order() -> None:
    for of, facts in ((LAKE, LAKE_FACTS), (CAT, CAT_FACTS)):
        m = matrix(of, facts)
        requests = [
            Request(principal, operation, row.entity)
            for operation, declared in of.model.operations.items()
            for row in facts.entities
            for principal in everyone(of)
            if declared.rule_or_none(row.entity.type) is not None
        ]
        requests.append(replace(requests[0], roles=frozenset()))
        requests.append(
            replace(requests[0], target=Entity("dataset" if of is CAT else "table", "m:x.y.z"))
        )
        if m.operation(requests[-1].operation).rule_or_none(requests[-1].target.type) is None:
            requests.pop()
        assert decide_many(m, requests) == [m.decide(r).allow for r in requests]
        assert decide_many(m, []) == []


@pytest.mark.usefixtures("limit")
def test_a_prepared_batch_answers_by_numbers() -> None:
    m = matrix(LAKE, LAKE_FACTS)
    principals = everyone(LAKE)
    batch = Batch(m, "load", "table", principals)
    tree = m.snapshot.coded.tree
    ids = [*tree.of_type("table"), -1]
    pairs = [(batch.numbers[p], id) for p in principals for id in ids]
    left, right = (np.array(column, dtype=np.int32) for column in zip(*pairs, strict=True))
    answers = batch.decide(left, right, 0.0).tolist()
    for (number, id), answer in zip(pairs, answers, strict=True):
        single = id >= 0 and m.decide(Request(principals[number], "load", tree.entity(id))).allow
        assert answer == single
    empty = Batch(m, "load", "table", [])
    assert empty.decide(left[:0], right[:0], 0.0).tolist() == []
    nothing_owned = Batch(m, "load", "table", [user("cid")])
    zero = np.zeros(len(ids), dtype=np.int32)
    assert not nothing_owned.decide(zero, np.array(ids, dtype=np.int32), 0.0).any()


def test_whoever_is_not_remembered_is_listed_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memos, "NAMED_LIMIT", 0)
    m = matrix(CAT, CAT_FACTS)
    for _ in range(2):
        assert named(m, listing(m, question(CAT, "nobody", "known"))) == {
            row.entity for row in CAT_FACTS.entities
        }


def test_a_batch_over_a_cycle_ends() -> None:
    top, child = "domain:urn:li:domain:top", "domain:urn:li:domain:child"
    facts = world(
        CAT,
        [DATASET],
        placed={top: child, child: top},
        owners={DATASET: ["ana"]},
        statements=[{"id": "o", "privileges": ["EDIT"], "to": ["owners"], "where": []}],
    )
    m = matrix(CAT, facts)
    requests = [question(CAT, who, "edit", on) for who in ("ana", "ben") for on in (top, child)]
    assert decide_many(m, requests) == [m.decide(r).allow for r in requests] == [False] * 4


def test_a_list_of_one_type_of_many() -> None:
    m = matrix(CAT, CAT_FACTS)
    assert CAT.entity(DATASET) in named(m, listing(m, question(CAT, "ana", "edit", None)))


def test_a_listing_can_be_kept_to_one_type() -> None:
    m = matrix(LAKE, LAKE_FACTS)
    asked = question(LAKE, "ana", "show")
    every = named(m, listing(m, asked))
    assert {entity.type for entity in every} > {"table"}
    for type in ("table", "schema", "nothing"):
        only = {entity for entity in every if entity.type == type}
        assert named(m, listing(m, asked, type=type)) == only
        found = page(m, asked, 100, type=type)
        assert (set(found.entities), found.total) == (only, len(only))


def test_a_related_entity_of_another_type_than_a_column_stands_for_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For every position of its type: an aspect comes before columns, a zone after them."""
    more = system(
        CATALOG.replace("[types.query]", "[types.aspect]\n[types.zone]\n[types.query]").replace(
            'to = ["dataset", "schemaField"]', 'to = ["aspect", "dataset", "schemaField", "zone"]'
        )
    )
    view = {"id": "v", "privileges": ["VIEW"], "to": ["user:urn:li:corpuser:ana"], "where": []}
    subjects = ("aspect:urn:li:aspect:a", DATASET, COLUMN, "zone:urn:li:zone:z")
    queries = [f"query:urn:li:query:{n}" for n in range(len(subjects))]
    facts = world(
        more,
        [*queries, *subjects],
        relations=[("subject", q, s) for q, s in zip(queries, subjects, strict=True)],
        statements=[view],
    )
    m = matrix(more, facts)
    monkeypatch.setattr(listing_module, "FEW", 0)
    asked = Request(more.principal("ana"), "ask")
    assert named(m, listing(m, asked)) == {more.entity(q) for q in queries}


def test_a_page_may_begin_behind_a_name_that_nobody_stored() -> None:
    m = matrix(LAKE, LAKE_FACTS)
    request = question(LAKE, "owner", "load", None)
    t, u = LAKE.entity(T), LAKE.entity("table:m:c.s.u")
    assert page(m, request, 9).entities == (t, u)
    assert page(m, request, 9, LAKE.entity("table:m:c.s.tt")).entities == (u,)
    assert page(m, request, 9, LAKE.entity("table:m:c.s.a")).entities == (t, u)
    assert page(m, request, 9, LAKE.entity("table:m:c.s.v")).entities == ()


def test_nobody_with_too_many_memberships_is_counted_or_listed() -> None:
    chain = [f"group:g{n:02}" for n in range(66)]
    below = ["ana", *chain]
    members = {group: [member] for member, group in zip(below, chain, strict=False)}
    m = matrix(LAKE, world(LAKE, ["metalake:m", "catalog:m:c"], members=members))
    request = question(LAKE, "ana", "look", None)
    assert m.snapshot.coded.memberships.is_too_nested(request.principal)
    assert count(m, request) == len(listing(m, request)) == 0


def test_filtering_asks_about_names_that_are_not_stored_too() -> None:
    m = matrix(CAT, CAT_FACTS)
    new = CAT.entity("container:urn:li:container:new")
    stored = CAT.entity(DATASET)
    assert filtered(m, question(CAT, "nobody", "known", None), [new, stored, new]) == [0, 1, 2]
    assert filtered(m, question(CAT, "nobody", "edit", None), [new, stored]) == []
