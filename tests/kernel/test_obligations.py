"""Row filters and column masks: the users and entities that they bind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lakewarden.kernel import memos
from lakewarden.kernel import snapshot as snapshots
from lakewarden.kernel.change import (
    Change,
    EntityAdded,
    EntityDropped,
    EntityRenamed,
    StatementAdded,
    StatementRemoved,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import StaleSnapshot, Unknown
from lakewarden.kernel.incremental_compile import apply
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.obligations import (
    binding_inside,
    carries_limits,
    is_limited,
    obligations,
    obligations_anywhere,
)
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Effect, Matching, Statement
from lakewarden.kernel.statement_file import read_statements
from tests.kernel.small import CATALOG_SYSTEM, LAKE, binding, matrix, system, user, world

SYSTEM = binding(
    system(LAKE.replace("[types.tag]", '[types.column]\nparent = "table"\n[types.tag]', 1)),
    rows="table",
    values="column",
)
WITH_VIEWS = binding(
    system(
        LAKE.replace(
            "[types.tag]",
            '[types.view]\nparent = "schema"\n[types.column]\nparent = "table"\n[types.tag]',
            1,
        )
    ),
    rows="table view",
    values="column",
)
ORDERS, IBAN = "table:m:c.s.orders", "column:m:c.s.orders.iban"
FACTS = world(
    SYSTEM,
    [
        "metalake:m",
        "catalog:m:c",
        "schema:m:c.s",
        ORDERS,
        IBAN,
        "table:m:c.s.other",
        "role:m:seen",
    ],
    members={"group:sales": ["ana", "ben"], "role:m:seen": ["ben", "cid"]},
    owners={ORDERS: ["olga=technical"]},
    users=["ana", "ben", "cid", "olga"],
)


@pytest.fixture(params=[16_384, 0], ids=["classes", "bitmaps"], autouse=True)
def forms(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both forms of the matrix."""
    monkeypatch.setattr(snapshots, "CLASS_LIMIT", request.param)


def statements(*tables: dict[str, Any]) -> tuple[Statement, ...]:
    named = [{"id": f"s{n}", "expression": "e", **table} for n, table in enumerate(tables)]
    return read_statements(named, SYSTEM.model, SYSTEM.spelling, "test")


def made(*tables: dict[str, Any], facts: Facts = FACTS) -> Matrix:
    return matrix(SYSTEM, replace(facts, statements=statements(*tables)))


def bound(m: Matrix, who: str, on: str, effect: Effect = Effect.FILTER, **more: Any) -> list[str]:
    request = Request(user(who), "", SYSTEM.entity(on), **more)
    return [one.id for one in obligations(m, request, effect)]


def filtering(on: str = ORDERS, **keys: Any) -> dict[str, Any]:
    return {"effect": "filter", "on": on, **keys}


def masking(on: str = IBAN, **keys: Any) -> dict[str, Any]:
    return {"effect": "mask", "on": on, **keys}


@pytest.mark.parametrize(
    ("keys", "who"),
    [
        ({}, "ana ben cid olga stranger"),
        ({"to": ["group:sales"]}, "ana ben"),
        ({"to": ["group:sales", "owners"]}, "ana ben olga"),
        ({"to": ["owners"]}, "olga"),
        ({"to": ["owners:technical"]}, "olga"),
        ({"to": ["owners:business"]}, ""),
        ({"except": ["group:sales"]}, "cid olga stranger"),
        ({"except": ["role:m:seen"]}, "ana olga stranger"),
        ({"except": ["owners"]}, "ana ben cid stranger"),
        ({"except": ["owners:business"]}, "ana ben cid olga stranger"),
        ({"to": ["group:sales"], "except": ["user:ben"]}, "ana"),
        ({"to": ["user:olga"], "except": ["owners"]}, ""),
        ({"active": False}, ""),
        ({"valid_from": 1}, ""),
        ({"valid_until": 0}, ""),
    ],
)
@pytest.mark.parametrize("kind", [filtering, masking])
def test_a_statement_binds_whom_it_names_and_does_not_spare(
    kind: Any, keys: dict[str, Any], who: str
) -> None:
    m = made(kind(**keys))
    on, effect = (ORDERS, Effect.FILTER) if kind is filtering else (IBAN, Effect.MASK)
    people = ("ana", "ben", "cid", "olga", "stranger")
    assert [one for one in people if bound(m, one, on, effect)] == who.split()


