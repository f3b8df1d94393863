"""Decisions: the cached byte, the walk, a request's own facts, and errors."""

from __future__ import annotations

import gc
from collections.abc import Hashable
from dataclasses import replace

import numpy as np
import pytest

from lakewarden.kernel import matrix as matrix_module
from lakewarden.kernel import memos, point_evaluator, snapshot
from lakewarden.kernel.cells import Cells
from lakewarden.kernel.change import MembershipChanged, StatementAdded, StatementRemoved
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput, StaleSnapshot, Unknown
from lakewarden.kernel.incremental_compile import apply
from lakewarden.kernel.listing import listing
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.memos import MEMO_BYTES, Memos
from lakewarden.kernel.principal import GROUP, ROLE, SERVICE_ADMINS, Principal
from lakewarden.kernel.relations import MembershipRow
from lakewarden.kernel.request import Reason, Request
from tests.kernel.small import CATALOG, allowed, entity, matrix, question, system, user, world
from tests.kernel.small import CATALOG_SYSTEM as CAT
from tests.kernel.small import LAKE_SYSTEM as LAKE

LAKE_FACTS = world(
    LAKE,
    [
        "metalake:m",
        "catalog:m:c",
        "catalog:m:d",
        "schema:m:c.s",
        "schema:m:d.s",
        "table:m:c.s.t",
        "table:m:c.s.u",
        "table:m:d.s.t",
        "tag:m:pii",
        "tag:m:old",
        "user:m:ana",
        "role:m:readers",
    ],
    members={
        "members:m": ["ana", "ben", "cid", "owner", "schema-owner", "table-owner", "barred"],
        "role:m:readers": ["ana", "group:staff"],
        "role:m:barring": ["barred"],
        "group:staff": ["ben", "barred"],
        "service-admins": ["root"],
    },
    owners={
        "catalog:m:c": ["owner"],
        "schema:m:c.s": ["schema-owner"],
        "table:m:c.s.t": ["table-owner"],
        "tag:m:old": ["ana"],
    },
    relations=[("tagged", "table:m:c.s.t", "tag:m:pii"), ("tagged", "table:m:c.s.t", "tag:m:old")],
    statements=[
        {
            "id": "use",
            "privileges": ["USE"],
            "to": ["role:m:readers", "user:table-owner"],
            "on": "catalog:m:c",
        },
        {"id": "read", "privileges": ["SELECT"], "to": ["role:m:readers"], "on": "schema:m:c.s"},
        {
            "id": "outside",
            "privileges": ["USE", "READ"],
            "to": ["user:stranger"],
            "on": "metalake:m",
        },
        {
            "id": "bar",
            "effect": "deny",
            "privileges": ["READ"],
            "to": ["role:m:barring"],
            "on": "table:m:c.s.t",
        },
        {"id": "pii", "privileges": ["APPLY"], "to": ["user:ana"], "on": "tag:m:pii"},
        {
            "id": "off",
            "privileges": ["READ", "USE"],
            "to": ["user:cid"],
            "on": "metalake:m",
            "active": False,
        },
    ],
)
M = matrix(LAKE, LAKE_FACTS)
T, U = "table:m:c.s.t", "table:m:c.s.u"


def may(who: str, operation: str, on: str | None = None) -> bool:
    return allowed(M, LAKE, who, operation, on)


def test_a_role_held_directly_or_through_a_group_opens() -> None:
    assert may("ana", "load", T)
    assert may("ben", "load", T)
    assert not may("ana", "load", "table:m:d.s.t")
    assert not may("cid", "load", T)


def test_a_deny_beats_an_allow_from_whichever_role() -> None:
    assert not may("barred", "load", T)
    assert may("barred", "load", U)


def test_owners_are_judged_by_level() -> None:
    assert may("owner", "load", T)
    assert may("table-owner", "load", T)
    assert not may("table-owner", "load", U)
    assert not may("schema-owner", "load", T)
    assert may("table-owner", "drop", T)
    assert not may("owner", "drop", T)


def test_the_gate_stands_before_everything() -> None:
    assert not may("stranger", "load", T)
    assert not may("root", "load", T)
    assert may("root", "create")
    assert not may("ana", "create")


def test_not_denied_asks_for_no_allow() -> None:
    assert may("schema-owner", "tidy", T)
    assert not may("ana", "tidy", T)


def test_nobody_may_what_nobody_may() -> None:
    assert not may("owner", "nothing", T)


