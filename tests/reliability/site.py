"""A process of its own with a decision service on a store, that does what it is asked to.

What is asked for is a function of this package and its arguments. One site works on one thing
at a time; several work at once, and any of them may be killed.
"""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, cast

from lakewarden.service.decision_service import DecisionService
from tests import forkserver
from tests.reliability.estate import plane_of

P = ParamSpec("P")
T = TypeVar("T")

_STOP = None


class Site:
    """The process. `start` and `result` apart, so that several sites work at the same time."""

    def __init__(self, url: str, kind: type[DecisionService] = DecisionService) -> None:
        context = forkserver.context()
        self._here, there = context.Pipe()
        self._process = context.Process(target=_serve, args=(url, kind, there), daemon=True)
        self._process.start()
        there.close()

    def start(
        self,
        task: Callable[Concatenate[DecisionService, P], object],
        *args: P.args,
        **named: P.kwargs,
    ) -> None:
        """Begins the task in the process."""
        self._here.send((task, args, named))

    def result(self) -> Any:
        """What the task that was started came to; raises what it raised."""
        is_error, found = self._here.recv()
        if is_error:
            raise found
        return found

    def call(
        self, task: Callable[Concatenate[DecisionService, P], T], *args: P.args, **named: P.kwargs
    ) -> T:
        """Does the task in the process."""
        self.start(task, *args, **named)
        return cast(T, self.result())

    def kill(self) -> None:
        """Ends the process at once, whatever it is at (SIGKILL)."""
        self._process.kill()
        self._process.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None and self._process.is_alive():
            self._here.send(_STOP)
            self._process.join(10)
        self.kill()
        self._here.close()
        self._process.close()


def _serve(url: str, kind: type[DecisionService], there: Connection) -> None:
    with plane_of(url, kind) as service:
        while (asked := there.recv()) is not _STOP:
            task, args, named = asked
            try:
                answer = (False, task(service, *args, **named))
            except Exception as error:  # noqa: BLE001 — raised again where it was asked for
                answer = (True, error)
            there.send(answer)
