"""Denied reads: one row per minute and kind, with the number of denials."""

from __future__ import annotations

import pytest

from lakewarden.service import denials
from lakewarden.service.denials import EVERY, Denials

KIND = ("lake", "eve", "table.load")


def test_the_first_is_written_at_once_and_others_are_counted_for_the_next() -> None:
    denied = Denials()
    assert [denied.count(*KIND, 100.0 + at) for at in (0, 1, EVERY - 1)] == [1, 0, 0]
    assert denied.count(*KIND, 100.0 + EVERY) == 3
    assert denied.count(*KIND, 101.0 + EVERY) == 0


def test_each_realm_user_and_operation_is_a_kind_of_its_own() -> None:
    denied = Denials()
    kinds = [KIND, ("sea", *KIND[1:]), ("lake", "ana", KIND[2]), (*KIND[:2], "table.drop")]
    assert [denied.count(*kind, 1.0) for kind in kinds] == [1, 1, 1, 1]
    assert [denied.count(*kind, 2.0) for kind in kinds] == [0, 0, 0, 0]


def test_only_so_many_kinds_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(denials, "MOST", 2)
    denied = Denials()
    assert [denied.count("lake", user, "x", 1.0) for user in ("a", "b", "c")] == [1, 1, 1]
    assert [denied.count("lake", user, "x", 2.0) for user in ("c", "b", "a")] == [0, 0, 1]
