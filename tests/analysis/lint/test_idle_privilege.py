"""`idle-privilege`: a granted privilege that no operation requires on that entity."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, fixes, found


def test_executing_a_namespace_is_no_operation() -> None:
    assert found("idle-privilege", "violating") == [
        Seen("statement:run", "allows EXECUTE, which no operation on a namespace requires", "note"),
    ]
    assert fixes("idle-privilege") == [
        "remove EXECUTE, or grant it on a type to which it applies",
    ]


def test_executing_a_program_is() -> None:
    assert found("idle-privilege", "clean") == []
