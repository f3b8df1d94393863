"""The intervals of a watch: longer while a target is down, and never during a push."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from lakewarden.kernel.errors import Busy, Conflict, Unavailable, Unknown, WardenError
from lakewarden.service.push_target import PushTarget
from lakewarden.service.push_watch import PushWatch


class Away:
    """Unreachable targets."""

    def __init__(self, *names: str) -> None:
        self.service = SimpleNamespace(catch_up=lambda: None)
        self.names = names
        self.error: WardenError = Unavailable("the target is away")
        self.asked: list[str] = []

    def targets(self) -> list[PushTarget]:
        return [PushTarget(name, "lake", "postgresql", "m", "c") for name in self.names]

    def drift(self, realm: str, name: str) -> Any:
        self.asked.append(name)
        raise self.error


def checks(watch: PushWatch, now: float) -> list[tuple[str, str, bool]]:
    found = [watch.check(target, now) for target in watch.due(now)]
    return [(one.target.name, one.error, one.is_new) for one in found]


def watch_of(away: Away, seconds: float, names: tuple[str, ...] = ()) -> PushWatch:
    return PushWatch(away, seconds, names)  # type: ignore[arg-type]  # the required part of it


def test_a_target_that_is_away_is_tried_less_often() -> None:
    away = Away("pg")
    watch = watch_of(away, 300.0)
    assert checks(watch, 0.0) == [("pg", "the target is away", True)]
    times, now = [], 0.0
    for _ in range(7):
        now += watch.seconds_until_due(now)
        while not (found := checks(watch, now)):
            now += watch.seconds_until_due(now)
        assert found == [("pg", "the target is away", False)]
        times.append(now)
    waits = [later - earlier for earlier, later in zip([0.0, *times], times, strict=False)]
    assert waits == [300.0, 600.0, 1_200.0, 2_400.0, 3_600.0, 3_600.0, 3_600.0]


def test_a_push_under_way_is_no_failure_unless_it_takes_too_long() -> None:
    """Every account that may log in to a database can hold a target's lock."""
    away, why = Away("pg"), "another push to the target `pg` is under way"
    away.error = Busy(why)
    watch = watch_of(away, 100.0)
    for now in (0.0, 100.0, 200.0):
        (check,) = [watch.check(target, now) for target in watch.due(now)]
        assert (check.busy, check.error, check.is_new) == (why, "", False)
        assert watch.seconds_until_due(now) == 100.0
    assert checks(watch, 300.0) == [("pg", why, True)]
    assert checks(watch, 400.0) == [("pg", why, False)]
    away.error = Unavailable("the target is away")
    assert checks(watch, 500.0) == [("pg", "the target is away", False)]
    away.error = Busy(why)
    assert checks(watch, 900.0) == [("pg", "", False)]
    away.error = Conflict("Ranger refused it")
    assert checks(watch, 1_000.0) == [("pg", "Ranger refused it", False)]


def test_one_that_was_removed_is_waited_for_no_more() -> None:
    away = Away("one", "two")
    watch = watch_of(away, 60.0)
    checks(watch, 0.0)
    away.names = ("two",)
    assert checks(watch, 60.0) == [("two", "the target is away", False)]
    assert watch.seconds_until_due(60.0) == 60.0


def test_only_what_is_named_is_looked_at() -> None:
    away = Away("one", "two")
    assert checks(watch_of(away, 60.0, ("two",)), 0.0)
    assert away.asked == ["two"]
    with pytest.raises(Unknown, match="three"):
        checks(watch_of(away, 60.0, ("three",)), 0.0)
