"""Effects: the rows afterwards are the expected ones, and the feed reports them."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest

from lakewarden.expressions.lookup import LookupColumn, LookupTable
from lakewarden.expressions.types import Type
from lakewarden.kernel import cascade
from lakewarden.kernel.change import (
    AttributeChanged,
    EntityAdded,
    EntityDropped,
    EntityMoved,
    EntityRenamed,
    MembershipChanged,
    OwnerChanged,
    PrincipalChanged,
    RelationChanged,
    StatementAdded,
    StatementRemoved,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Conflict, Unknown
from lakewarden.kernel.obligations import obligations
from lakewarden.kernel.principal import GROUP, Principal, members_of
from lakewarden.kernel.relations import (
    AttributeRow,
    EntityRow,
    Facts,
    MembershipRow,
    OwnerRow,
    RelationRow,
)
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement import Effect as Way
from lakewarden.kernel.statement import On, Owners, Statement
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.actor import SYSTEM
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.effect import (
    DocumentChanged,
    Effect,
    FeedRow,
    RealmChanged,
    SecretChanged,
    TokenChanged,
    decode,
    encode,
)
from lakewarden.service.realm import Realm, Token
from lakewarden.service.replay import compare
from lakewarden.service.system import System, load_system
from lakewarden.store import SqlStore
from lakewarden.store.reading import PAGE_ROWS
from lakewarden.testing.changes import change
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import Size, make
from tests.store.lake import (
    ANA,
    CATALOG,
    DATAHUB,
    GRAVITINO,
    METALAKE,
    PEOPLE,
    REALM,
    SCHEMA,
    TABLE,
    TAG,
    effects_of,
    facts,
    sets,
    tables,
    with_realm,
    write,
)

SMALL = Size(entities=14, users=4, groups=2, roles=2, statements=8, goals=5)
OTHER = Entity("table", "lk:c.s.u")
STAFF = Principal(GROUP, "staff")
TAGGED = RelationRow("tag", TABLE, TAG)
READS = Statement("reads", Way.ALLOW, frozenset({"SELECT_TABLE"}), On(TABLE), frozenset({ANA}))


def expressible(of: Facts) -> Facts:
    """The facts without clauses about owners without a type, which no text expresses."""
    return replace(of, statements=[_expressible(statement) for statement in of.statements])


def _expressible(statement: Statement) -> Statement:
    nobody = statement.owners == Owners(frozenset())
    return replace(statement, owners=None) if nobody else statement


def decoded(rows: list[FeedRow], system: System | None) -> list[Effect]:
    return [decode(row, system) for row in rows]


@pytest.mark.by_day(4)
@pytest.mark.parametrize("name", ["gravitino", "datahub", "cdap"])
@pytest.mark.parametrize("seed", range(2))
def test_whatever_happens_to_a_world_is_stored(store: SqlStore, name: str, seed: int) -> None:
    system = load_system(name)
    world = expressible(make(system, seed, SMALL).facts)
    done = list(effects_of(world))
    write(store, *done)
    assert sets(facts(store, system=system)) == sets(world)
    for step in range(12):
        happened, world = change(system, world, seed * 100 + step)
        if isinstance(happened, StatementAdded):
            happened = StatementAdded(_expressible(happened.statement))
        snapshot = compile(facts(store, system=system), system.model, system.spelling, now=NOW)
        world = expressible(world)
        steps = cascade.steps(snapshot, happened)
        write(store, *steps)
        done += steps
        assert sets(facts(store, system=system)) == sets(world)
    with store.reading() as reading:
        fed = list(reading.feed(0))
    assert decoded(fed, system) == done
    for revision in range(1, 14):
        seqs = [row.seq for row in fed if row.revision == revision]
        assert seqs == list(range(len(seqs)))


@pytest.mark.parametrize("seed", range(2))
def test_one_write_with_everything_mixed_comes_to_the_same(store: SqlStore, seed: int) -> None:
    system = GRAVITINO
    before = world = expressible(make(system, seed, SMALL).facts)
    mixed: list[Effect] = []
    for step in range(25):
        happened, after = change(system, world, seed * 1000 + step)
        if isinstance(happened, StatementAdded):
            happened = StatementAdded(_expressible(happened.statement))
        snapshot = compile(world, system.model, system.spelling, now=NOW)
        mixed += cascade.steps(snapshot, happened)
        world = expressible(after)
    write(store, *effects_of(before), *mixed)
    assert sets(facts(store)) == sets(world)


def test_a_dropped_entity_takes_its_own_along_and_leaves_the_others(store: SqlStore) -> None:
    with_realm(
        store,
        EntityAdded(OTHER, SCHEMA),
        EntityAdded(TAG, METALAKE),
        *(RelationChanged(RelationRow("tag", table, TAG), True) for table in (TABLE, OTHER)),
        *(OwnerChanged(OwnerRow(table, ANA), True) for table in (TABLE, OTHER)),
        *(AttributeChanged(table, "a", ("x", "y")) for table in (TABLE, OTHER)),
        *(DocumentChanged(table, {"k": table.name}) for table in (TABLE, OTHER)),
        *(SecretChanged(table, "password", table.name) for table in (TABLE, OTHER)),
    )
    write(store, EntityDropped(TABLE))
    found = facts(store)
    assert found.relations == [RelationRow("tag", OTHER, TAG)]
    assert found.owners == [OwnerRow(OTHER, ANA)]
    assert found.attributes == [AttributeRow(OTHER, "a", "x"), AttributeRow(OTHER, "a", "y")]
    with store.reading() as reading:
        assert reading.documents(REALM, [TABLE, OTHER]) == {OTHER: {"k": OTHER.name}}
        assert reading.secrets(REALM, TABLE) == {}
        assert reading.secrets(REALM, OTHER) == {"password": OTHER.name}


def test_filters_and_masks_outlive_what_they_lie_on(store: SqlStore) -> None:
    column = Entity("column", f"{TABLE.name}.iban")
    tables = [
        {"id": "read", "privileges": ["SELECT_TABLE"], "to": "user:ana", "on": "table:lk:c.s.t"},
        {"id": "rows", "effect": "filter", "on": "table:lk:c.s.t", "expression": "a = 1"},
        {"id": "iban", "effect": "mask", "on": "column:lk:c.s.t.iban", "expression": "null"},
    ]
    stated = read_statements(tables, GRAVITINO.model, GRAVITINO.spelling, "test")
    with_realm(store, EntityAdded(column, TABLE), *map(StatementAdded, stated))
    service = DecisionService(store, clock=lambda: NOW)
    service.open()
    service.write(SYSTEM, lambda transaction: transaction.change(REALM, EntityDropped(SCHEMA)))
    assert {one.id for one in facts(store).statements} == {"rows", "iban"}
    more = (EntityAdded(SCHEMA, CATALOG), EntityAdded(TABLE, SCHEMA), EntityAdded(column, TABLE))
    service.write(SYSTEM, lambda transaction: transaction.change(REALM, *more))
    afresh = DecisionService(store, clock=lambda: NOW)
    afresh.open()
    for one in (service, afresh):
        matrix = one.state.realm(REALM).matrix
        for entity, effect, id in ((TABLE, Way.FILTER, "rows"), (column, Way.MASK, "iban")):
            binding = obligations(matrix, Request(ANA, "", entity, NOW), effect)
            assert [statement.id for statement in binding] == [id]
    with store.reading() as reading:
        assert compare(reading) == []


def test_an_edge_to_a_dropped_entity_goes_by_a_change_of_its_own(store: SqlStore) -> None:
    with_realm(store, EntityAdded(TAG, METALAKE), RelationChanged(TAGGED, True))
    write(store, EntityDropped(TAG))
    assert facts(store).relations == [TAGGED]
    write(store, RelationChanged(TAGGED, False))
    assert facts(store).relations == []


def test_a_renamed_entity_keeps_its_id_and_all_that_names_it_follows(store: SqlStore) -> None:
    owned, described = OwnerRow(SCHEMA, ANA, "lead"), AttributeRow(SCHEMA, "a", "x")
    edges = [RelationRow("tag", SCHEMA, SCHEMA), RelationRow("tag", TABLE, SCHEMA)]
    with_realm(
        store,
        OwnerChanged(owned, True),
        AttributeChanged(SCHEMA, "a", ("x",)),
        *(RelationChanged(edge, True) for edge in edges),
        DocumentChanged(SCHEMA, {"k": 1}),
        SecretChanged(SCHEMA, "password", "sealed"),
    )
    with store.reading() as reading:
        id = reading.ids(REALM, [SCHEMA])[SCHEMA]
    write(store, EntityRenamed(SCHEMA, "lk:c.z"))
    renamed, found = Entity("schema", "lk:c.z"), facts(store)
    assert EntityRow(renamed, CATALOG) in found.entities
    assert EntityRow(TABLE, renamed) in found.entities
    assert found.owners == [owned._replace(entity=renamed)]
    assert found.attributes == [described._replace(entity=renamed)]
    assert set(found.relations) == {
        RelationRow("tag", renamed, renamed),
        RelationRow("tag", TABLE, renamed),
    }
    with store.reading() as reading:
        assert reading.ids(REALM, [renamed, SCHEMA]) == {renamed: id}
        assert reading.documents(REALM, [renamed, SCHEMA]) == {renamed: {"k": 1}}
        assert reading.secrets(REALM, renamed) == {"password": "sealed"}
    write(
        store,
        AttributeChanged(renamed, "a", ()),
        OwnerChanged(owned._replace(entity=renamed), False),
    )
    assert (facts(store).attributes, facts(store).owners) == ([], [])


def test_names_may_go_round_in_one_write(store: SqlStore) -> None:
    one, other, spare = "lk:c.s.one", "lk:c.s.other", "lk:c.s.spare"
    table = Entity("table", one)
    column = Entity("column", f"{one}.x")
    with_realm(store, EntityAdded(table, SCHEMA), EntityAdded(Entity("table", other), SCHEMA))
    write(store, EntityAdded(column, table), OwnerChanged(OwnerRow(table, ANA), True))
    with store.reading() as reading:
        before = reading.ids(REALM, [table, Entity("table", other)])
    write(
        store,
        EntityRenamed(table, spare),
        EntityRenamed(Entity("table", other), one),
        EntityRenamed(Entity("table", spare), other),
    )
    with store.reading() as reading:
        after = reading.ids(REALM, [table, Entity("table", other)])
    assert after == {table: before[Entity("table", other)], Entity("table", other): before[table]}
    assert facts(store).owners == [OwnerRow(Entity("table", other), ANA)]
    assert EntityRow(column, Entity("table", other)) in facts(store).entities


def test_more_rows_than_a_page_holds_come_all_and_in_their_order(store: SqlStore) -> None:
    effects = tables(2 * PAGE_ROWS)
    with_realm(store, *effects)
    rows = facts(store).entities
    assert [row.parent for row in rows[:4]] == [None, METALAKE, CATALOG, SCHEMA]
    found = [EntityAdded(*row) for row in rows[4:]]
    assert found == effects


def test_an_entity_that_was_dropped_and_made_again_is_another_one(store: SqlStore) -> None:
    with_realm(store)
    given: list[int] = []
    for _ in range(3):
        with store.reading() as reading:
            given.append(reading.ids(REALM, [TABLE])[TABLE])
        write(store, EntityDropped(TABLE), EntityAdded(TABLE, SCHEMA))
    assert given == sorted(set(given))


def test_a_moved_entity_has_the_last_of_its_parents(store: SqlStore) -> None:
    with_realm(store)
    write(store, EntityMoved(TABLE, CATALOG), EntityMoved(SCHEMA, None), EntityMoved(TABLE, None))
    rows = {row.entity: row.parent for row in facts(store).entities}
    assert rows == {METALAKE: None, CATALOG: METALAKE, SCHEMA: None, TABLE: None}


@pytest.mark.parametrize(
    "effect", [EntityDropped(OTHER), EntityMoved(OTHER, None), EntityRenamed(OTHER, "x")]
)
def test_what_happens_to_an_entity_that_is_not_stored_is_refused(
    store: SqlStore, effect: Effect
) -> None:
    with_realm(store)
    with pytest.raises(Unknown, match=r"unknown entity `table:lk:c\.s\.u`"):
        write(store, EntityMoved(TABLE, None), effect)
    assert store.revision() == 1
    assert EntityRow(TABLE, SCHEMA) in facts(store).entities


@pytest.mark.parametrize("among", [0, 1000])
def test_an_entity_cannot_be_stored_twice(store: SqlStore, among: int) -> None:
    with_realm(store)
    told = "one of the entities" if among else "`table:lk:c.s.t`"
    with pytest.raises(Conflict, match=re.escape(f"{told} already exists")):
        write(store, *tables(among), EntityAdded(TABLE, CATALOG))
    with pytest.raises(Conflict, match="`schema:x` already exists"):
        write(store, EntityAdded(Entity("schema", "x")), EntityRenamed(SCHEMA, "x"))
    assert store.revision() == 1
    assert len(facts(store).entities) == 4


@pytest.mark.parametrize(
    "effect",
    [
        RelationChanged(TAGGED, True),
        OwnerChanged(OwnerRow(TABLE, ANA, "lead"), True),
        PrincipalChanged(STAFF, True),
        MembershipChanged(MembershipRow(ANA, members_of("lk")), True),
        AttributeChanged(TABLE, "a", ("x", "y", "x")),
        StatementAdded(READS),
    ],
)
def test_saying_it_twice_changes_nothing_and_taking_it_back_leaves_nothing(
    store: SqlStore, effect: Effect
) -> None:
    with_realm(store)
    nothing = sets(facts(store))
    write(store, effect)
    once = sets(facts(store))
    write(store, effect, effect)
    assert sets(facts(store)) == once != nothing
    write(
        store,
        taken_back(effect),
        *([] if isinstance(effect, StatementAdded) else [taken_back(effect)]),
    )
    assert sets(facts(store)) == nothing


def taken_back(effect: Effect) -> Effect:
    match effect:
        case AttributeChanged(entity, attribute, _):
            return AttributeChanged(entity, attribute, ())
        case StatementAdded(statement):
            return StatementRemoved(statement.id)
        case RelationChanged() | OwnerChanged() | PrincipalChanged() | MembershipChanged():
            return replace(effect, present=False)
        case _:
            raise AssertionError(effect)


def test_values_take_the_place_of_those_before(store: SqlStore) -> None:
    with_realm(
        store, AttributeChanged(TABLE, "a", ("x", "y")), AttributeChanged(TABLE, "b", ("z",))
    )
    write(store, AttributeChanged(TABLE, "a", ("v",)), AttributeChanged(TABLE, "a", ("w", "y")))
    assert set(facts(store).attributes) == {
        AttributeRow(TABLE, "a", "w"),
        AttributeRow(TABLE, "a", "y"),
        AttributeRow(TABLE, "b", "z"),
    }


def test_a_statement_takes_the_place_of_the_one_with_its_id(store: SqlStore) -> None:
    with_realm(store, StatementAdded(READS), DocumentChanged("reads", {"by": "git"}))
    later = replace(READS, privileges=frozenset({"MODIFY_TABLE"}), valid_until=1.5)
    write(store, StatementAdded(READS), StatementAdded(later))
    assert facts(store).statements == (later,)
    with store.reading() as reading:
        assert reading.documents(REALM, ["reads"]) == {"reads": {"by": "git"}}
    write(store, StatementRemoved("reads"))
    with store.reading() as reading:
        assert reading.documents(REALM, ["reads", TABLE]) == {}


def test_a_document_of_an_entity_is_not_that_of_a_statement_of_its_name(store: SqlStore) -> None:
    about = "table\0".replace("\0", ":") + TABLE.name
    write(store, DocumentChanged(TABLE, {"of": "table"}), DocumentChanged(about, {"of": "it"}))
    with store.reading() as reading:
        assert reading.documents(REALM, [about, TABLE]) == {
            about: {"of": "it"},
            TABLE: {"of": "table"},
        }
        assert list(reading.documents_of(REALM, "table")) == [(TABLE, {"of": "table"})]
    write(store, DocumentChanged(TABLE, {"of": 1}), DocumentChanged(about, None))
    with store.reading() as reading:
        assert reading.documents(REALM, [about, TABLE]) == {TABLE: {"of": 1}}


def test_more_documents_than_one_query_asks_for(store: SqlStore) -> None:
    named = [Entity("table", f"t{i}") for i in range(1201)]
    write(store, *(DocumentChanged(entity, {"n": entity.name}) for entity in named))
    with store.reading() as reading:
        found = reading.documents(REALM, [*named, TABLE])
    assert found == {entity: {"n": entity.name} for entity in named}


def test_tokens_are_those_of_all_directories(store: SqlStore) -> None:
    mine = Token("1", "ab" * 32, "ana", 1.5, 2.25, "main", "lake", "laptop")
    hers = Token("2", "cd" * 32, "eva", 0.1, 1e300, "other")
    write(store, TokenChanged("1", mine), scope=PEOPLE)
    write(store, TokenChanged("2", hers), scope="@other")
    with store.reading() as reading:
        assert set(reading.tokens()) == {mine, hers}
    write(store, TokenChanged("1", None), TokenChanged("never", None), scope=PEOPLE)
    with store.reading() as reading:
        assert list(reading.tokens()) == [hers]


def test_people_of_a_directory_are_read_without_a_system(store: SqlStore) -> None:
    row = MembershipRow(ANA, STAFF)
    write(store, PrincipalChanged(ANA, True), MembershipChanged(row, True), scope=PEOPLE)
    assert facts(store, PEOPLE, None) == Facts(
        entities=[], relations=[], attributes=[], owners=[], principals=[ANA], memberships=[row]
    )


def test_a_deleted_realm_is_gone_with_everything_and_only_it(store: SqlStore) -> None:
    everything: list[Effect] = [
        StatementAdded(READS),
        OwnerChanged(OwnerRow(TABLE, ANA), True),
        AttributeChanged(TABLE, "a", ("x",)),
        RelationChanged(TAGGED, True),
        PrincipalChanged(ANA, True),
        MembershipChanged(MembershipRow(ANA, STAFF), True),
        DocumentChanged(TABLE, {}),
        DocumentChanged("reads", {}),
        SecretChanged(TABLE, "password", "sealed"),
    ]
    with_realm(store, *everything)
    with_other = Realm("other", "gravitino", "main", {"mode": "next"}, frozenset({"a"}), {"x": "y"})
    write(store, RealmChanged("other", with_other), EntityAdded(TABLE), *everything, scope="other")
    for realm in (REALM, "other"):
        store.add_usage("2026-11-21", {(realm, "ana", "table.load", TABLE): 3})
    kept = sets(facts(store, "other"))
    write(store, RealmChanged(REALM, None))
    assert sets(facts(store)) == sets(Facts())
    assert sets(facts(store, "other")) == kept
    with store.reading() as reading:
        assert reading.realms() == [with_other]
        assert reading.documents(REALM, [TABLE, "reads"]) == {}
        assert reading.secrets(REALM, TABLE) == {}
        assert list(reading.usage(REALM, "2026-01-01")) == []
        assert len(list(reading.usage("other", "2026-01-01"))) == 1
        assert reading.secrets("other", TABLE) == {"password": "sealed"}
    with_realm(store)
    assert len(facts(store).entities) == 4


def test_a_realm_is_what_it_was_last_said_to_be(store: SqlStore) -> None:
    one = Realm("lake", "gravitino")
    lookup = LookupTable((LookupColumn("a", Type.INTEGER),), (("7",), ("-1",)))
    other = replace(
        one,
        directory="people",
        deleted=frozenset({"x", "y"}),
        settings={"mode": "next"},
        lookups={"numbers": lookup},
    )
    write(store, RealmChanged("lake", one))
    write(store, RealmChanged("zoo", replace(one, name="zoo")), scope="zoo")
    write(store, RealmChanged("lake", other))
    with store.reading() as reading:
        assert reading.realms() == [other, replace(one, name="zoo")]


def test_an_effect_that_contradicts_itself_is_refused(store: SqlStore) -> None:
    token = Token("1", "ab", "ana", 0.0, 1.0)
    for effect in (TokenChanged("2", token), RealmChanged("lake", Realm("sea", "cdap"))):
        with pytest.raises(BadInput, match="does not match its content"):
            write(store, effect)


def test_statements_are_read_in_the_words_of_their_system(store: SqlStore) -> None:
    drawn = expressible(make(DATAHUB, 5, Size(statements=40)).facts)
    write(store, *(StatementAdded(statement) for statement in drawn.statements))
    assert set(facts(store, system=DATAHUB).statements) == set(drawn.statements)


def test_the_feed_of_a_load_is_what_encode_says(store: SqlStore) -> None:
    odd = random.Random(1)
    names = ["".join(odd.choices('a"\\/\n\té😀\x7f\u2028', k=9)) for _ in range(300)]
    done = [
        EntityAdded(Entity("table", name), Entity("schema", name[::-1]) if i % 3 else None)
        for i, name in enumerate(dict.fromkeys(names))
    ]
    write(store, *done)
    with store.reading() as reading:
        fed = reading.feed(0)
    assert [tuple(row)[3:] for row in fed] == [tuple(encode(effect)) for effect in done]
    assert {row.scope for row in fed} == {REALM}