def test_self_is_the_asker_or_a_role_that_it_holds() -> None:
    assert may("ana", "show", "user:m:ana")
    assert not may("ben", "show", "user:m:ana")
    assert may("ben", "show", "role:m:readers")
    assert not may("cid", "show", "role:m:readers")
    assert may("ana", "show", T)


def test_every_related_entity_must_pass_and_one_suffices_for_some() -> None:
    assert not may("ana", "read_tags", T)
    assert may("ana", "read_some_tag", T)
    assert not may("ana", "read_tags", U)
    assert not may("ana", "read_some_tag", U)
    assert may("owner", "climb", T)
    assert not may("cid", "climb", T)


def test_an_administrator_of_the_service_or_a_reader() -> None:
    admin = world(
        LAKE,
        ["metalake:m", "catalog:m:c", "schema:m:c.s", T],
        members={"members:m": ["root"], "service-admins": ["root"]},
    )
    assert allowed(matrix(LAKE, admin), LAKE, "root", "staff_look", T)
    assert not may("cid", "staff_look", T)


def test_a_rule_at_another_entity() -> None:
    assert may("ana", "beside", U)
    assert not may("table-owner", "beside", T)


def test_entities_sent_with_the_request() -> None:
    plain = question(LAKE, "ana", "put_tags", T)
    pii, old = entity(LAKE, "tag:m:pii"), entity(LAKE, "tag:m:old")
    assert M.decide(replace(plain, lists={"tags": (pii, old)})).allow
    assert not M.decide(plain).allow
    assert not M.decide(replace(plain, lists={"tags": (pii, Entity("tag", "m:none"))})).allow
    copy = question(LAKE, "ana", "copy", T)
    assert M.decide(replace(copy, targets={"to": entity(LAKE, "schema:m:c.s")})).allow
    assert not M.decide(replace(copy, targets={"to": entity(LAKE, "schema:m:d.s")})).allow
    assert not M.decide(replace(copy, targets={"to": Entity("schema", "m:c.none")})).allow
    assert not M.decide(copy).allow


def test_groups_sent_with_the_request_widen_the_role_set() -> None:
    staff = (Principal("group", "staff"),)
    assert M.decide(replace(question(LAKE, "cid", "load", T), groups=staff)).allow
    assert not M.decide(question(LAKE, "cid", "load", T)).allow


def test_active_roles_narrow_allows_and_never_denies() -> None:
    ben = question(LAKE, "ben", "load", T)
    readers = Principal("role", "m:readers")
    assert M.decide(replace(ben, roles=frozenset({readers}))).allow
    assert not M.decide(replace(ben, roles=frozenset())).allow
    other = M.decide(replace(ben, roles=frozenset({Principal("role", "m:barring")})))
    assert other.reason is Reason.ROLE_NOT_HELD
    barred = question(LAKE, "barred", "load", T)
    assert not M.decide(replace(barred, roles=frozenset({readers}))).allow


def test_a_bare_privilege_can_be_asked_by_any_of_its_names() -> None:
    assert may("stranger", "READ", T)
    assert may("stranger", "SELECT", T)
    assert not may("ana", "APPLY", "tag:m:old")


def test_what_is_not_stored_is_denied_in_a_lake() -> None:
    decision = M.decide(question(LAKE, "owner", "load", "table:m:c.s.none"))
    assert (decision.allow, decision.reason, decision.revision) == (False, Reason.NOT_STORED, 1)


@pytest.mark.parametrize(
    ("operation", "on", "kind"),
    [
        ("fly", T, "operation or privilege `fly`"),
        ("load", "schema:m:c.s", "target type `schema`; `load` is asked about: table"),
        ("load", None, "target type `none`; `load` is asked about: table"),
        ("create", T, "target type `table`"),
    ],
)
def test_what_is_not_declared_is_an_error_that_names_it(
    operation: str, on: str | None, kind: str
) -> None:
    with pytest.raises(Unknown, match=kind):
        may("ana", operation, on)


def test_an_undeclared_type_is_an_error() -> None:
    with pytest.raises(Unknown, match="type `file`"):
        M.decide(Request(user("ana"), "READ", Entity("file", "m:x")))


