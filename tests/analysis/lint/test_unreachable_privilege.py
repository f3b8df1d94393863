"""`unreachable-privilege`: a privilege whose holders lack another required one."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_reading_a_table_needs_the_way_to_it() -> None:
    assert found("unreachable-privilege", "violating") == [
        Seen(
            "statement:budgets",
            (
                "allows SELECT_TABLE to principals without USE_CATALOG, USE_SCHEMA "
                "there, so it has no effect"
            ),
        ),
    ]
    assert fixes("unreachable-privilege") == [
        "allow USE_CATALOG, USE_SCHEMA on the containers as well, or delete it",
    ]


def test_the_way_may_come_from_a_container_above() -> None:
    assert found("unreachable-privilege", "clean") == []


def test_the_way_may_come_from_another_role_of_the_same_user() -> None:
    world = changed("unreachable-privilege")
    world["members"] |= {"role:lk:way": ["user:ana"]}
    way = {"privileges": ["USE_CATALOG", "USE_SCHEMA"], "on": "catalog:lk:c"}
    world["statement"] += [{"id": "way", "to": ["role:lk:way"], **way}]
    assert found("unreachable-privilege", world) == []


def test_the_way_of_somebody_else_is_no_way() -> None:
    world = changed("unreachable-privilege")
    world["members"] |= {"role:lk:way": ["user:ben"]}
    way = {"privileges": ["USE_CATALOG", "USE_SCHEMA"], "on": "catalog:lk:c"}
    world["statement"] += [{"id": "way", "to": ["role:lk:way"], **way}]
    assert [one.place for one in found("unreachable-privilege", world)] == ["statement:budgets"]


def test_a_role_that_nobody_holds_is_left_to_another_rule() -> None:
    world = changed("unreachable-privilege")
    world["members"]["role:lk:r"] = []
    assert found("unreachable-privilege", world) == []
