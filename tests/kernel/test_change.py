"""A change gives the same result as recompiling the changed rows, and keeps what it can."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from lakewarden.kernel import incremental_compile, snapshot
from lakewarden.kernel.change import (
    AttributeChanged,
    Change,
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
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput, Conflict, LimitExceeded, Unknown
from lakewarden.kernel.facts import rows_of
from lakewarden.kernel.incremental_compile import apply
from lakewarden.kernel.listing import listing, named
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow, OwnerRow, RelationRow
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Effect, On, Owners, Statement, Where
from lakewarden.service.system import System, load_system
from tests.kernel.small import CATALOG_SYSTEM as CAT
from tests.kernel.small import LAKE_SYSTEM as LAKE
from tests.kernel.small import allowed, matrix, question, state, user, world
from tests.kernel.test_matrix import CAT_FACTS, COLUMN, DATASET, LAKE_FACTS, QUERY, T, U

# Each test uses one form of the matrix; together, the tests use all forms.
pytestmark = pytest.mark.by_day(1, turns=True)

PEOPLE = {
    "lake": ("ana", "ben", "cid", "owner", "schema-owner", "table-owner", "barred", "new"),
    "catalog": ("ana", "ben", "cid", "typed", "limited", "new"),
}


@pytest.fixture(params=[16_384, 5, 0], autouse=True)
def forms(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every form of the matrix: all classes, classes by privilege group, bitmaps."""
    monkeypatch.setattr(snapshot, "CLASS_LIMIT", request.param)
    monkeypatch.setattr(incremental_compile, "CLASS_LIMIT", request.param)


Answers = Mapping[object, object]
_FIRST: dict[int, tuple[Matrix, Answers]] = {}
"""Matrices and their first answers, by identity."""


def answers(m: Matrix, of: System) -> Answers:
    """All decisions and listings for a few people, on the stored entities and two tables of a lake.

    Coverage is off here: other tests cover decisions and listings, and tracing takes four times as
    long.
    """
    tracer = sys.gettrace()
    sys.settrace(None)
    try:
        return _answers(m, of)
    finally:
        sys.settrace(tracer)


def _answers(m: Matrix, of: System) -> Answers:
    tree = m.snapshot.coded.tree
    gone = (LAKE.entity(T), LAKE.entity(U)) if of is LAKE else ()
    entities = (NO_RESOURCE, *(tree.entity(id) for id in tree.stored), *gone)
    now = m.snapshot.table.moment
    found: dict[object, object] = {}
    for person in PEOPLE[of.model.name]:
        principal = of.principal(person)
        for operation in of.model.operations.values():
            found[person, operation.name] = named(
                m, listing(m, Request(principal, operation.name, now=now))
            )
            for entity in dict.fromkeys(entities):
                if operation.rule_or_none(entity.type) is not None:
                    request = Request(principal, operation.name, entity, now)
                    found[person, operation.name, entity] = m.decide(request).allow
    return found


def first_answers(m: Matrix, of: System) -> Answers:
    """The answers of the new matrix."""
    if id(m) not in _FIRST:
        _FIRST[id(m)] = m, answers(m, of)
    return _FIRST[id(m)][1]


def check(m: Matrix, of: System, *changes: Change, now: float = 0.0) -> Matrix:
    """Applies the changes, compares with a fresh build, and returns the later matrix."""
    before = first_answers(m, of)
    later = apply(m, changes, now=now, revision=2)
    statements = later.snapshot.table.statements
    fresh = matrix(of, rows_of(later.snapshot.coded, statements), now)
    assert first_answers(later, of) == answers(fresh, of)
    assert later.revision == 2
    assert answers(m, of) == before
    return later


def lake() -> Matrix:
    """The lake in the test's form; shared by all tests, because no change may modify it."""
    return _lake(snapshot.CLASS_LIMIT)


def catalog() -> Matrix:
    return _catalog(snapshot.CLASS_LIMIT)


