"""Workers report no more about tests than anybody reads."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from tests import scheduling


def test_tests_have_the_numbers_that_they_were_collected_with() -> None:
    names = ["a.py::test_a", "a.py::test_b[x@y]", "b.py::test_a@spark"]
    numbered = scheduling.Numbered(names)
    assert numbered == names
    assert [numbered.index(name) for name in names] == [0, 1, 2]
    with pytest.raises(ValueError, match="test_c"):
        numbered.index("a.py::test_c")


@pytest.mark.parametrize(
    ("ends", "reported"),
    [
        ({"setup": True, "call": True, "teardown": True}, ["call"]),
        ({"setup": True, "call": False, "teardown": True}, ["call"]),
        ({"setup": False, "teardown": True}, ["setup"]),
        ({"setup": False, "teardown": False}, ["setup", "teardown"]),
        ({"setup": True, "call": True, "teardown": False}, ["call", "teardown"]),
    ],
)
def test_a_worker_reports_the_test_itself_and_every_fault(
    ends: dict[str, bool], reported: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    def ran(item: object, *, log: bool, nextitem: object) -> list[SimpleNamespace]:
        assert not log
        return [SimpleNamespace(when=when, passed=passed) for when, passed in ends.items()]

    def report(report: SimpleNamespace) -> None:
        said.append(report.when)

    monkeypatch.setattr(scheduling, "runtestprotocol", ran)
    item = SimpleNamespace(ihook=SimpleNamespace(pytest_runtest_logreport=report))
    scheduling.run_briefly(cast(pytest.Item, item), None)
    assert said == reported


@pytest.mark.parametrize(
    "asked", [{}, {"verbose": 1}, {"durations": 0}, {"xmlpath": "results.xml"}]
)
def test_whoever_asks_for_the_steps_is_told_of_all(asked: dict[str, object]) -> None:
    option = SimpleNamespace(**{"verbose": -1, "durations": None, "xmlpath": None, **asked})
    config = SimpleNamespace(option=option, workerinput={})
    assert scheduling.is_brief(cast(pytest.Config, config)) == (not asked)
    # Without workers, there are no messages.
    assert not scheduling.is_brief(cast(pytest.Config, SimpleNamespace(option=option)))
