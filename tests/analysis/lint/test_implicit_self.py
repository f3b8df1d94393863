"""`implicit-self`: all users may change their own entity."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, fixes, found


def test_every_user_may_edit_the_own_user() -> None:
    assert found("implicit-self", "violating") == [
        Seen(
            "realm:datahub",
            (
                "every user has DELETE_ENTITY, EDIT_ENTITY on their own user entity, "
                "which no policy grants or revokes"
            ),
            "note",
        ),
    ]
    assert fixes("implicit-self") == [
        "consider this where policies select by attributes of user entities",
    ]


def test_a_system_without_such_a_policy_has_none() -> None:
    assert found("implicit-self", "clean") == []
