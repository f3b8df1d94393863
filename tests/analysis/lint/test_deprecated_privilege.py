"""`deprecated-privilege`: a privilege with an older name, or a deprecated one."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, example, fixes, found


def test_an_older_name_is_told_with_the_present_one() -> None:
    assert found("deprecated-privilege", "violating") == [
        Seen(
            "privilege:CREATE_MODEL",
            "is a former name of REGISTER_MODEL, and is in `models`",
            "note",
        ),
    ]
    assert fixes("deprecated-privilege") == [
        "use REGISTER_MODEL",
    ]


def test_the_present_name_is_fine() -> None:
    assert found("deprecated-privilege", "clean") == []


def test_what_the_guide_calls_deprecated_is_found() -> None:
    world = example("domain-boundary", "violating")
    world["statement"][0]["privileges"] = ["CREATE_CONSTRAINTS"]
    says = "is deprecated, and is in `read-sales`"
    assert found("deprecated-privilege", world) == [
        Seen("privilege:CREATE_CONSTRAINTS", says, "note")
    ]