@cache
def _lake(class_limit: int) -> Matrix:
    return matrix(LAKE, LAKE_FACTS)


@cache
def _catalog(class_limit: int) -> Matrix:
    return matrix(CAT, CAT_FACTS)


def grant(
    id: str, privilege: str, on: str, to: str, effect: Effect = Effect.ALLOW, **more: Any
) -> StatementAdded:
    statement = Statement(
        id=id,
        effect=effect,
        privileges=frozenset({privilege}),
        scope=On(LAKE.entity(on)),
        principals=frozenset({LAKE.principal(to)}),
    )
    return StatementAdded(replace(statement, **more))


def test_a_grant_opens_and_its_removal_closes() -> None:
    later = check(
        lake(),
        LAKE,
        grant("g", "READ", "table:m:d.s.t", "ana"),
        grant("h", "USE", "catalog:m:d", "ana"),
    )
    assert allowed(later, LAKE, "ana", "load", "table:m:d.s.t")
    closed = check(later, LAKE, StatementRemoved("g"))
    assert not allowed(closed, LAKE, "ana", "load", "table:m:d.s.t")


def test_a_deny_closes_for_whom_it_names_only() -> None:
    later = check(lake(), LAKE, grant("d", "READ", "catalog:m:c", "ana", Effect.DENY))
    assert not allowed(later, LAKE, "ana", "load", T)
    assert allowed(later, LAKE, "ben", "load", T)


def test_a_statement_with_the_same_id_takes_its_place() -> None:
    later = check(lake(), LAKE, grant("read", "READ", "table:m:c.s.u", "role:m:readers"))
    assert not allowed(later, LAKE, "ana", "load", T)
    assert allowed(later, LAKE, "ana", "load", U)


def test_who_has_a_privilege_twice_keeps_it_when_one_of_them_goes() -> None:
    schema, table = (
        grant("s", "READ", "schema:m:d.s", "ana"),
        grant("t", "READ", "table:m:d.s.t", "ana"),
    )
    later = check(lake(), LAKE, grant("u", "USE", "catalog:m:d", "ana"), schema, table)
    one = check(later, LAKE, StatementRemoved("s"))
    assert allowed(one, LAKE, "ana", "load", "table:m:d.s.t")
    none = check(one, LAKE, StatementRemoved("t"))
    assert not allowed(none, LAKE, "ana", "load", "table:m:d.s.t")


def test_an_inactive_statement_changes_nothing() -> None:
    later = check(lake(), LAKE, grant("x", "READ", "metalake:m", "ana", active=False))
    again = check(later, LAKE, StatementRemoved("x"))
    assert answers(again, LAKE) == answers(lake(), LAKE)


def test_windows_open_and_close_as_time_goes_on() -> None:
    window = grant("w", "READ", "metalake:m", "ana", valid_from=10.0, valid_until=20.0)
    use = grant("u", "USE", "metalake:m", "ana")
    waiting = check(lake(), LAKE, window, use)
    inside = check(waiting, LAKE, now=10.0)
    assert inside.decide(question(LAKE, "ana", "load", "table:m:d.s.t", 10.0)).allow
    outside = check(inside, LAKE, now=20.0)
    assert not outside.decide(question(LAKE, "ana", "load", "table:m:d.s.t", 20.0)).allow
    assert outside.snapshot.table.end == float("inf")


@pytest.mark.by_day(2, turns=True)
@pytest.mark.parametrize(
    ("bounds", "before", "after"),
    [({"valid_from": 10.0}, False, True), ({"valid_until": 10.0}, True, False)],
)
def test_a_window_with_one_end_opens_or_closes_there(
    bounds: dict[str, Any], before: bool, after: bool
) -> None:
    window = grant("w", "READ", "metalake:m", "ana", **bounds)
    use = grant("u", "USE", "metalake:m", "ana")
    first = check(lake(), LAKE, use, window, now=5.0)
    assert first.snapshot.table.end == 10.0
    for now, allow in ((5.0, before), (10.0, after)):
        moved = check(first, LAKE, now=now)
        asked = question(LAKE, "ana", "load", "table:m:d.s.t", now)
        assert moved.decide(asked).allow is allow
    gone = check(first, LAKE, StatementRemoved("w"), now=5.0)
    assert gone.snapshot.table.end == float("inf")