def test_the_short_form_gives_what_the_long_form_gives() -> None:
    fresh = matrix(LAKE, LAKE_FACTS)
    for who in ("ana", "barred", "table-owner", "schema-owner", "stranger", "nobody"):
        for name in ("m:c.s.t", "m:c.s.u", "m:d.s.t", "m:none.s.t"):
            for _ in range(2):
                assert fresh.check(who, "load", name, 0.0).allow == may(
                    who, "load", f"table:{name}"
                )
    assert fresh.check("root", "create", "", 0.0).allow
    with pytest.raises(BadInput, match="several types"):
        fresh.check("ana", "show", "m:c", 0.0)
    for who in ("ana", "cid"):
        for _ in range(2):  # before the row exists, and with it
            asked = fresh.check(user(who), ("load", "table"), "m:c.s.t", 0.0)
            assert asked == fresh.check(who, "load", "m:c.s.t", 0.0)
    assert fresh.check("root", ("create", ""), "", 0.0).allow


def test_a_snapshot_refuses_moments_outside_its_interval() -> None:
    window = {
        "id": "w",
        "privileges": ["USE", "READ"],
        "to": ["user:cid"],
        "on": "metalake:m",
        "valid_from": 10,
        "valid_until": 20,
    }
    facts = world(
        LAKE,
        ["metalake:m", "catalog:m:c", "schema:m:c.s", T],
        members={"members:m": ["cid"]},
        statements=[window],
    )
    before, during, after = (matrix(LAKE, facts, now) for now in (9.0, 10.0, 20.0))
    assert not allowed(before, LAKE, "cid", "load", T)
    assert during.decide(question(LAKE, "cid", "load", T, 10.0)).allow
    assert during.check("cid", "load", "m:c.s.t", 19.9).allow
    assert not after.decide(question(LAKE, "cid", "load", T, 20.0)).allow
    for wrong in (9.9, 20.0):
        with pytest.raises(StaleSnapshot, match="asked at"):
            during.decide(question(LAKE, "cid", "load", T, wrong))
        with pytest.raises(StaleSnapshot):
            during.check("cid", "load", "m:c.s.t", wrong)


def test_a_failure_to_judge_is_a_denial_that_is_counted_and_not_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fresh = matrix(LAKE, LAKE_FACTS)
    monkeypatch.setattr(point_evaluator, "WORK_LIMIT", 1)
    decision = fresh.decide(question(LAKE, "table-owner", "load", T))
    assert (decision.allow, decision.reason) == (False, Reason.ERROR)
    assert fresh.errors == {"LimitExceeded": 1}
    monkeypatch.undo()
    assert fresh.decide(question(LAKE, "table-owner", "load", T)).allow


def test_forgotten_rows_are_worked_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_module, "MEMO_BYTES", 1)
    monkeypatch.setattr(memos, "MEMO_BYTES", 1)
    fresh = matrix(LAKE, LAKE_FACTS)
    for _ in range(2):
        assert fresh.decide(question(LAKE, "ana", "load", T)).allow
        assert fresh.decide(question(LAKE, "ben", "load", T)).allow


def test_more_names_than_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memos, "NAMED_LIMIT", 2)
    fresh = matrix(
        CAT, world(CAT, statements=[{"id": "all", "privileges": ["VIEW"], "to": "all-users"}])
    )
    for number in range(5):
        name = f"dataset:urn:li:dataset:(urn:li:dataPlatform:hive,t{number},PROD)"
        assert allowed(fresh, CAT, f"user{number}", "view", name)
    assert len(fresh.snapshot.memos.named) <= 2
    assert len(fresh.snapshot.memos.subjects) <= 2


@pytest.mark.parametrize("limit", [0, 4])
def test_every_form_of_the_matrix_decides_alike(
    limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "CLASS_LIMIT", limit)
    other = matrix(LAKE, LAKE_FACTS)
    assert other.snapshot.classes is None
    operations = [o for o in LAKE.model.operations.values() if o.type not in (None, "none")]
    for who in ("ana", "ben", "cid", "owner", "schema-owner", "table-owner", "barred", "stranger"):
        for operation in operations:
            for stored in LAKE_FACTS.entities:
                if stored.entity.type == operation.type:
                    request = Request(user(who), operation.name, stored.entity)
                    assert other.decide(request).allow == M.decide(request).allow
        assert other.check(who, "load", "m:c.s.t", 0.0).allow == may(who, "load", T)


