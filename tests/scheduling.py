"""How tests are handed out to the worker processes of a run, and what those say of them.

By itself xdist hands out every other test alone, counts all of them anew after each, searches all
of them for each that it hands out, and is sent six messages about each. For 18,000 tests that
takes minutes, while the workers wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
from _pytest.runner import runtestprotocol
from xdist.scheduler.loadgroup import LoadGroupScheduling
from xdist.workermanage import WorkerController


class Numbered(list[str]):
    """The tests of a worker by their numbers, which are looked up."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(names)
        self._numbers = {name: number for number, name in enumerate(self)}

    def index(self, name: str, *_: object) -> int:
        """The number of a test. Raises `ValueError` where there is none of this name."""
        try:
            return self._numbers[name]
        except KeyError:
            raise ValueError(name) from None


class ByMarkOrFile(LoadGroupScheduling):  # type: ignore[misc]  # xdist tells no types
    """Hands out the tests of a mark together, and those of a file."""

    def _split_scope(self, nodeid: str) -> str:
        group: str = super()._split_scope(nodeid)
        return group if group != nodeid else nodeid.partition("::")[0]

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        super().add_node_collection(node, collection)
        if node in self.registered_collections:
            self.registered_collections[node] = Numbered(collection)


def is_brief(config: pytest.Config) -> bool:
    """Whether a worker says of a test only how it ended: nobody asked how long its steps took."""
    asked = config.option
    steps = asked.verbose > 0 or asked.durations is not None or asked.xmlpath is not None
    return hasattr(config, "workerinput") and not steps


def run_briefly(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Runs a test as pytest does, and reports neither its begin nor a fixture without a fault."""
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