def test_owners_come_and_go() -> None:
    row = OwnerRow(LAKE.entity("catalog:m:d"), user("ana"))
    later = check(lake(), LAKE, OwnerChanged(row, present=True))
    assert allowed(later, LAKE, "ana", "load", "table:m:d.s.t")
    gone = check(later, LAKE, OwnerChanged(row, present=False))
    assert not allowed(gone, LAKE, "ana", "load", "table:m:d.s.t")
    group = OwnerRow(
        CAT.entity(QUERY), CAT.principal("urn:li:corpGroup:staff"), "urn:li:ownershipType:new"
    )
    typed = check(catalog(), CAT, OwnerChanged(group, present=True))
    assert allowed(typed, CAT, "ben", "view", QUERY)
    everybody = OwnerRow(CAT.entity(QUERY), Principal("implied", "all-users"))
    check(catalog(), CAT, OwnerChanged(everybody, present=True))


def test_memberships_come_and_go() -> None:
    staff = Principal("group", "staff")
    row = MembershipRow(user("cid"), staff)
    later = check(lake(), LAKE, MembershipChanged(row, present=True))
    assert allowed(later, LAKE, "cid", "load", T)
    gone = check(later, LAKE, MembershipChanged(row, present=False))
    assert not allowed(gone, LAKE, "cid", "load", T)
    nested = MembershipRow(Principal("group", "inner"), staff)
    inner = MembershipRow(user("cid"), Principal("group", "inner"))
    check(
        lake(),
        LAKE,
        MembershipChanged(nested, present=True),
        MembershipChanged(inner, present=True),
    )
    new = MembershipRow(user("new"), members_of("m"))
    joined = check(
        lake(),
        LAKE,
        PrincipalChanged(user("new"), present=True),
        MembershipChanged(new, present=True),
    )
    assert allowed(joined, LAKE, "new", "READ", T) is False
    everybody = MembershipRow(Principal("implied", "all-users"), Principal("role", "m:readers"))
    assert allowed(
        check(lake(), LAKE, MembershipChanged(everybody, present=True)), LAKE, "cid", "load", T
    )


def test_a_table_added_is_there_and_one_dropped_is_gone_with_its_grants() -> None:
    new = LAKE.entity("table:m:c.s.v")
    later = check(lake(), LAKE, EntityAdded(new, LAKE.entity("schema:m:c.s")))
    assert allowed(later, LAKE, "ana", "load", "table:m:c.s.v")
    assert allowed(later, LAKE, "owner", "load", "table:m:c.s.v")
    dropped = check(later, LAKE, EntityDropped(LAKE.entity(T)))
    assert "bar" not in dropped.snapshot.table.statements
    again = check(dropped, LAKE, EntityAdded(LAKE.entity(T), LAKE.entity("schema:m:c.s")))
    assert allowed(again, LAKE, "barred", "load", T)
    assert not allowed(again, LAKE, "table-owner", "drop", T)


def test_dropping_takes_everything_below_along() -> None:
    later = check(lake(), LAKE, EntityDropped(LAKE.entity("catalog:m:c")))
    assert not later.snapshot.coded.is_known(LAKE.entity(T))
    assert "use" not in later.snapshot.table.statements
    nothing = check(later, LAKE, EntityDropped(LAKE.entity("metalake:m")))
    assert len(nothing.snapshot.coded.tree.stored) == 0
    again = check(nothing, LAKE, EntityAdded(LAKE.entity("metalake:m")))
    assert allowed(again, LAKE, "ana", "MEMBER", "metalake:m")
    tags = check(lake(), LAKE, EntityDropped(LAKE.entity("tag:m:old")))
    assert allowed(tags, LAKE, "ana", "read_tags", T)


