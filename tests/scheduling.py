"""Distributes tests to the worker processes of a run, and limits the workers' reports.

By default, xdist assigns every other test singly, counts all of them again after each, searches
all of them for each that it assigns, and receives six messages about each. For 18,000 tests, that
takes minutes, while the workers wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
from _pytest.runner import runtestprotocol
from xdist.scheduler.loadgroup import LoadGroupScheduling
from xdist.workermanage import WorkerController


class Numbered(list[str]):
    """The tests of a worker by number, with a lookup table."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(names)
        self._numbers = {name: number for number, name in enumerate(self)}

    def index(self, name: str, *_: object) -> int:
        """The number of a test. Raises `ValueError` if no test has this name."""
        try:
            return self._numbers[name]
        except KeyError:
            raise ValueError(name) from None


class ByMarkOrFile(LoadGroupScheduling):  # type: ignore[misc]  # xdist is untyped
    """Assigns the tests of a mark together, and the tests of a file."""

    def _split_scope(self, nodeid: str) -> str:
        group: str = super()._split_scope(nodeid)
        return group if group != nodeid else nodeid.partition("::")[0]

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        super().add_node_collection(node, collection)
        if node in self.registered_collections:
            self.registered_collections[node] = Numbered(collection)


def is_brief(config: pytest.Config) -> bool:
    """Whether a worker reports only a test's outcome, because nobody requested its durations."""
    asked = config.option
    steps = asked.verbose > 0 or asked.durations is not None or asked.xmlpath is not None
    return hasattr(config, "workerinput") and not steps


def run_briefly(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Runs a test like pytest, but does not report its start or fixtures that succeed."""
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