@pytest.mark.parametrize(
    ("on", "reached"),
    [
        (ORDERS, True),
        ("schema:m:c.s", True),
        ("metalake:m", True),
        ("table:m:c.s.other", False),
    ],
)
def test_an_obligation_reaches_entities_below_its_anchor(on: str, reached: bool) -> None:
    m = made(filtering(on), masking(on))
    assert bool(bound(m, "ana", ORDERS)) is reached
    assert bool(bound(m, "ana", IBAN, Effect.MASK)) is reached


def test_a_column_that_is_not_stored_is_bound_by_its_name() -> None:
    new = "column:m:c.s.orders.new"
    m = made(masking("schema:m:c.s"), masking(ORDERS, **{"except": ["owners"]}))
    assert bound(m, "ana", new, Effect.MASK) == ["s0", "s1"]
    assert bound(m, "olga", new, Effect.MASK) == ["s0"]
    assert bound(m, "ana", "column:m:d.s.t.c", Effect.MASK) == []


def test_filters_and_masks_are_told_apart_and_allow_nothing() -> None:
    m = made(filtering(), masking(ORDERS))
    assert bound(m, "ana", ORDERS) == ["s0"]
    assert bound(m, "ana", ORDERS, Effect.MASK) == ["s1"]
    for privilege in SYSTEM.model.privileges:
        assert not m.decide(Request(user("ana"), privilege, SYSTEM.entity(ORDERS))).allow


def test_who_puts_a_role_aside_is_spared_no_more_and_bound_as_before() -> None:
    m = made(filtering(ORDERS, **{"except": ["role:m:seen"]}), filtering(to=["role:m:seen"]))
    assert bound(m, "cid", ORDERS) == ["s1"]
    assert bound(m, "cid", ORDERS, roles=frozenset()) == ["s0", "s1"]


def test_groups_that_come_with_the_request_count() -> None:
    m = made(filtering(to=["group:sales"]))
    sales = (Principal("group", "sales"),)
    assert bound(m, "cid", ORDERS) == []
    assert bound(m, "cid", ORDERS, groups=sales) == ["s0"]


def test_only_owners_of_the_nearest_that_may_have_any_are_spared() -> None:
    everywhere = made(filtering("metalake:m", **{"except": ["owners"]}))
    assert bound(everywhere, "olga", ORDERS) == []
    assert bound(everywhere, "olga", "table:m:c.s.other") == ["s0"]


def test_what_may_have_no_owners_spares_nobody_as_one() -> None:
    of = binding(CATALOG_SYSTEM, rows="query")
    query = "query:urn:li:query:q"
    rule = filtering(query, id="s", expression="e", **{"except": ["owners"]})
    m = matrix(of, world(of, [query], statements=[rule]))
    request = Request(of.principal("ana"), "", of.entity(query))
    assert [one.id for one in obligations(m, request, Effect.FILTER)] == ["s"]


def test_a_statement_that_comes_or_goes_is_followed() -> None:
    m = made(filtering())
    assert bound(m, "ana", ORDERS) == ["s0"]
    (more,) = statements(filtering("schema:m:c.s", id="more", to=["user:new"]))
    later = apply(m, [StatementAdded(more)], now=0.0, revision=2)
    assert bound(later, "new", ORDERS) == ["more", "s0"]
    assert bound(later, "ana", ORDERS) == ["s0"]
    last = apply(later, [StatementRemoved("s0")], now=0.0, revision=3)
    assert bound(last, "new", ORDERS) == ["more"]
    assert bound(last, "ana", ORDERS) == []


def test_an_obligation_binds_again_after_its_anchor_is_recreated() -> None:
    m = made(filtering(to=["user:ana"]), masking())
    orders, iban = SYSTEM.entity(ORDERS), SYSTEM.entity(IBAN)
    schema = SYSTEM.spelling.parent(orders)
    dropped = apply(m, [EntityDropped(orders)], now=0.0, revision=2)
    assert set(dropped.snapshot.table.statements) >= {"s0", "s1"}
    added = [EntityAdded(orders, schema), EntityAdded(iban, orders)]
    again = apply(dropped, added, now=0.0, revision=3)
    for one in (m, again):
        assert bound(one, "ana", ORDERS) == ["s0"]
        assert bound(one, "ben", ORDERS) == []
        assert bound(one, "ben", IBAN, Effect.MASK) == ["s1"]
    last = apply(again, [StatementRemoved("s1")], now=0.0, revision=4)
    assert bound(last, "ben", IBAN, Effect.MASK) == []


