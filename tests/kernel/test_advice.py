"""Advice is minimal: the smallest change comes first, with its other effects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from lakewarden.kernel import advice as module
from lakewarden.kernel import point_evaluator
from lakewarden.kernel.advice import Way
from lakewarden.kernel.errors import LimitExceeded
from lakewarden.kernel.explain import explain
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import Principal
from lakewarden.service.system import load_system
from tests.kernel.small import CATALOG_SYSTEM as CAT
from tests.kernel.small import LAKE as SMALL_LAKE
from tests.kernel.small import matrix, question, system, world
from tests.kernel.test_matrix import CAT_FACTS, DATASET

LAKE = load_system("gravitino")
T = "table:m:c.s.t"
USES = {"privileges": ["USE_CATALOG", "USE_SCHEMA"], "to": ["user:ana"], "on": "catalog:m:c"}


def lake(*statements: Mapping[str, object], **members: list[str]) -> Matrix:
    """Ana is a member who may use the catalog, but may not read anything yet."""
    tables = [T, "table:m:c.s.u", "table:m:c.s.v"]
    roles = {f"role:m:{name}": people for name, people in members.items()}
    return matrix(
        LAKE,
        world(
            LAKE,
            ["metalake:m", "catalog:m:c", "schema:m:c.s", *tables],
            members={"members:m": ["ana", "ben"], **roles},
            statements=[{"id": "uses", **USES}, *statements],
        ),
    )


def granted(id: str, privilege: str, on: str) -> dict[str, object]:
    return {"id": id, "privileges": [privilege], "to": [f"role:m:{id}"], "on": on}


def ways(m: Matrix, operation: str = "table.load", user: str = "ana") -> list[Way]:
    return list(explain(m, question(LAKE, user, operation, T)).ways)


def words(way: Way) -> list[str]:
    needs = [f"{need.privilege} on {need.entity.type}" for need in way.needs]
    return [*(role.name for role in way.joins), *needs, *way.lifted]


def test_reading_is_advised_before_changing() -> None:
    first, second = ways(lake())
    assert (words(first), words(second)) == (["SELECT_TABLE on table"], ["MODIFY_TABLE on table"])
    assert "table.alter" not in first.opens
    assert "table.alter" in second.opens
    assert set(first.opens) < set(second.opens)
    assert (first.others, second.others) == (0, 0)


def test_a_role_that_is_there_is_advised_before_a_grant_that_opens_as_much() -> None:
    found = ways(lake(granted("readers", "SELECT_TABLE", "schema:m:c.s"), readers=["ben"]))
    assert [words(way) for way in found] == [
        ["m:readers"],
        ["SELECT_TABLE on table"],
        ["MODIFY_TABLE on table"],
    ]
    assert found[0].joins == (Principal("role", "m:readers"),)
    assert found[0].others == 2
    assert found[0].grantors == ()


def test_a_role_that_opens_more_comes_after_the_grant() -> None:
    found = ways(lake(granted("writers", "MODIFY_TABLE", T), writers=["ben"]))
    assert [words(way) for way in found] == [
        ["SELECT_TABLE on table"],
        ["m:writers"],
        ["MODIFY_TABLE on table"],
    ]


def test_of_two_roles_the_one_with_fewer_entities_comes_first() -> None:
    statements = [
        granted("wide", "SELECT_TABLE", "catalog:m:c"),
        granted("narrow", "SELECT_TABLE", T),
        granted("zone", "SELECT_TABLE", "schema:m:c.s"),
    ]
    found = ways(lake(*statements, wide=["ben"], narrow=["ben"], zone=["ben"]))
    joins = [words(way)[0] for way in found if way.joins]
    assert joins[0] == "m:narrow"
    assert len(joins) == 2
    assert [way.others for way in found if way.joins] == [0, 2]


def test_a_deny_that_is_lifted_counts_what_it_held_back() -> None:
    deny = {"id": "no", "effect": "deny", "privileges": ["SELECT_TABLE"], "to": ["user:ana"]}
    give = {"id": "yes", "privileges": ["SELECT_TABLE"], "to": ["user:ana"], "on": "schema:m:c.s"}
    found = ways(lake({**deny, "on": "schema:m:c.s"}, give))
    assert words(found[0]) == ["no"]
    assert found[0].others == 2


def test_only_users_who_put_no_role_aside_are_told_to_enter_one() -> None:
    m = lake(granted("readers", "SELECT_TABLE", "schema:m:c.s"), readers=["ben"])
    request = question(LAKE, "ana", "table.load", T)
    for other in (
        replace(request, roles=frozenset()),
        replace(request, principal=Principal("group", "staff")),
    ):
        assert not any(way.joins for way in explain(m, other).ways)


def test_a_role_that_is_held_or_does_not_help_is_no_advice() -> None:
    statements = [
        granted("held", "CREATE_TABLE", "schema:m:c.s"),
        granted("far", "SELECT_TABLE", T),
    ]
    m = lake(*statements, held=["ana"], far=["ben"])
    assert [words(way) for way in ways(m) if way.joins] == [["m:far"]]
    assert all(not way.joins for way in ways(m, "table.load_to_modify"))


def test_a_name_that_is_not_stored_is_no_other_entity() -> None:
    cdap = load_system("cdap")
    m = matrix(cdap, world(cdap, ["namespace:a"], users=["ana"]))
    found = explain(m, question(cdap, "ana", "dataset.create", "dataset:a.new")).ways
    assert found
    assert all(way.others == 0 for way in found)


def test_what_would_take_long_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COUNTED", 2)
    assert [way.others for way in ways(lake())] == [None, None]
    monkeypatch.undo()
    tag = CAT.entity("tag:urn:li:tag:c")
    request = replace(question(CAT, "limited", "edit", DATASET), subresources=(tag,))
    found = explain(matrix(CAT, CAT_FACTS), request).ways
    assert found
    assert {way.others for way in found} == {None}


def test_an_operation_that_takes_too_much_work_counts_as_not_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    m = lake()
    least = next(n for n in range(5, 500) if _answers(m, n, monkeypatch))
    monkeypatch.setattr(point_evaluator, "WORK_LIMIT", least)
    found = ways(m)
    monkeypatch.undo()
    assert found
    assert {way for one in found for way in one.opens} < {w for one in ways(m) for w in one.opens}


def _answers(m: Matrix, limit: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(point_evaluator, "WORK_LIMIT", limit)
    try:
        return bool(ways(m))
    except LimitExceeded:
        return False


def test_at_most_five_ways_are_named() -> None:
    names = [f"WORD_{n}" for n in range(7)]
    privileges = "".join(f'[privileges.{name}]\non = ["table"]\n' for name in names)
    operation = f'[operations.any_of_them]\non = "table"\nrule = "{" or ".join(names)}"\n'
    of = system(SMALL_LAKE + privileges + operation)
    m = matrix(
        of,
        world(of, ["metalake:m", "catalog:m:c", "schema:m:c.s", T], members={"members:m": ["ana"]}),
    )
    found = explain(m, question(of, "ana", "any_of_them", T)).ways
    assert [words(way) for way in found] == [[f"{name} on table"] for name in names[:5]]
