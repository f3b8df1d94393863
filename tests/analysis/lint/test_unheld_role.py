"""`unheld-role`: a role with privileges that nobody holds."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, fixes, found


def test_a_role_with_privileges_waits_for_its_first_holder() -> None:
    assert found("unheld-role", "violating") == [
        Seen("role:lk:archivist", "has 1 statement, but no holders"),
    ]
    assert fixes("unheld-role") == [
        "drop the role, or assign it",
    ]


def test_a_role_that_somebody_holds_is_in_use() -> None:
    assert found("unheld-role", "clean") == []


def test_roles_that_are_shipped_may_wait() -> None:
    assert found("unheld-role", {"model": "datahub", "defaults": True}) == []