def test_an_obligation_binds_an_entity_renamed_to_its_anchor() -> None:
    m = made(filtering())
    orders, other = SYSTEM.entity(ORDERS), SYSTEM.entity("table:m:c.s.other")
    changes: list[Change] = [EntityDropped(orders), EntityRenamed(other, orders.name)]
    later = apply(m, changes, now=0.0, revision=2)
    assert bound(later, "ana", ORDERS) == ["s0"]


def test_obligations_that_bind_anywhere_are_found_without_a_target() -> None:
    m = made(masking(), masking(ORDERS, to=["user:ben"]), masking(ORDERS, **{"except": ["owners"]}))
    request = Request(user("ana"), "", Entity("metalake", "m"))
    assert [one.id for one in obligations_anywhere(m, request, Effect.MASK)] == ["s0"]


def test_what_is_remembered_is_dropped_when_there_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memos, "OBLIGATION_LIMIT", 1)
    m = made(filtering(to=["user:ana"]))
    for _ in range(2):
        assert bound(m, "ana", ORDERS) == ["s0"]
        assert bound(m, "ben", ORDERS) == []


def test_a_question_that_makes_no_sense_is_refused() -> None:
    m = made(filtering(valid_until=10))
    with pytest.raises(StaleSnapshot):
        bound(m, "ana", ORDERS, now=11.0)
    with pytest.raises(Unknown):
        obligations(m, Request(user("ana"), "", Entity("no", "m")), Effect.MASK)


def limited(m: Matrix, who: str, on: str = ORDERS) -> bool:
    return is_limited(m, Request(user(who), "", SYSTEM.entity(on)))


@pytest.mark.parametrize(
    "table",
    [
        filtering(),
        filtering("schema:m:c.s"),
        masking(),
        masking("column:m:c.s.orders.not_stored"),
        masking("schema:m:c.s"),
    ],
)
def test_a_table_is_limited_by_what_lies_on_it_above_it_and_inside_it(
    table: dict[str, Any],
) -> None:
    m = made({**table, "to": ["user:ana"]})
    assert limited(m, "ana")
    assert not limited(m, "ben")
    assert not limited(m, "ana", "table:m:c.t.orders")


def test_what_binds_inside_a_table_is_told_once_and_by_id() -> None:
    m = made(masking("schema:m:c.s"), masking("column:m:c.s.orders.not_stored"), masking(IBAN),
             masking(to=["user:ben"]), filtering())  # fmt: skip
    request = Request(user("ana"), "", SYSTEM.entity(ORDERS))
    found = [one.id for one in binding_inside(m, request, Effect.MASK)]
    assert found == ["s0", "s1", "s2"]
    assert [one.id for one in binding_inside(m, request, Effect.FILTER)] == ["s4"]
    column = replace(request, target=SYSTEM.entity(IBAN))
    assert [one.id for one in binding_inside(m, column, Effect.MASK)] == ["s0", "s2"]


def test_a_table_carries_what_binds_anybody_on_it() -> None:
    table = SYSTEM.entity(ORDERS)
    for stated in (filtering("schema:m:c.s"), masking("column:m:c.s.orders.not_stored")):
        spared = {**stated, "to": ["user:ben"], "except": ["owners"]}
        assert carries_limits(made(spared).snapshot, table)
        assert not carries_limits(made({**spared, "active": False}).snapshot, table)
    assert not carries_limits(made(filtering("schema:m:c.t")).snapshot, table)
    new = SYSTEM.entity("table:m:c.s.new")
    assert carries_limits(made(filtering("schema:m:c.s")).snapshot, new)


@pytest.mark.parametrize("on", ["table:m:c.s.other", "column:m:c.s.others.iban", "schema:m:c.t"])
def test_a_table_is_not_limited_by_what_lies_beside_it(on: str) -> None:
    effect = "mask" if on.startswith("column") else "filter"
    assert not limited(made({"effect": effect, "on": on}), "ana")


def test_a_table_that_is_not_stored_is_limited_by_its_name() -> None:
    assert limited(made(filtering("schema:m:c.s")), "ana", "table:m:c.s.new")
    assert not limited(made(filtering("schema:m:c.t")), "ana", "table:m:c.s.new")


def test_owners_whom_a_mask_spares_are_not_limited_by_it() -> None:
    for on in (IBAN, "column:m:c.s.orders.not_stored"):
        m = made({**masking(on), "except": ["owners"]})
        assert limited(m, "ana")
        assert not limited(m, "olga")


