"""A policy that replaces an index's: the resulting statements, and unknowable effects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.implied import membership
from lakewarden.kernel.memberships import Memberships
from lakewarden.kernel.model import Reach
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal
from lakewarden.kernel.relations import MembershipRow
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.statement_file import read_statements
from lakewarden.pipeline.diff.policy import (
    Placed,
    after,
    check_anchors,
    policy_of,
)
from lakewarden.pipeline.index.id_space import IdSpace
from lakewarden.pipeline.index.index import KIND, Index
from lakewarden.pipeline.index.task_context import TaskContext
from lakewarden.pipeline.product import Manifest
from lakewarden.service.policy import Policy
from lakewarden.service.system import load_system

ANA, BEN = Principal(USER, "ana"), Principal(USER, "ben")
STAFF, READERS = Principal(GROUP, "staff"), Principal(ROLE, "lk:readers")
SYSTEM = load_system("gravitino")
TABLE = Entity("table", "lk:c.s.t")
LAKE = membership(Entity("metalake", "lk"))


def statements(*tables: Mapping[str, object]) -> tuple[Statement, ...]:
    return read_statements(tables, SYSTEM.model, SYSTEM.spelling, "test")


def reading(id: str, to: str = "user:ana", **more: object) -> dict[str, object]:
    return {"id": id, "privileges": ["SELECT_TABLE"], "to": to, "on": "table:lk:c.s.t", **more}


STATED = statements(reading("one"), reading("two", "group:staff"))


def estate(stated: Iterable[Statement] = (*STATED, LAKE)) -> TaskContext:
    memberships = Memberships.build([ANA, BEN, STAFF, READERS], [(ANA, STAFF)], [])
    return TaskContext("gravitino", {}, memberships, ("",), tuple(stated), 0.0, IdSpace.of(10, 17))


def put(policy: Policy, *, only: bool = False) -> TaskContext:
    return after(estate(), STATED, policy, SYSTEM, only=only)


def ids(found: TaskContext) -> list[str]:
    return [statement.id for statement in found.statements]


def policy(*stated: Statement, roles: Iterable[Principal] = ()) -> Policy:
    return Policy({s.id: s for s in stated}, frozenset(roles))


def test_a_statement_takes_the_place_of_the_one_with_its_id() -> None:
    (wider,) = statements(reading("two", "user:ben"))
    found = put(policy(wider))
    assert ids(found) == ["one", "two", LAKE.id]
    assert found.statements[1] == wider
    assert found.key != estate().key


def test_with_only_the_files_what_they_leave_out_is_gone_but_not_what_follows_from_facts() -> None:
    (new,) = statements(reading("new"))
    assert ids(put(policy(new), only=True)) == ["new", LAKE.id]


def test_what_nobody_may_change_stays() -> None:
    system = load_system("datahub")
    fixed = [t for t in system.model.defaults if not t.get("editable", False)]
    keys = ("id", "effect", "privileges", "to", "on", "where", "title")
    tables = [{k: v for k, v in t.items() if k in keys} for t in fixed]
    stated = read_statements(tables, system.model, system.spelling, "test", builtin=True)
    found = after(estate(stated), stated, policy(), system, only=True)
    assert ids(found) == sorted(s.id for s in stated)


def test_roles_and_members_are_added() -> None:
    eve, role = Principal(USER, "eve"), Principal(ROLE, "lk:writers")
    wanted = Policy({}, frozenset({role}), frozenset({MembershipRow(eve, role)}))
    memberships = put(wanted).memberships
    assert role in {memberships.principals[id] for id in memberships.acts_as(eve)}
    assert {memberships.ids[eve], memberships.ids[role]} <= memberships.stored


def test_a_role_that_nobody_stored_has_no_members() -> None:
    wanted = Policy({}, members=frozenset({MembershipRow(BEN, Principal(ROLE, "lk:no"))}))
    with pytest.raises(BadInput, match="role `lk:no` is not stored"):
        put(wanted)


def test_nobody_becomes_a_member_of_himself() -> None:
    wanted = Policy({}, members=frozenset({MembershipRow(STAFF, STAFF)}))
    with pytest.raises(BadInput, match="a member of itself"):
        put(wanted)


def index() -> Index:
    return Index(Path("index"), Manifest(KIND, 1, (), {}, {"realm": "lake"}, {}), SYSTEM)


def found_at(places: Mapping[Entity, Placed]) -> Callable[[Iterable[Entity]], dict[Entity, Placed]]:
    return lambda wanted: {entity: places[entity] for entity in wanted if entity in places}


def test_a_statement_in_a_file_is_about_what_is_stored() -> None:
    files = [("policy.toml", {"realm": "lake", "statement": [reading("one")]})]
    read = policy_of(files, index(), (), found_at({TABLE: Placed(7, 3, True)}))
    assert list(read.statements) == ["one"]
    for places in ({}, {TABLE: Placed(7, 3, False)}):
        with pytest.raises(BadInput, match="which is not stored"):
            policy_of(files, index(), (), found_at(places))
    other = replace(index(), manifest=Manifest(KIND, 1, (), {}, {"realm": "other"}, {}))
    with pytest.raises(BadInput, match="is for realm `lake`, not `other`"):
        policy_of(files, other, (), found_at({}))


def test_a_filter_or_mask_may_stay_on_what_is_not_stored_any_more() -> None:
    mask = {"id": "one", "on": "table:lk:c.s.t", "with": "null"}
    files = [("policy.toml", {"realm": "lake", "mask": [mask]})]
    table = {"id": "one", "effect": "mask", "on": "table:lk:c.s.t", "expression": "null"}
    read = policy_of(files, index(), statements(table), found_at({}))
    assert list(read.statements) == ["one"]
    with pytest.raises(BadInput, match="which is not stored"):
        policy_of(files, index(), STATED, found_at({}))


def test_a_new_statement_that_reaches_upwards_is_refused_where_names_do_not_tell() -> None:
    system = load_system("cdap")
    assert any(p.reach is Reach.ABOVE for p in system.model.privileges.values())
    dataset, space = Entity("dataset", "sales.t"), Entity("namespace", "sales")
    table = {"id": "x", "privileges": ["READ"], "to": "user:ana", "on": "dataset:sales.t"}
    stated = read_statements([table], system.model, system.spelling, "test")
    later = after(estate(()), (), policy(*stated), system, only=False)
    above = {dataset: Placed(9, 4, True), space: Placed(4, -1, True)}
    check_anchors(estate(()), later, system, found_at(above))
    check_anchors(later, later, system, found_at({}))
    elsewhere = {**above, dataset: Placed(9, 5, True)}
    with pytest.raises(BadInput, match="which its name does not tell"):
        check_anchors(estate(()), later, system, found_at(elsewhere))
