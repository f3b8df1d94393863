"""`shadowed-statement`: an ALLOW whose permissions others already grant."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, example, fixes, found


def test_what_a_role_of_the_user_covers_opens_nothing() -> None:
    assert found("shadowed-statement", "violating") == [
        Seen("statement:one", "adds no access beyond `all`"),
    ]
    assert fixes("shadowed-statement") == [
        "delete it, or remove its principals from the other statements",
    ]


def test_one_privilege_more_is_something() -> None:
    assert found("shadowed-statement", "clean") == []


def test_of_two_that_cover_each_other_one_is_kept() -> None:
    world = changed("shadowed-statement")
    both = {"privileges": ["READ"], "to": ["user:ana"], "on": "dataset:sales.orders"}
    world["statement"] = [{"id": "a", **both}, {"id": "b", **both}]
    assert [one.place for one in found("shadowed-statement", world)] == ["statement:b"]


def test_what_will_end_covers_nothing() -> None:
    world = changed("shadowed-statement")
    world["statement"][0]["valid_until"] = 1_800_000_000
    assert found("shadowed-statement", world) == []


def test_what_another_user_has_covers_nothing() -> None:
    world = changed("shadowed-statement")
    world["statement"][1]["to"] = ["user:ben"]
    assert found("shadowed-statement", world) == []


def test_all_for_whom_it_is_must_be_covered() -> None:
    world = changed("shadowed-statement")
    world["statement"][1]["to"] = ["user:ana", "user:ben"]
    assert found("shadowed-statement", world) == []


def test_a_constraint_is_narrower_and_covers_nothing() -> None:
    world = example("lifted-constraint", "violating")
    world["statement"][1] |= {"id": "z", "privileges": ["EDIT_ENTITY_TAGS"]}
    world["statement"][0]["where"] = world["statement"][1]["where"]
    assert [one.place for one in found("shadowed-statement", world)] == ["statement:season"]