@pytest.mark.parametrize(
    ("type", "pattern", "expected"),
    [
        ("column", "m:c.s.*.phone", True),
        ("column", "m:c.*.ord?rs.*", True),
        ("column", "m:c.s.others*.phone", False),
        ("table", "m:c.s.o*", True),
        ("table", "m:c.s.x*", False),
    ],
)
def test_wildcards_limit_a_table_in_which_something_could_match(
    type: str, pattern: str, expected: bool
) -> None:
    parts = tuple(pattern.replace(":", ".").split("."))
    (one,) = statements({**masking(), "except": ["user:ben"]})
    m = matrix(SYSTEM, replace(FACTS, statements=(replace(one, scope=Matching(type, parts)),)))
    assert limited(m, "ana") is expected
    assert not limited(m, "ben")


VIEW = "view:m:c.s.orders"


@pytest.mark.parametrize(
    ("stored", "on", "bind"),
    [
        ("", ORDERS, {ORDERS: True, VIEW: True}),
        ("", "table:m:c.s.other", {ORDERS: False, VIEW: False}),
        (ORDERS, ORDERS, {ORDERS: True, VIEW: True}),
        (ORDERS, VIEW, {ORDERS: True, VIEW: True}),
        (VIEW, ORDERS, {ORDERS: True, VIEW: True}),
        (f"{ORDERS} {VIEW}", ORDERS, {ORDERS: True, VIEW: False}),
        (f"{ORDERS} {VIEW}", VIEW, {ORDERS: False, VIEW: True}),
        (ORDERS, "schema:m:c.s", {ORDERS: True, VIEW: True}),
    ],
)
def test_what_has_rows_is_bound_by_its_name_whatever_its_type(
    stored: str, on: str, bind: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine does not distinguish a table and a view of one name, unless the realm has both."""
    monkeypatch.setattr(memos, "OBLIGATION_LIMIT", 1)
    entities = ["metalake:m", "catalog:m:c", "schema:m:c.s", *stored.split()]
    rules = [
        filtering(on, id="s", expression="e", to=["user:ana"]),
        filtering("schema:m:c.s", id="others", expression="e", to=["user:ben"]),
        masking("schema:m:c.s", id="mask", expression="e", to=["user:cid"]),
    ]
    facts = world(WITH_VIEWS, entities, statements=rules)
    pattern = Matching("table", ("m", "c", "s", "x*"))
    matching = replace(facts.statements[0], id="matching", scope=pattern)
    m = matrix(WITH_VIEWS, replace(facts, statements=(*facts.statements, matching)))
    for asked, expected in bind.items():
        target = WITH_VIEWS.entity(asked)
        for who, found in (("ana", ["s"]), ("dan", [])):
            request = Request(user(who), "", target)
            binding_ids = [one.id for one in obligations(m, request, Effect.FILTER)]
            assert binding_ids == (found if expected else [])
            assert is_limited(m, request) is (bool(found) and expected)
    above = Request(user("ana"), "", WITH_VIEWS.entity("schema:m:c.s"))
    found = [one.id for one in obligations(m, above, Effect.FILTER)]
    assert found == (["s"] if on.startswith("schema") else [])


@pytest.mark.parametrize(
    ("stored", "on", "expected"),
    [
        ("", VIEW, True),
        (ORDERS, VIEW, True),
        (VIEW, ORDERS, True),
        (f"{ORDERS} {VIEW}", VIEW, False),
    ],
)
def test_a_column_is_limited_by_what_binds_by_the_name_of_its_table(
    stored: str, on: str, expected: bool
) -> None:
    entities = ["metalake:m", "catalog:m:c", "schema:m:c.s", *stored.split()]
    rule = filtering(on, id="s", expression="e")
    m = matrix(WITH_VIEWS, world(WITH_VIEWS, entities, statements=[rule]))
    request = Request(user("ana"), "", WITH_VIEWS.entity(IBAN))
    assert bool(obligations(m, request, Effect.FILTER)) is expected
    assert is_limited(m, request) is carries_limits(m.snapshot, request.target) is expected


def test_what_lies_in_itself_or_is_not_stored_has_no_rows_above_it() -> None:
    looped = {"schema:m:c.s": "schema:m:c.t", "schema:m:c.t": "schema:m:c.s"}
    m = matrix(SYSTEM, world(SYSTEM, ["metalake:m", "catalog:m:c"], placed=looped,
               statements=[filtering(id="s", expression="e")]))  # fmt: skip
    assert bound(m, "ana", "schema:m:c.s") == bound(m, "ana", "schema:m:c.no") == []