DATASET = "dataset:urn:li:dataset:(urn:li:dataPlatform:hive,a,PROD)"
COLUMN = "schemaField:urn:li:schemaField:(urn:li:dataset:(urn:li:dataPlatform:hive,a,PROD),x)"
OF_DATASETS = {"field": "kind", "values": ["dataset"]}
A_OR_B = {"field": "URN", "values": ["urn:li:tag:a", "urn:li:tag:b"]}
QUERY, EMPTY = "query:urn:li:query:q", "query:urn:li:query:empty"
CAT_FACTS = world(
    CAT,
    [DATASET, QUERY, EMPTY, "corpuser:urn:li:corpuser:ana", "corpuser:urn:li:corpuser:high"],
    members={"urn:li:corpGroup:staff": ["ben"]},
    owners={DATASET: ["ana=urn:li:ownershipType:tech", "urn:li:corpGroup:staff"]},
    relations=[("subject", QUERY, COLUMN), ("subject", QUERY, DATASET)],
    attributes=[
        (DATASET, "grade", "2"),
        (DATASET, "open", "true"),
        ("corpuser:urn:li:corpuser:high", "level", "high"),
    ],
    users=["ana", "ben", "cid", "high"],
    statements=[
        {
            "id": "owners",
            "privileges": ["EDIT"],
            "to": ["owners:urn:li:ownershipType:tech"],
            "where": [],
        },
        {"id": "any-owner", "privileges": ["VIEW"], "to": ["owners"], "where": []},
        {"id": "platform", "privileges": ["MANAGE"], "to": ["user:urn:li:corpuser:cid"]},
        {
            "id": "types",
            "privileges": ["EDIT"],
            "to": ["user:urn:li:corpuser:typed"],
            "where": [{"field": "kind", "values": ["dataset"]}],
        },
        {
            "id": "limited",
            "privileges": ["EDIT"],
            "to": ["user:urn:li:corpuser:limited"],
            "where": [],
            "constraint": [{"field": "URN", "values": ["urn:li:tag:a", "urn:li:tag:b"]}],
        },
    ],
)
C = matrix(CAT, CAT_FACTS)


def can(who: str, operation: str, on: str | None = None) -> bool:
    return allowed(C, CAT, who, operation, on)


def test_owners_as_actors_by_type_of_ownership_and_through_groups() -> None:
    assert can("ana", "edit", DATASET)
    assert not can("ben", "edit", DATASET)
    assert can("ben", "view", DATASET)
    assert not can("cid", "view", DATASET)
    assert not can("ana", "edit", QUERY)


def test_implied_privileges_follow() -> None:
    assert can("ben", "find", DATASET)


def test_one_holds_what_belongs_to_oneself() -> None:
    assert can("ana", "view", "corpuser:urn:li:corpuser:ana")
    assert not can("ben", "view", "corpuser:urn:li:corpuser:ana")
    assert can("new", "view", "corpuser:urn:li:corpuser:new")
    assert not can("ben", "view", "corpGroup:urn:li:corpGroup:staff")


def test_a_platform_question_and_a_question_about_a_type() -> None:
    assert can("cid", "manage")
    assert not can("ana", "manage")
    assert can("cid", "manage_type", DATASET)
    assert can("typed", "manage_type", DATASET)
    assert can("typed", "edit", "dataset:")
    assert not can("typed", "edit", "query:")
    assert not can("limited", "manage")


def test_a_name_that_is_not_stored_is_judged() -> None:
    new = "dataset:urn:li:dataset:(urn:li:dataPlatform:hive,new,PROD)"
    assert can("typed", "edit", new)
    assert not can("ana", "edit", new)
    assert can("typed", "column", COLUMN)
    assert can("typed", "column", COLUMN.replace(",x)", ",zzz)"))
    assert can("anybody", "known", "whatever:urn:li:whatever:1")


def test_subjects_that_are_columns_stand_for_their_table() -> None:
    assert can("ben", "ask", QUERY)
    assert not can("ben", "ask", EMPTY)
    assert not can("cid", "ask", QUERY)


def test_a_rule_of_another_operation_holds_only_for_types_that_it_knows() -> None:
    assert can("ben", "relay", QUERY)
    assert not can("ben", "relay", DATASET)
    assert not can("ben", "relay_above", COLUMN)


def test_a_query_that_is_not_stored_has_no_subjects() -> None:
    assert not can("ben", "ask", "query:urn:li:query:new")


