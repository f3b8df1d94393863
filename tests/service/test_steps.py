"""Steps of a request: what is recorded, what is reported together, and what is not kept."""

from __future__ import annotations

import time

import pytest

from lakewarden.service import steps
from lakewarden.service.steps import Steps, recording, step


def test_outside_of_a_recording_nothing_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("timed")

    monkeypatch.setattr(steps, "_Timed", never)
    with recording(None), step("read"):
        pass
    with recording(Steps()), pytest.raises(AssertionError), step("read"):
        pass
    with step("read"):
        pass


def test_a_step_knows_what_it_is_part_of_and_lies_within_it() -> None:
    recorded = Steps()
    with recording(recorded), step("write"):
        with step("decide"):
            pass
        recorded.add_finished("wait", time.perf_counter())
        time.sleep(steps.SHORTEST)
        recorded.add_finished("wait", recorded.found[0].begun)
        with step("read", calls="sqlite"):
            pass
    found = recorded.found
    assert [(each.name, each.parent, each.calls) for each in found] == [
        ("write", None, ""),
        ("decide", 0, ""),
        ("wait", 0, ""),
        ("read", 0, "sqlite"),
    ]
    for each in found:
        assert each.ended is not None
        assert found[0].ended is not None
        assert found[0].begun <= each.begun <= each.ended <= found[0].ended


def test_only_what_follows_on_one_another_is_told_together() -> None:
    recorded = Steps()
    with recording(recorded):
        for name in ("decide", "decide", "read", "decide"):
            with step(name):
                pass
    assert [(each.name, each.count) for each in recorded.found] == [
        ("decide", 2),
        ("read", 1),
        ("decide", 1),
    ]


def test_a_step_inside_one_of_its_name_is_its_own() -> None:
    recorded = Steps()
    with recording(recorded), step("decide"), step("decide"):
        pass
    assert [(each.parent, each.count) for each in recorded.found] == [(None, 1), (0, 1)]


def test_a_call_that_raises_has_failed_and_anything_else_has_not() -> None:
    recorded = Steps()
    with recording(recorded):
        for calls in ("ranger", ""):
            with pytest.raises(ValueError, match="away"), step(f"call {calls}", calls=calls):
                raise ValueError("away")
    assert [each.failed for each in recorded.found] == [True, False]


def test_too_many_steps_are_counted() -> None:
    recorded = Steps()
    with recording(recorded):
        for number in range(steps.MOST + 3):
            with step(f"step {number}"), step("inner"):
                pass
    assert len(recorded.found) == steps.MOST
    assert recorded.dropped == steps.MOST + 6