def test_moving_and_renaming_keep_grants_and_owners() -> None:
    moved = check(
        lake(), LAKE, EntityMoved(LAKE.entity("schema:m:c.s"), LAKE.entity("catalog:m:d"))
    )
    assert not allowed(moved, LAKE, "owner", "load", T)
    renamed = check(lake(), LAKE, EntityRenamed(LAKE.entity(T), "m:c.s.renamed"))
    assert not allowed(renamed, LAKE, "barred", "load", "table:m:c.s.renamed")
    assert allowed(renamed, LAKE, "table-owner", "drop", "table:m:c.s.renamed")


def test_a_renamed_container_has_its_members_under_the_new_name() -> None:
    renamed = check(lake(), LAKE, EntityRenamed(LAKE.entity("metalake:m"), "n"))
    assert not allowed(renamed, LAKE, "ana", "MEMBER", "metalake:n")
    row = MembershipRow(user("ana"), members_of("n"))
    joined = check(renamed, LAKE, MembershipChanged(row, present=True))
    assert allowed(joined, LAKE, "ana", "MEMBER", "metalake:n")


def test_relations_and_attributes_change_what_they_bear_on() -> None:
    row = RelationRow("tagged", LAKE.entity(T), LAKE.entity("tag:m:old"))
    later = check(lake(), LAKE, RelationChanged(row, present=False))
    assert allowed(later, LAKE, "ana", "read_tags", T)
    check(later, LAKE, RelationChanged(row, present=True))
    subject = RelationRow("subject", CAT.entity("query:urn:li:query:empty"), CAT.entity(DATASET))
    asked = check(catalog(), CAT, RelationChanged(subject, present=True))
    assert allowed(asked, CAT, "ben", "ask", "query:urn:li:query:empty")
    graded = check(catalog(), CAT, AttributeChanged(CAT.entity(DATASET), "grade", ("9",)))
    assert not allowed(graded, CAT, "cid", "grade", DATASET)
    check(graded, CAT, AttributeChanged(CAT.entity(DATASET), "grade", ()))


def test_attributes_that_change_together_leave_those_of_before_as_they_are() -> None:
    before, entity = catalog(), CAT.entity(DATASET)
    own = dict(before.snapshot.coded.attributes)
    grades = (AttributeChanged(entity, "grade", (grade,)) for grade in ("9", "7"))
    later = check(before, CAT, *grades)
    assert before.snapshot.coded.attributes == own
    id = later.snapshot.coded.tree.find(entity)
    assert id is not None
    assert later.snapshot.coded.attributes[id]["grade"] == ("7",)


def with_criteria() -> Matrix:
    """A catalog with policies by domain, container, tag, owner and group."""
    fields = {
        "DOMAIN": "urn:li:domain:top",
        "CONTAINER": "urn:li:container:outer",
        "TAG": "urn:li:tag:pii",
        "OWNER": "urn:li:corpuser:cid",
        "GROUP": "urn:li:corpGroup:staff",
        "PROPERTY": "urn:p=high",
    }
    statements: list[Mapping[str, object]] = [
        {
            "id": f,
            "privileges": ["VIEW"],
            "to": ["user:urn:li:corpuser:typed"],
            "where": [{"field": f, "values": [v]}],
        }
        for f, v in fields.items()
    ]
    statements.append(
        {
            "id": "o",
            "privileges": ["EDIT"],
            "to": ["owners"],
            "where": [{"field": "TYPE", "values": ["dataset"]}],
        }
    )
    facts = world(
        CAT,
        [
            DATASET,
            QUERY,
            COLUMN,
            "corpuser:urn:li:corpuser:cid",
            "domain:urn:li:domain:top",
            "container:urn:li:container:outer",
        ],
        placed={"domain:urn:li:domain:child": "domain:urn:li:domain:top"},
        relations=[
            ("domain", DATASET, "domain:urn:li:domain:child"),
            ("tag", QUERY, "tag:urn:li:tag:pii"),
        ],
        members={"urn:li:corpGroup:staff": ["ben"]},
        users=["cid"],
        statements=statements,
    )
    return matrix(CAT, facts)


