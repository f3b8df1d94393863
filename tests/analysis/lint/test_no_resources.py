"""`no-resources`: a metadata policy that names no resources, and so covers all."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_a_metadata_policy_without_resources_covers_everything() -> None:
    assert found("no-resources", "violating") == [
        Seen(
            "statement:edit",
            ("has no resource filter: `EDIT_ENTITY_DOCS` on all present and future entities"),
        ),
    ]
    assert fixes("no-resources") == [
        "select by type, domain, owner or tag",
    ]


def test_a_type_is_a_limit() -> None:
    assert found("no-resources", "clean") == []


def test_platform_privileges_have_no_resources() -> None:
    world = changed("no-resources")
    world["statement"][0]["privileges"] = ["MANAGE_TAGS"]
    assert found("no-resources", world) == []


def test_an_empty_list_of_criteria_is_no_limit() -> None:
    world = changed("no-resources")
    world["statement"][0]["where"] = []
    assert [one.place for one in found("no-resources", world)] == ["statement:edit"]
