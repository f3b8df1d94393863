"""`wrong-type`: a privilege in a policy of the wrong kind, or about the wrong type."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_a_platform_privilege_is_asked_without_a_resource() -> None:
    assert found("wrong-type", "violating") == [
        Seen(
            "statement:manage",
            ("has resources, but `MANAGE_GLOSSARIES` applies without a resource"),
        ),
    ]
    assert fixes("wrong-type") == [
        "move them to a policy of type PLATFORM",
    ]


def test_a_platform_policy_has_none() -> None:
    assert found("wrong-type", "clean") == []


def test_a_privilege_that_is_not_for_the_type_is_found() -> None:
    world = changed("wrong-type")
    world["statement"][0] |= {
        "privileges": ["EDIT_DATASET_COL_TAGS"],
        "where": [{"field": "TYPE", "values": ["chart"]}],
    }
    says = "selects `chart`, to which `EDIT_DATASET_COL_TAGS` does not apply"
    assert found("wrong-type", world) == [Seen("statement:manage", says)]
    world["statement"][0]["privileges"] += ["EDIT_ENTITY_TAGS"]
    assert [one.severity for one in found("wrong-type", world)] == ["note"]


def test_policies_are_managed_by_their_type() -> None:
    world = changed("wrong-type")
    world["statement"][0] |= {
        "privileges": ["MANAGE_POLICIES"],
        "where": [{"field": "TYPE", "values": ["dataHubPolicy"]}],
    }
    assert found("wrong-type", world) == []