def test_what_a_criterion_looks_at_is_followed() -> None:
    top, child = (CAT.entity(f"domain:urn:li:domain:{n}") for n in ("top", "child"))
    dataset, outer = CAT.entity(DATASET), CAT.entity("container:urn:li:container:outer")
    m = with_criteria()
    assert allowed(m, CAT, "typed", "view", DATASET)
    moved = check(m, CAT, EntityMoved(child, None))
    assert not allowed(moved, CAT, "typed", "view", DATASET)
    assert allowed(check(moved, CAT, EntityMoved(child, top)), CAT, "typed", "view", DATASET)
    inside = check(moved, CAT, EntityMoved(dataset, outer))
    assert allowed(inside, CAT, "typed", "view", DATASET)
    tag = RelationRow("tag", dataset, Entity("tag", "urn:li:tag:pii"))
    assert allowed(
        check(moved, CAT, RelationChanged(tag, present=True)), CAT, "typed", "view", DATASET
    )
    owner = OwnerRow(dataset, CAT.principal("cid"))
    owned = check(moved, CAT, OwnerChanged(owner, present=True))
    assert allowed(owned, CAT, "typed", "view", DATASET)
    assert allowed(owned, CAT, "cid", "edit", DATASET)
    high = AttributeChanged(dataset, "urn:p", ("high",))
    assert allowed(check(moved, CAT, high), CAT, "typed", "view", DATASET)
    staff = MembershipRow(CAT.principal("cid"), CAT.principal("urn:li:corpGroup:staff"))
    joined = check(moved, CAT, MembershipChanged(staff, present=True))
    assert allowed(joined, CAT, "typed", "view", "corpuser:urn:li:corpuser:cid")


def test_what_is_judged_stays_a_name_when_it_is_dropped() -> None:
    m = with_criteria()
    child = CAT.entity("domain:urn:li:domain:child")
    dropped = check(m, CAT, EntityDropped(child))
    assert not allowed(dropped, CAT, "typed", "view", DATASET)
    back = check(dropped, CAT, EntityAdded(child, CAT.entity("domain:urn:li:domain:top")))
    assert allowed(back, CAT, "typed", "view", DATASET)
    table = check(m, CAT, EntityDropped(CAT.entity(DATASET)))
    assert not allowed(table, CAT, "typed", "view", DATASET)
    column = Entity("schemaField", CAT.entity(COLUMN).name.replace("hive,a,", "hive,other,"))
    check(m, CAT, EntityAdded(column, CAT.spelling.parent(column)))
    check(m, CAT, EntityAdded(Entity("novelty", "urn:li:novelty:x")))
    check(m, CAT, EntityDropped(CAT.entity(COLUMN)))


def test_statements_to_owners_reach_all_rows() -> None:
    statement = Statement(
        "so",
        Effect.ALLOW,
        frozenset({"EDIT"}),
        Where(()),
        owners=Owners(frozenset({"urn:li:ownershipType:tech"})),
    )
    later = check(catalog(), CAT, StatementRemoved("owners"))
    assert not allowed(later, CAT, "ana", "edit", DATASET)
    again = check(later, CAT, StatementAdded(statement))
    assert allowed(again, CAT, "ana", "edit", DATASET)


def test_rows_of_those_whom_a_change_does_not_concern_are_kept() -> None:
    m = lake()
    request = question(LAKE, "table-owner", "load", U)
    m.decide(request)
    m.check("table-owner", "load", "m:c.s.u", 0.0)
    later = apply(m, [grant("g", "READ", "table:m:d.s.t", "ana")], now=0.0, revision=2)
    kept = m.snapshot.memos.subjects[user("table-owner")]
    assert later.snapshot.memos.subjects[user("table-owner")] is kept


