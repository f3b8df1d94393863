"""A separate process with a decision service on a store, which runs tasks on request.

A task is a function of this package with its arguments. One site runs one task at a time; several
sites run at once, and any of them may be killed.
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
    """The process. `start` and `result` are separate, so several sites can work concurrently."""

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
        """Starts the task in the process."""
        self._here.send((task, args, named))

    def result(self) -> Any:
        """The result of the started task; raises the task's error."""
        is_error, found = self._here.recv()
        if is_error:
            raise found
        return found

    def call(
        self, task: Callable[Concatenate[DecisionService, P], T], *args: P.args, **named: P.kwargs
    ) -> T:
        """Runs the task in the process."""
        self.start(task, *args, **named)
        return cast(T, self.result())

    def kill(self) -> None:
        """Kills the process at once (SIGKILL)."""
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
            except Exception as error:  # noqa: BLE001 — raised again in the caller
                answer = (True, error)
            there.send(answer)
