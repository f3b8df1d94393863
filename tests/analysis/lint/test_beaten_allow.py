"""`beaten-allow`: an ALLOW that a DENY to the same principal overrides everywhere."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, example, fixes, found


def test_an_allow_that_its_holder_is_denied_above_opens_nothing() -> None:
    assert found("beaten-allow", "violating") == [
        Seen(
            "statement:read",
            "allows USE_SCHEMA, which a DENY to the same principals overrides everywhere",
        ),
    ]
    assert fixes("beaten-allow") == [
        "delete the ALLOW of USE_SCHEMA, or the DENY that overrides it",
    ]


def test_a_deny_on_a_part_leaves_the_rest_open() -> None:
    assert found("beaten-allow", "clean") == []


def test_a_deny_to_one_of_two_leaves_the_other_what_is_allowed() -> None:
    statements = example("beaten-allow", "violating")["statement"]
    both = [{**statements[0], "to": ["role:lk:r", "group:staff"]}, statements[1]]
    assert found("beaten-allow", changed("beaten-allow", statement=both)) == []