def test_too_much_out_of_place_is_numbered_afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incremental_compile, "DISPLACED_LIMIT", 1)
    tables = [LAKE.entity(f"table:m:c.s.n{n}") for n in range(3)]
    added = (EntityAdded(table, LAKE.entity("schema:m:c.s")) for table in tables)
    later = check(lake(), LAKE, *added)
    assert not later.snapshot.coded.tree.displaced
    assert "implied:member:m" in later.snapshot.table.statements


@pytest.mark.by_day(3, turns=True)
def test_scopes_that_nothing_uses_any_more_are_left_out_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(incremental_compile, "GROWTH_LIMIT", 2)
    later = lake()
    most = 2 * later.snapshot.table.compiled + 2
    for number in range(3 * most):
        table = f"table:m:c.s.once{number}"
        later = apply(later, [grant("once", "READ", table, "ana")], now=0.0, revision=2)
        later = apply(later, [StatementRemoved("once")], now=0.0, revision=2)
        assert len(later.snapshot.table.scopes) <= most + 1
    assert answers(later, LAKE) == first_answers(lake(), LAKE)


@pytest.mark.by_day(3, turns=True)
def test_classes_that_no_entity_is_in_any_more_are_left_out_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(incremental_compile, "GROWTH_LIMIT", 2)
    tags = [f"urn:li:tag:{n}" for n in range(12)]
    tagged = [
        state(tag, "VIEW", "user:urn:li:corpuser:ana", where=[{"field": "TAG", "values": [tag]}])
        for tag in tags
    ]
    later = matrix(CAT, world(CAT, [DATASET, *(f"tag:{tag}" for tag in tags)], statements=tagged))
    most = 0 if later.snapshot.classes is None else later.snapshot.classes.count + 4
    for tag in tags:
        row = RelationRow("tag", CAT.entity(DATASET), Entity("tag", tag))
        for present in (True, False):
            later = check(later, CAT, RelationChanged(row, present))
            classes = later.snapshot.classes
            assert classes is None or classes.count <= most


@pytest.mark.by_day(30)
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (EntityAdded(LAKE.entity(T)), Conflict, "already exists"),
        (EntityAdded(LAKE.entity("table:m:x.s.t"), LAKE.entity("schema:m:x.s")), Unknown, "m:x.s"),
        (EntityAdded(Entity("file", "x")), Unknown, "type `file`"),
        (EntityDropped(LAKE.entity("table:m:c.s.none")), Unknown, "table:m:c.s.none"),
        (
            EntityMoved(LAKE.entity("catalog:m:c"), LAKE.entity("schema:m:c.s")),
            BadInput,
            "below itself",
        ),
        (EntityRenamed(LAKE.entity(T), "m:c.s.u"), Conflict, "already exists"),
        (StatementRemoved("none"), Unknown, "statement `none`"),
        (grant("x", "FLY", "metalake:m", "ana"), Unknown, "privilege `FLY`"),
        (
            RelationChanged(RelationRow("likes", LAKE.entity(T), LAKE.entity(U)), present=True),
            BadInput,
            "unknown relation `likes`",
        ),
        (AttributeChanged(Entity("table", "m:no"), "x", ()), Unknown, "entity `table:m:no`"),
    ],
)
def test_a_change_that_does_not_hold_together_changes_nothing(
    change: Change, error: type[Exception], message: str
) -> None:
    m = lake()
    before = first_answers(m, LAKE)
    with pytest.raises(error, match=message):
        apply(m, [grant("first", "READ", "metalake:m", "cid"), change], now=0.0, revision=2)
    assert answers(m, LAKE) == before


def test_a_catalog_knows_things_by_name_only() -> None:
    with pytest.raises(BadInput, match="by their names only"):
        apply(catalog(), [EntityRenamed(CAT.entity(QUERY), "urn:li:query:r")], now=0.0, revision=2)