def test_stored_and_sent_attributes() -> None:
    assert can("cid", "grade", DATASET)
    plain = question(CAT, "cid", "unlock", DATASET)
    assert not C.decide(plain).allow
    assert C.decide(replace(plain, attributes={"action.soft": False})).allow
    assert not C.decide(replace(plain, attributes={"action.soft": True})).allow
    closed = {"action.soft": False, "resource.open": False}
    assert not C.decide(replace(plain, attributes=closed)).allow
    assert can("high", "level", DATASET)
    assert not can("ana", "level", DATASET)
    assert not can("nobody", "level", DATASET)
    assert not can("cid", "grade", "dataset:urn:li:dataset:(urn:li:dataPlatform:hive,b,PROD)")


def test_a_stored_value_that_is_not_of_its_type_counts_as_absent() -> None:
    facts = replace(CAT_FACTS, attributes=[*CAT_FACTS.attributes[:0]])
    odd = world(CAT, [DATASET], attributes=[(DATASET, "grade", "high"), (DATASET, "open", "maybe")])
    m = matrix(CAT, replace(odd, statements=facts.statements))
    assert not allowed(m, CAT, "cid", "grade", DATASET)
    request = question(CAT, "cid", "unlock", DATASET)
    assert not m.decide(replace(request, attributes={"action.soft": False})).allow


def test_one_statement_alone_must_cover_all_subresources() -> None:
    edit = question(CAT, "limited", "edit", DATASET)
    a, b, c = (CAT.entity(f"tag:urn:li:tag:{name}") for name in "abc")
    every = Entity("allEntities", point_evaluator.EVERY_SUBRESOURCE)
    assert C.decide(edit).allow
    assert C.decide(replace(edit, subresources=(a, b))).allow
    assert not C.decide(replace(edit, subresources=(a, c))).allow
    assert C.decide(replace(edit, subresources=(every,))).allow
    assert C.decide(replace(question(CAT, "ana", "edit", DATASET), subresources=(c,))).allow
    stored = (CAT.entity(DATASET),)
    assert not C.decide(replace(edit, subresources=stored)).allow
    assert not C.decide(replace(edit, subresources=(NO_RESOURCE,))).allow


def test_memory_of_cells_is_bounded() -> None:
    remembered = Memos()
    cells = C.snapshot.cells("EDIT", C.snapshot.subject(user("x")))
    remembered.bytes = MEMO_BYTES
    remembered.add_cells(("EDIT", frozenset(), frozenset(), None), cells)
    assert len(remembered.cells) == 1
    assert remembered.bytes == cells.size + memos.KEY_BYTES


def test_cells_that_outlive_a_write_count_for_the_memory_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = matrix(LAKE, LAKE_FACTS)
    assert asked.decide(question(LAKE, "ana", "load", T)).allow
    later = apply(asked, [], now=0.0, revision=2)
    assert later.snapshot.memos.cells == asked.snapshot.memos.cells
    assert later.snapshot.memos.bytes == asked.snapshot.memos.bytes > 0
    monkeypatch.setattr(memos, "MEMO_BYTES", later.snapshot.memos.bytes - 1)
    last = apply(later, [], now=0.0, revision=3)
    assert (last.snapshot.memos.cells, last.snapshot.memos.bytes) == ({}, 0)
    assert last.decide(question(LAKE, "ana", "load", T)).allow


def test_cells_of_role_sets_that_nobody_has_any_more_are_not_kept() -> None:
    asked = matrix(LAKE, LAKE_FACTS)
    for name in ("ana", "ben"):
        assert asked.decide(question(LAKE, name, "load", T)).allow
    held, left = (asked.snapshot.subject(user(name)).key for name in ("ana", "ben"))
    assert {key[1:3] for key in asked.snapshot.memos.cells} == {held, left}
    row = MembershipRow(user("ben"), Principal(GROUP, "staff"))
    later = apply(asked, [MembershipChanged(row, present=False)], now=0.0, revision=2)
    assert {key[1:3] for key in later.snapshot.memos.cells} == {held}


def test_subjects_without_a_grant_of_the_privileges_share_a_row() -> None:
    asked = matrix(LAKE, LAKE_FACTS)
    plan = asked.plan(asked.operation("load"), "table")
    cid, owner, ana = (asked.snapshot.subject(user(name)) for name in ("cid", "owner", "ana"))
    assert asked.entry(plan, cid).codes is asked.entry(plan, owner).codes
    assert asked.entry(plan, cid).codes is not asked.entry(plan, ana).codes
    assert asked.snapshot.cells("READ", cid) is asked.snapshot.cells("READ", owner)


