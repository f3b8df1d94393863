"""`unusable-principal`: a namespace that runs as a principal whom nobody may use."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, fixes, found


def test_a_namespace_runs_as_somebody_whom_nobody_may_use() -> None:
    assert found("unusable-principal", "violating") == [
        Seen(
            "namespace:sales",
            "runs its programs as `etl`, and only that user may deploy as it",
            "note",
        ),
    ]
    assert fixes("unusable-principal") == [
        "grant ADMIN on `kerberosprincipal:etl` to the users who deploy there",
    ]


def test_a_group_may_use_it() -> None:
    assert found("unusable-principal", "clean") == []
