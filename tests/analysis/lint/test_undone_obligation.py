"""`undone-obligation`: exceptions as wide as the statement."""

from __future__ import annotations

import pytest

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_exceptions_for_everybody_bound_are_found() -> None:
    assert found("undone-obligation", "violating") == [
        Seen("statement:iban", "binds no one: exceptions for `staff` cover all its principals"),
        Seen(
            "statement:rows",
            "binds no one: exceptions for `all-users` cover all its principals",
        ),
    ]
    assert set(fixes("undone-obligation")) == {"narrow the exceptions, or delete it"}


def test_a_narrower_exception_is_fine() -> None:
    assert found("undone-obligation", "clean") == []


@pytest.mark.parametrize(
    ("to", "excepted", "is_found"),
    [
        (["user:ana"], ["user:ana"], True),
        (["user:ana"], ["user:ben"], False),
        (["user:zoe"], ["user:zoe"], True),
        (["group:staff"], ["user:ana", "user:ben"], True),
        (["group:staff"], ["user:ana"], False),
        ([], ["group:staff"], True),
        ([], ["owners"], False),
    ],
)
def test_users_count_not_names(to: list[str], excepted: list[str], is_found: bool) -> None:
    world = changed("undone-obligation")
    rows = world["statement"][1]
    world["statement"] = [{**rows, "to": to, "except": excepted}]
    assert bool(found("undone-obligation", world)) is is_found