def test_subjects_with_the_same_roles_and_no_statements_of_their_own_share_their_rows() -> None:
    """Users and groups differ; the statements name their roles alone."""
    members = {"members:m": ["a", "b"], "role:m:r": ["group:one", "group:two"]}
    members |= {"group:one": ["a"], "group:two": ["b"]}
    grants = [{"id": "r", "privileges": ["USE", "READ"], "to": ["role:m:r"], "on": "metalake:m"}]
    entities = ["metalake:m", "catalog:m:c", "schema:m:c.s", T]
    asked = matrix(LAKE, world(LAKE, entities, members=members, statements=grants))
    plan = asked.plan(asked.operation("load"), "table")
    a, b = (asked.snapshot.subject(user(name)) for name in "ab")
    assert a.deny != b.deny
    assert asked.entry(plan, a).codes is asked.entry(plan, b).codes
    assert allowed(asked, LAKE, "a", "load", T)
    ban = {"id": "d", "effect": "deny", "privileges": ["READ"], "to": ["group:two"], "on": T}
    (statement,) = world(LAKE, [], statements=[ban]).statements
    later = apply(asked, [StatementAdded(statement)], now=0.0, revision=2)
    assert [allowed(later, LAKE, name, "load", T) for name in "ab"] == [True, False]
    last = apply(later, [StatementRemoved("d")], now=0.0, revision=3)
    assert [allowed(last, LAKE, name, "load", T) for name in "ab"] == [True, True]


def test_administrators_have_rows_of_their_own() -> None:
    """Nothing names them, and whoever is one passes rules that others do not."""
    asked = matrix(LAKE, LAKE_FACTS)
    for name in ("stranger", "cid", "root", "ana"):
        assert allowed(asked, LAKE, name, "create") is (name == "root")


def test_a_grant_to_whom_no_statement_named_before_changes_their_rows() -> None:
    """Until then the user shares a row with all others who have nothing."""
    asked = matrix(LAKE, LAKE_FACTS)
    assert not allowed(asked, LAKE, "cid", "load", T)
    assert not allowed(asked, LAKE, "schema-owner", "load", T)
    grants = [
        {"id": "u", "privileges": ["USE"], "to": ["user:cid"], "on": "catalog:m:c"},
        {"id": "r", "privileges": ["READ"], "to": ["user:cid"], "on": "catalog:m:c"},
    ]
    added = [StatementAdded(s) for s in world(LAKE, [], statements=grants).statements]
    given = apply(asked, added, now=0.0, revision=2)
    assert allowed(given, LAKE, "cid", "load", T)
    assert not allowed(given, LAKE, "schema-owner", "load", T)
    taken = apply(given, [StatementRemoved(one.statement.id) for one in added], now=0.0, revision=3)
    assert not allowed(taken, LAKE, "cid", "load", T)


def test_role_sets_with_equal_cells_share_them() -> None:
    """Most role sets have no grants of most privileges, and there may be many of both."""
    asked = matrix(LAKE, LAKE_FACTS)

    def nothing(asked: Matrix, role: int) -> Cells:
        sets = frozenset({role}), frozenset({role})
        subject = replace(asked.snapshot.subject(user("nobody")), key=sets)
        return asked.snapshot.cells("USE", subject)

    shared = nothing(asked, 901)
    assert shared is nothing(asked, 902)
    assert shared is nothing(apply(asked, [], now=0.0, revision=2), 903)


