"""`not-inherited`: a grant on a container in a system where nothing inside inherits it."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_a_grant_on_a_namespace_opens_nothing_inside() -> None:
    assert found("not-inherited", "violating") == [
        Seen(
            "statement:keeper",
            (
                "applies only to `namespace:sales`: the same principals have no access "
                "to the 4 entities inside it"
            ),
        ),
    ]
    assert fixes("not-inherited") == [
        (
            "grant on the contents with a pattern such as `dataset:sales.*`, or "
            "document why access is not intended"
        ),
    ]


def test_a_pattern_opens_what_is_inside() -> None:
    assert found("not-inherited", "clean") == []


def test_an_empty_namespace_holds_nothing_that_could_be_missing() -> None:
    world = changed("not-inherited", entities=["namespace:sales"])
    assert found("not-inherited", world) == []
