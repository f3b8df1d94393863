"""The reasons of a decision, and what would turn a denial."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from lakewarden.kernel import matrix as matrix_module
from lakewarden.kernel import point_evaluator
from lakewarden.kernel.advice import WAYS, Way
from lakewarden.kernel.change import Change, MembershipChanged, StatementAdded, StatementRemoved
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.explain import (
    Step,
    deciding_statements,
    explain,
    missing_needs,
    reversing_changes,
)
from lakewarden.kernel.incremental_compile import apply
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import MembershipRow
from lakewarden.kernel.request import Reason, Request
from lakewarden.kernel.statement import Anything, Effect, On, Statement
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.system import System, load_system
from tests.kernel.small import CATALOG_SYSTEM as CAT
from tests.kernel.small import LAKE_SYSTEM as LAKE
from tests.kernel.small import matrix, question, user, world
from tests.kernel.test_matrix import CAT_FACTS, DATASET, LAKE_FACTS, T, U

M = matrix(LAKE, LAKE_FACTS)
C = matrix(CAT, CAT_FACTS)


def steps(step: Step) -> Iterator[Step]:
    yield step
    for inner in step.steps:
        yield from steps(inner)


def turned(
    m: Matrix,
    request: Request,
    needs: tuple[object, ...],
    lifted: tuple[str, ...],
    joins: tuple[Principal, ...] = (),
) -> bool:
    added: list[Change] = [
        MembershipChanged(MembershipRow(request.principal, role), True) for role in joins
    ]
    for number, need in enumerate(needs):
        anchor = need.entity  # type: ignore[attr-defined]
        added.append(
            StatementAdded(
                Statement(
                    id=f"way-{number}",
                    effect=Effect.ALLOW,
                    privileges=frozenset({need.privilege}),  # type: ignore[attr-defined]
                    scope=Anything() if anchor == NO_RESOURCE else On(anchor),
                    principals=frozenset({request.principal}),
                )
            )
        )
    gone = [StatementRemoved(id) for id in lifted]
    return apply(m, [*added, *gone], now=request.now, revision=2).decide(request).allow


def check_way(m: Matrix, request: Request, way: Way) -> None:
    """The whole way allows; without any one of its parts it does not."""
    assert turned(m, request, way.needs, way.lifted, way.joins)
    assert not way.joins or not (way.needs or way.lifted)
    for left_out in way.needs:
        rest = tuple(need for need in way.needs if need is not left_out)
        assert not turned(m, request, rest, way.lifted)
    for kept in way.lifted:
        assert not turned(m, request, way.needs, tuple(i for i in way.lifted if i != kept))


def questions(of: System, m: Matrix, people: tuple[str, ...]) -> Iterator[Request]:
    coded = m.snapshot.coded
    entities = [coded.tree.entity(id) for id in coded.tree.stored]
    for operation in of.model.operations.values():
        for entity in (NO_RESOURCE, *entities):
            if operation.rule_or_none(entity.type) is not None:
                for person in people:
                    yield Request(of.principal(person), operation.name, entity)


@pytest.mark.parametrize(
    ("of", "m", "people"),
    [
        (LAKE, M, ("ana", "barred", "cid", "owner", "stranger", "table-owner")),
        (CAT, C, ("ana", "ben", "cid", "limited", "nobody")),
    ],
)
def test_an_explanation_agrees_and_its_ways_turn_the_denial(
    of: System, m: Matrix, people: tuple[str, ...]
) -> None:
    turns = 0
    for request in questions(of, m, people):
        found = explain(m, request)
        assert found.decision == m.decide(request)
        assert found.rule is not None
        assert found.rule.holds == found.decision.allow
        assert len(found.ways) <= WAYS
        for way in found.ways:
            check_way(m, request, way)
            turns += 1
    assert turns > 20


def test_the_statements_that_decided_are_named() -> None:
    found = explain(M, question(LAKE, "ben", "load", T))
    assert {"use", "read", "implied:member:m"} <= set(found.statements)
    barred = explain(M, question(LAKE, "barred", "load", T))
    assert "bar" in barred.statements
    assert barred.ways[0].lifted == ("bar",)


def test_who_could_grant_is_named_with_each_need() -> None:
    found = explain(M, question(LAKE, "cid", "load", U))
    way = found.ways[0]
    needs = {
        need.privilege: (need.entity, who)
        for need, who in zip(way.needs, way.grantors, strict=True)
    }
    entity, grantors = needs["READ"]
    assert entity == LAKE.entity(U)
    assert grantors == ()
    assert needs["USE"][0] == LAKE.entity("schema:m:c.s")
    assert needs["USE"][1] == (user("schema-owner"),)
    assert explain(C, question(CAT, "nobody", "edit", DATASET)).ways[0].grantors == (None,)


def test_membership_is_a_need_that_no_grant_operation_gives() -> None:
    found = explain(M, question(LAKE, "stranger", "load", T))
    (way,) = found.ways
    assert [(n.privilege, n.entity.name) for n in way.needs] == [("MEMBER", "m")]
    assert way.grantors == (None,)


def test_where_only_ownership_helps_there_is_no_way() -> None:
    assert explain(M, question(LAKE, "ana", "drop", T)).ways == ()
    assert explain(M, question(LAKE, "ana", "nothing", T)).ways == ()


def test_no_rule_is_shown_where_none_was_reached() -> None:
    absent = explain(M, Request(user("ana"), "load", Entity("table", "m:c.s.none")))
    assert (absent.rule, absent.decision.reason) == (None, Reason.NOT_STORED)
    other = frozenset({Principal("role", "m:other")})
    unheld = explain(M, replace(question(LAKE, "ana", "load", T), roles=other))
    assert (unheld.rule, unheld.decision.reason) == (None, Reason.ROLE_NOT_HELD)


def test_a_disagreement_with_the_rows_is_a_denial_that_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    m = matrix(LAKE, LAKE_FACTS)
    request = question(LAKE, "ana", "load", T)
    monkeypatch.setattr(matrix_module, "_reason", lambda _: Reason.DENIED)
    found = explain(m, request)
    assert (found.decision.allow, found.decision.reason) == (False, Reason.ERROR)
    assert m.errors["Disagreement"] == 1


def test_an_error_is_explained_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    m = matrix(LAKE, LAKE_FACTS)
    monkeypatch.setattr(point_evaluator, "WORK_LIMIT", 1)
    found = explain(m, question(LAKE, "table-owner", "load", T))
    assert found.decision.reason is Reason.ERROR
    assert found.rule is None


def test_a_privilege_that_follows_from_others_is_turned_by_them() -> None:
    cdap = load_system("cdap")
    m = matrix(cdap, world(cdap, ["namespace:a", "dataset:a.t"], users=["ana"]))
    found = explain(m, question(cdap, "ana", "dataset.list.filter", "dataset:a.t"))
    assert 1 < len(found.ways) <= WAYS
    for way in found.ways:
        check_way(m, question(cdap, "ana", "dataset.list.filter", "dataset:a.t"), way)


def test_a_name_that_is_not_stored_can_be_pregranted() -> None:
    cdap = load_system("cdap")
    m = matrix(cdap, world(cdap, ["namespace:a"], users=["ana"]))
    request = question(cdap, "ana", "dataset.create", "dataset:a.new")
    found = explain(m, request)
    assert found.ways
    for way in found.ways:
        check_way(m, request, way)
    parent_write = load_system("cdap_parent_write")
    m = matrix(parent_write, world(parent_write, ["namespace:a"], users=["ana"]))
    get = question(parent_write, "ana", "dataset.get", "dataset:a.new")
    (way,) = explain(m, get).ways
    assert len(way.needs) == 2
    check_way(m, get, way)
    new = "dataset:urn:li:dataset:(urn:li:dataPlatform:hive,new,PROD)"
    edit = question(CAT, "nobody", "edit", new)
    (way,) = explain(C, edit).ways
    check_way(C, edit, way)


def test_subresources_need_a_statement_without_constraint() -> None:
    tag = CAT.entity("tag:urn:li:tag:c")
    request = replace(question(CAT, "limited", "edit", DATASET), subresources=(tag,))
    found = explain(C, request)
    assert not found.decision.allow
    for way in found.ways:
        check_way(C, request, way)


def test_one_need_may_do_the_work_of_another() -> None:
    found = explain(M, question(LAKE, "cid", "both", T))
    needs = [[(n.privilege, n.entity.type) for n in way.needs] for way in found.ways if way.needs]
    assert needs == [[("READ", "schema")]]
    wide = explain(M, question(LAKE, "cid", "wide", T))
    assert [[n.privilege for n in way.needs] for way in wide.ways if way.needs] == [["READ"]]


def test_a_deny_that_stands_alone_is_lifted() -> None:
    deny = {"id": "no", "effect": "deny", "privileges": ["USE"], "to": ["user:schema-owner"]}
    facts = replace(
        LAKE_FACTS,
        statements=[
            *LAKE_FACTS.statements,
            *read_statements([{**deny, "on": "metalake:m"}], LAKE.model, LAKE.spelling, "x"),
        ],
    )
    m = matrix(LAKE, facts)
    request = question(LAKE, "schema-owner", "tidy", T)
    (way,) = explain(m, request).ways
    assert (way.needs, way.lifted) == ((), ("no",))
    check_way(m, request, way)


def test_no_more_ways_are_told_than_people_read() -> None:
    datahub = load_system("datahub")
    m = matrix(datahub, world(datahub, [DATASET]))
    request = question(datahub, "ana", "lineage.exists", DATASET)
    found = explain(m, request)
    assert len(found.ways) == WAYS
    for way in found.ways:
        check_way(m, request, way)


def test_a_rule_without_a_meaning_for_the_type_is_shown_as_failing() -> None:
    found = explain(C, question(CAT, "ben", "relay", DATASET))
    assert found.rule is not None
    assert not found.rule.holds
    assert found.ways == ()


def test_a_step_says_what_it_asks_and_where() -> None:
    copy = question(LAKE, "ana", "copy", T)
    there = replace(copy, targets={"to": LAKE.entity("schema:m:d.s")})
    found = explain(M, there)
    assert found.rule is not None
    said = {step.says for step in steps(found.rule)}
    assert {"all of", "may load", "at to", "may look"} <= said
    nowhere = explain(M, copy)
    assert nowhere.rule is not None
    assert any(step.entity is None for step in steps(nowhere.rule))
    everything = {
        step.says
        for request in (*questions(LAKE, M, ("ana",)), *questions(CAT, C, ("ana",)))
        for rule in [explain(M if request.operation in LAKE.model.operations else C, request).rule]
        if rule is not None
        for step in steps(rule)
    }
    assert {"nobody", "anyone", "is the subject", "service administrator"} <= everything
    assert {"on every one of tagged", "on some one of tagged", "not denied USE"} <= everything


def test_the_deciding_statements_are_those_of_the_explanation() -> None:
    for who in ("ana", "ben", "cid"):
        for system, facts, on, acts in (
            (LAKE, LAKE_FACTS, T, ("load", "tidy", "climb", "read_some_tag", "beside", "both")),
            (CAT, CAT_FACTS, DATASET, ("edit", "VIEW")),
        ):
            m = matrix(system, facts)
            for act in acts:
                asked = question(system, who, act, on)
                assert deciding_statements(m, asked) == explain(m, asked).statements


def test_of_deciding_statements_those_about_known_entities_can_be_had() -> None:
    m = matrix(LAKE, LAKE_FACTS)
    asked = question(LAKE, "ana", "load", T)
    assert deciding_statements(m, asked, {asked.target}) == deciding_statements(m, asked) != ()
    assert deciding_statements(m, asked, frozenset()) == ()


def test_what_is_lacking_is_named_with_the_entity_where_it_was_asked_for() -> None:
    ways = missing_needs(M, question(LAKE, "cid", "load", U))
    assert ways
    assert [len(way) for way in ways] == sorted(len(way) for way in ways)
    assert "READ" in {need.privilege for way in ways for need in way}


def test_where_no_allow_helps_nothing_is_lacking() -> None:
    assert missing_needs(M, question(LAKE, "ana", "drop", T)) == ()


def test_what_turns_a_denial_names_what_would_be_asked_of_a_name_that_is_not_stored() -> None:
    lake = load_system("gravitino")
    facts = world(lake, users=["ana"], entities=["metalake:lk", "catalog:lk:c", "tag:lk:pii"])
    table = question(lake, "ana", "object.tags.load", "catalog:lk:c")
    m = matrix(lake, facts)

    def told(name: str) -> list[list[str]]:
        ways = reversing_changes(m, replace(table, targets={"tag": Entity("tag", f"lk:{name}")}))
        return [sorted(str(change).replace(f"lk:{name}", "lk:NAME") for change in w) for w in ways]

    assert told("pii") == told("no") != []


def test_a_derived_privilege_is_lacking_by_its_own_name() -> None:
    cdap = load_system("cdap")
    m = matrix(cdap, world(cdap, users=["ana"]))
    (way,) = missing_needs(m, question(cdap, "ana", "namespace.get", "namespace:a"))[:1]
    assert {need.privilege for need in way} <= {"VISIBLE", "OPEN"}


def test_what_does_not_allow_is_not_true() -> None:
    verdicts = set()
    for request in questions(LAKE, M, ("ana", "zed")):
        explained = explain(M, request)
        verdicts.add(explained.decision.allow)
        assert bool(explained) is bool(explained.decision) is M.decide(request).allow
        if explained.rule is not None:
            assert all(bool(step) is step.holds for step in steps(explained.rule))
    assert verdicts == {True, False}