def test_a_cycle_that_is_stored_does_not_stop_later_changes() -> None:
    top, child = "domain:urn:li:domain:top", "domain:urn:li:domain:child"
    m = matrix(CAT, world(CAT, [DATASET], placed={top: child, child: top}))
    check(m, CAT, EntityMoved(CAT.entity(DATASET), CAT.entity(top)))


def test_a_cycle_that_is_cut_open_is_followed_again() -> None:
    top, child = "domain:urn:li:domain:top", "domain:urn:li:domain:child"
    placed = {top: child, child: top, DATASET: child}
    grants = [{"id": "g", "privileges": ["EDIT"], "to": ["user:ana"], "where": []}]
    m = matrix(CAT, world(CAT, [DATASET], placed=placed, statements=grants))
    later = check(m, CAT, EntityMoved(CAT.entity(top), None))
    assert not later.snapshot.coded.tree.looped
    check(m, CAT, EntityDropped(CAT.entity(top)))


def test_memberships_on_a_cycle_can_be_ended() -> None:
    one, two = Principal("group", "one"), Principal("group", "two")
    rows = [MembershipRow(user("ana"), one), MembershipRow(one, two), MembershipRow(two, one)]
    facts = replace(LAKE_FACTS, memberships=[*LAKE_FACTS.memberships, *rows])
    m = matrix(LAKE, facts)
    again = check(m, LAKE, MembershipChanged(MembershipRow(one, two), True))
    check(again, LAKE, MembershipChanged(MembershipRow(two, one), False))


@pytest.mark.by_day(3, turns=True)
def test_64_levels_lie_above_what_is_moved_and_no_65th() -> None:
    domains = [CAT.entity(f"domain:urn:li:domain:{n:02}") for n in range(66)]
    added = [EntityAdded(d, p) for d, p in zip(domains, [None, *domains], strict=False)]
    m = matrix(CAT, world(CAT, [DATASET]))
    deep = check(m, CAT, *added[:65])
    with pytest.raises(LimitExceeded, match="would have more than 64 levels above it"):
        apply(deep, added[65:], now=0.0, revision=2)
    stored = matrix(CAT, Facts(entities=[EntityRow(a.entity, a.parent) for a in added]))
    assert stored.snapshot.coded.tree.deep
    check(stored, CAT, EntityAdded(CAT.entity(DATASET), domains[3]))
    mended = check(stored, CAT, EntityMoved(domains[65], domains[3]))
    assert not mended.snapshot.coded.tree.deep


def test_a_name_that_would_come_to_lie_below_itself_is_not_dropped() -> None:
    column = CAT.entity(COLUMN)
    dataset, domain = CAT.entity(DATASET), CAT.entity("domain:urn:li:domain:top")
    m = matrix(CAT, world(CAT, [], placed={}))
    placed = (EntityAdded(domain), EntityAdded(column, domain), EntityAdded(dataset, column))
    with pytest.raises(BadInput, match="below itself"):
        apply(m, [*placed, EntityDropped(column)], now=0.0, revision=2)


def test_wildcards_follow_what_comes_and_goes() -> None:
    cdap = load_system("cdap")
    table = {"id": "w", "privileges": ["READ"], "to": ["user:ana"], "matching": "dataset:a.x*"}
    m = matrix(cdap, world(cdap, ["namespace:a"], statements=[table]))
    dataset = cdap.entity("dataset:a.x1")
    assert allowed(m, cdap, "ana", "dataset.read", "dataset:a.x1")
    later = apply(m, [EntityAdded(dataset, cdap.entity("namespace:a"))], now=0.0, revision=2)
    listed = named(later, listing(later, question(cdap, "ana", "dataset.list.filter")))
    assert listed == {dataset}
    gone = apply(later, [EntityDropped(dataset)], now=0.0, revision=3)
    assert not listing(gone, question(cdap, "ana", "dataset.list.filter"))
    assert allowed(gone, cdap, "ana", "dataset.read", "dataset:a.x1")


