"""The views over a few handmade rows, which are rare in random worlds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from lakewarden.pipeline.export.people import table
from lakewarden.pipeline.export.schemas import SCHEMAS
from tests.pipeline.export.asked import asked

Rows = Sequence[tuple[object, ...]]

_ROWS: Final[Mapping[str, Rows]] = {
    "entities": [(7, "table", "t", None, 7, "", True)],
    "users": [(1, "ana", 0), (2, "ben", 1)],
    "acts_as": [(1, 1), (2, 2), (2, 1), (1, 5), (2, 5)],
    "questions": [(0, "operation", "table.load", "", "table", 3, False)],
    "classes": [(3, 7, "c")],
    "needs": [(0, "statements"), (2, "self")],
    "crowd_principals": [("both", 1), ("both", 5)],
}


def who(**rows: Rows) -> list[tuple[str, str]]:
    tables = {name: table(name, {**_ROWS, **rows}.get(name, ())) for name in SCHEMAS}
    found = asked(tables).execute("SELECT user_name, via FROM who_can ORDER BY user_name, via")
    return [(name, via) for name, via in found.fetchall()]


def test_who_is_meant_exactly_takes_nobody_along() -> None:
    decisions = [("c", 2, "both")]
    everyone = [("ana", "self"), ("ben", "self")]
    assert who(decisions=decisions, meets=[(2, 7, 1, False)]) == everyone
    assert who(decisions=decisions, meets=[(2, 7, 1, True)]) == everyone[:1]


def test_somebody_who_is_in_a_crowd_in_several_ways_is_there_once() -> None:
    assert who(decisions=[("c", 0, "both")]) == [("ana", "statements"), ("ben", "statements")]


def test_who_meets_a_need_and_is_not_in_the_crowd_is_not_let_in() -> None:
    found = who(decisions=[("c", 2, "one")], crowd_users=[("one", 2)], meets=[(2, 7, 5, False)])
    assert found == [("ben", "self")]