def test_cells_that_a_write_replaces_are_not_kept_for_their_content() -> None:
    """Each grant changes the cells of its principals; the old cells have no users anymore."""
    asked = matrix(LAKE, LAKE_FACTS)
    kept = []
    for number in range(4):
        grant = {
            "id": "more",
            "effect": ("deny", "allow")[number % 2],
            "privileges": ["USE", "READ"],
            "to": ["role:m:readers"],
            "on": ("catalog:m:c", "schema:m:c.s")[number // 2],  # existing scopes
        }
        (statement,) = world(LAKE, [], statements=[grant]).statements
        asked = apply(asked, [StatementAdded(statement)], now=0.0, revision=number + 2)
        kept.append(allowed(asked, LAKE, "ana", "load", T))
    gc.collect()
    memos_now = asked.snapshot.memos
    assert kept == [False, True, False, True]
    assert set(map(id, memos_now.distinct.values())) == set(map(id, memos_now.cells.values()))


def test_role_sets_of_single_requests_count_for_the_memory_budget() -> None:
    """A caller who sends new groups each time uses no more memory than others."""
    asked = matrix(LAKE, LAKE_FACTS)
    request = question(LAKE, "ana", "load", T)
    assert asked.decide(request).allow
    plain, cells = asked._bytes, asked.snapshot.memos.bytes
    as_barring = replace(request, groups=(Principal(ROLE, "m:barring"),))
    asked.decide(as_barring)
    key_bytes = asked.subject(as_barring).key_bytes
    assert asked.snapshot.memos.key_bytes % key_bytes == 0 < asked.snapshot.memos.key_bytes
    assert asked._bytes >= plain + key_bytes
    assert asked.snapshot.memos.bytes >= cells + asked.snapshot.memos.key_bytes
    spent = asked._bytes
    asked.decide(replace(request, groups=(Principal(GROUP, "nothing is granted to"),)))
    assert asked._bytes == spent
    later = apply(asked, [], now=0.0, revision=2)
    assert later.snapshot.memos.bytes >= asked.snapshot.memos.key_bytes


def test_types_that_are_not_there_are_not_remembered() -> None:
    asked = matrix(LAKE, LAKE_FACTS)
    assert not asked.snapshot.of_type("nonsense")
    assert asked.snapshot.of_type("table")
    assert set(asked.snapshot.memos.types) == {"table"}


def test_service_administrators_are_an_implied_set() -> None:
    assert SERVICE_ADMINS in M.snapshot.subject(user("root")).named
    assert M.revision == 1


def test_a_matrix_that_is_asked_meanwhile_is_carried() -> None:
    asked = matrix(LAKE, LAKE_FACTS)
    assert allowed(asked, LAKE, "ana", "load", T)

    def holds(subject: object) -> bool:
        for name, operation in (("ben", "load"), ("cid", "put_tags"), ("ana", "copy")):
            asked.decide(question(LAKE, name, operation, T))
        return True

    def keep(plan: matrix_module.Plan) -> matrix_module.StillHolds:
        assert holds(plan)
        return holds

    assert allowed(asked.with_valid_rows(asked.snapshot, keep, moved=False), LAKE, "ana", "load", T)


def test_a_change_while_cells_are_made_over_classes_that_were_not_there_yet() -> None:
    """A request adds the classes, then the cells; the change may only see the cells."""
    asked = matrix(CAT, world(CAT, [], statements=[]))
    memos_before = asked.snapshot.memos
    cells = asked.snapshot.cells("EDIT", asked.snapshot.subject(user("x")))
    late = ("EDIT", frozenset[int](), frozenset[int](), frozenset({"VIEW"}))
    memos_before.cells[late] = cells
    assert late[3] not in memos_before.partitions
    later = apply(asked, (), now=1.0, revision=2)
    assert later.revision == 2
    assert late not in later.snapshot.memos.cells


def test_what_a_change_takes_nothing_along_of_is_worked_out_when_it_is_asked_for() -> None:
    asked = matrix(LAKE, LAKE_FACTS)
    operations = ("load", "put_tags", "copy")
    before = [allowed(asked, LAKE, "ana", operation, T) for operation in operations]
    later = asked.with_valid_rows(
        asked.snapshot, lambda plan: lambda _: plan.operation.name != "load", moved=True
    )
    taken = {name for name, _ in later._plans}
    assert "load" not in taken
    assert all(later._plans[key].entries for key in later._plans)
    assert all(plan.shape.paths == ((),) for plan in later._plans.values())
    assert [allowed(later, LAKE, "ana", operation, T) for operation in operations] == before
    assert all(later._plans[key].shape is plan.shape for key, plan in asked._plans.items())


def test_a_rule_at_the_parent_is_that_of_the_type_which_the_parent_has() -> None:
    """The parent may have one of two types, each with its own rule."""
    two = system(
        CATALOG.replace(
            '[types.schemaField]\nparent = "dataset"',
            '[types.schemaField]\nparent = ["container", "dataset"]',
        )
        + """
[operations.open]
rules = { container = "EDIT", dataset = "VIEW" }
[operations.open_parent]
on = "schemaField"
rule = "may(open) @ parent"
"""
    )
    view = {"id": "v", "privileges": ["VIEW"], "to": ["user:urn:li:corpuser:ana"], "where": []}
    edit = {"id": "e", "privileges": ["EDIT"], "to": ["user:urn:li:corpuser:ben"], "where": []}
    container, other = "container:urn:li:container:c", COLUMN.replace(",x)", ",y)")
    facts = world(
        two,
        [container, DATASET],
        placed={COLUMN: DATASET, other: container},
        statements=[view, edit],
    )
    m = matrix(two, facts)
    assert [allowed(m, two, "ana", "open_parent", on) for on in (COLUMN, other)] == [True, False]
    assert [allowed(m, two, "ben", "open_parent", on) for on in (COLUMN, other)] == [False, True]


@pytest.mark.parametrize(("levels", "expected"), [(64, True), (65, False)])
def test_a_name_that_is_not_stored_may_have_64_levels_above_it(levels: int, expected: bool) -> None:
    chain = [f"container:urn:li:container:{n:02}" for n in range(levels - 1)]
    grants = [{"id": "v", "privileges": ["VIEW"], "to": ["user:urn:li:corpuser:ana"], "where": []}]
    placed = {**dict(zip(chain[1:], chain, strict=False)), DATASET: chain[-1]}
    m = matrix(CAT, world(CAT, chain[:1], placed=placed, statements=grants))
    assert allowed(m, CAT, "ana", "view", COLUMN) is expected


@pytest.mark.parametrize("selector", ["parent", "type", "container"])
def test_from_no_entity_every_selector_leads_to_none(selector: str) -> None:
    nothing = np.array([-1, -1], dtype=np.int32)
    assert C.snapshot.step(nothing, selector).tolist() == [-1, -1]


def test_rows_are_remembered_up_to_the_limit_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    m = matrix(LAKE, LAKE_FACTS)
    plan = m.plan(m.operation("load"), "table")
    m.entry(plan, m.snapshot.subject(user("ana")))
    monkeypatch.setattr(matrix_module, "MEMO_BYTES", m._bytes + matrix_module.ENTRY_BYTES)
    m.entry(plan, m.snapshot.subject(user("nobody")))
    size = len(m.entry(plan, m.snapshot.subject(user("cid"))).codes)  # has the same row
    assert set(plan.entries) == {"nobody", "cid"}
    monkeypatch.setattr(matrix_module, "MEMO_BYTES", m._bytes + size + matrix_module.ENTRY_BYTES)
    m.entry(plan, m.snapshot.subject(user("ana")))
    assert set(plan.entries) == {"nobody", "cid", "ana"}
    m.entry(plan, m.snapshot.subject(user("owner")))
    assert set(plan.entries) == {"owner"}


def test_rows_and_listings_that_are_kept_count_for_the_memory_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = matrix(LAKE, LAKE_FACTS)
    for name in ("ana", "cid"):
        assert listing(asked, question(LAKE, name, "load", T)) is not None
    later = asked.with_valid_rows(asked.snapshot, lambda _: None, moved=False)
    assert later._bytes == asked._bytes > later._listed > 0
    moved = asked.with_valid_rows(asked.snapshot, lambda _: None, moved=True)
    assert moved._bytes == asked._bytes - asked._listed
    monkeypatch.setattr(matrix_module, "MEMO_BYTES", asked._bytes - 1)
    full = asked.with_valid_rows(asked.snapshot, lambda _: None, moved=False)
    assert not any(plan.entries or plan.rows or plan.listings for plan in full._plans.values())
    assert allowed(full, LAKE, "ana", "load", T)


def test_rows_of_which_no_class_was_split_are_the_same_rows() -> None:
    asked = matrix(LAKE, LAKE_FACTS)
    assert allowed(asked, LAKE, "ana", "load", T)
    later = asked.with_valid_rows(asked.snapshot, lambda _: None, moved=False)
    for key, plan in later._plans.items():
        assert plan.entries is not asked._plans[key].entries
        assert all(entry is asked._plans[key].entries[k] for k, entry in plan.entries.items())


def test_a_row_gets_the_codes_of_the_classes_that_new_ones_were_split_off() -> None:
    subject = M.snapshot.subject(user("ana"))
    rows = {"shorter": b"\1\2", "whole": b"\2\1\1", "of others": b"\1"}
    entries: dict[Hashable, matrix_module.Entry] = {
        name: matrix_module.Entry(codes, subject.owned_subtree, subject, subject.key)
        for name, codes in rows.items()
    }
    found = matrix_module._extended_entries(entries, (-1, -1, 0))
    assert {name: entry.codes for name, entry in found.items()} == {
        "shorter": b"\1\2\1",
        "whole": b"\2\1\1",
    }