def test_a_name_that_a_change_mentions_first_lies_below_nothing() -> None:
    tag = CAT.entity("tag:urn:li:tag:fresh")
    later = check(
        catalog(), CAT, RelationChanged(RelationRow("tag", CAT.entity(DATASET), tag), True)
    )
    tree = later.snapshot.coded.tree
    id = tree.find(tag)
    assert id is not None
    assert (int(tree.parents[id]), list(tree.ancestors(id))) == (-1, [])


def test_a_name_that_is_dropped_and_lay_below_nothing_still_does() -> None:
    domain = CAT.entity("domain:urn:li:domain:alone")
    stored = check(catalog(), CAT, EntityAdded(domain))
    tree = check(stored, CAT, EntityDropped(domain)).snapshot.coded.tree
    id = tree.find(domain)
    assert id is not None
    assert (int(tree.parents[id]), list(tree.ancestors(id))) == (-1, [])


def test_of_many_entities_the_one_that_is_dropped_loses_its_attributes() -> None:
    """Uses many entities, because small integers are shared objects and large ones are not."""
    last = "dataset:urn:li:dataset:(urn:li:dataPlatform:hive,z,PROD)"
    graded = {
        "id": "graded",
        "privileges": ["VIEW"],
        "to": ["user:urn:li:corpuser:ana"],
        "where": [{"field": "PROPERTY", "values": ["grade=1"]}],
    }
    many = [f"container:urn:li:container:{n:03}" for n in range(300)]
    m = matrix(
        CAT, world(CAT, [*many, last], attributes=[(last, "grade", "1")], statements=[graded])
    )
    assert allowed(m, CAT, "ana", "view", last)
    dropped = apply(m, [EntityDropped(CAT.entity(last))], now=0.0, revision=2)
    back = apply(dropped, [EntityAdded(CAT.entity(last))], now=0.0, revision=3)
    for later in (dropped, back):
        assert not allowed(later, CAT, "ana", "view", last)
        assert not allowed(later, CAT, "ana", "grade", last)


def test_what_is_added_or_moved_to_the_top_has_no_parent() -> None:
    top = CAT.entity("container:urn:li:container:top")
    added = check(catalog(), CAT, EntityAdded(top, None))
    moved = check(added, CAT, EntityMoved(CAT.entity(DATASET), None))
    for m, entity in ((added, top), (moved, CAT.entity(DATASET))):
        tree = m.snapshot.coded.tree
        id = tree.find(entity)
        assert id is not None
        assert tree.parents[id] == -1


def test_time_may_go_back_to_before_a_statement_applies() -> None:
    reads = grant("g", "READ", "table:m:d.s.t", "ana", valid_from=100.0)
    later = check(lake(), LAKE, reads, grant("u", "USE", "catalog:m:d", "ana"))
    during = check(later, LAKE, now=150.0)
    assert during.decide(question(LAKE, "ana", "load", "table:m:d.s.t", 150.0)).allow
    back = check(during, LAKE, now=50.0)
    assert not back.decide(question(LAKE, "ana", "load", "table:m:d.s.t", 50.0)).allow


def test_rows_of_one_operation_are_kept_where_those_of_another_are_not() -> None:
    m = matrix(LAKE, LAKE_FACTS)  # separate: plans are ordered by creation
    for operation, name in (("load", "m:c.s.t"), ("look", "m:c.s")):
        m.check("ana", operation, name, 0.0)
    change = grant("g", "READ", "table:m:d.s.t", "role:m:readers")
    later = apply(m, [change], now=0.0, revision=2)
    rows = {
        operation: "ana" in later.plan(m.operation(operation), type).entries
        for operation, type in (("load", "table"), ("look", "schema"))
    }
    assert rows == {"load": False, "look": snapshot.CLASS_LIMIT > 0}
