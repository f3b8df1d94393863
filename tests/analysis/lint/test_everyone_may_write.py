"""`everyone-may-write`: an entity that everybody may change."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, example, fixes, found


def test_members_of_a_metalake_are_everybody() -> None:
    assert found("everyone-may-write", "violating") == [
        Seen("statement:all", "grants all users write privileges: `MODIFY_TABLE`"),
    ]
    assert fixes("everyone-may-write") == [
        "grant it to the groups that need it, and grant all users only read privileges",
    ]


def test_everybody_may_look() -> None:
    assert found("everyone-may-write", "clean") == []


def test_tokens_of_ones_own_and_views_are_not_changes() -> None:
    world = example("no-resources", "clean")
    words = ["GENERATE_PERSONAL_ACCESS_TOKENS", "VIEW_ANALYTICS", "VIEW_ENTITY_PAGE"]
    world["statement"] = [{"id": "all", "privileges": words, "to": ["all-users"]}]
    assert found("everyone-may-write", world) == []


def test_whoever_is_in_any_group_is_everybody() -> None:
    world = example("no-resources", "clean")
    world["statement"] = [{"id": "all", "privileges": ["EDIT_ENTITY_DOCS"], "to": ["any-group"]}]
    assert [one.place for one in found("everyone-may-write", world)] == ["statement:all"]


def test_the_defaults_of_the_guide_are_found_and_those_of_today_are_not() -> None:
    world = {"model": "datahub", "defaults": True}
    assert found("everyone-may-write", world) == []
    guide = found("everyone-may-write", {**world, "settings": {"bootstrap": "seed"}})
    assert [one.place for one in guide] == [
        "statement:urn:li:dataHubPolicy:all-platform-privileges"
    ]
