"""The progress of a verb, shown if it takes longer than a second; and bars on a terminal.

All output goes to standard error; `--quiet` suppresses it. A terminal gets colours unless
`NO_COLOR` is set.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import TIMEOUT_MAX, Lock, Timer
from typing import TYPE_CHECKING, Any

from lakewarden.names.canonical import escaped

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

PATIENCE: float = 1.0
"""Seconds after which a verb shows its progress."""

_quiet: ContextVar[bool] = ContextVar("quiet", default=False)
_working: ContextVar[bool] = ContextVar("working", default=False)
"""Whether an enclosing block already shows progress."""


@contextmanager
def quietly(is_quiet: bool) -> Iterator[None]:
    """Shows no progress within the block if `is_quiet` is true."""
    token = _quiet.set(is_quiet)
    try:
        yield
    finally:
        _quiet.reset(token)


def is_quiet() -> bool:
    """Whether progress is suppressed."""
    return _quiet.get()


@contextmanager
def working(title: str, stages: Sequence[str]) -> Iterator[Callable[[str], None]]:
    """Reports the stage of a verb; shown if the whole takes longer than a second.

    Yields the function that begins a stage. The first stage begins immediately. The block must not
    print. A block nested in another one reports nothing; the outer one does.
    """
    if is_quiet() or _working.get():
        yield lambda _: None
        return
    steps = (_Bar if sys.stderr.isatty() else _PrintedLines)(title, stages)
    token = _working.set(True)
    try:
        yield steps.begin
    finally:
        _working.reset(token)
        steps.end()


class _PrintedLines:
    """One line per completed stage, once the work has taken long enough."""

    def __init__(self, title: str, stages: Sequence[str]) -> None:
        self._title = title
        self._stage = stages[0]
        self._began = self._since = time.monotonic()

    def begin(self, stage: str) -> None:
        """Begins a stage; the previous one is done."""
        now = time.monotonic()
        if now - self._began >= PATIENCE:
            line = f"{escaped(self._title)}: {self._stage}: {now - self._since:.1f} s"
            print(line, file=sys.stderr)
        self._stage, self._since = stage, now

    def end(self) -> None:
        """Ends the last stage."""
        self.begin("")


class _Bar:
    """A bar that appears once the work has taken long enough, and disappears at the end."""

    def __init__(self, title: str, stages: Sequence[str]) -> None:
        self._title = title
        self._stages = stages
        self._stage = stages[0]
        self._lock = Lock()
        self._is_over = False
        self._bars: Bars | None = None
        self._bar: Any = None
        self._timer = Timer(min(PATIENCE, TIMEOUT_MAX), self._show)
        self._timer.daemon = True
        if PATIENCE > 0:
            self._timer.start()
        else:
            self._show()

    def _show(self) -> None:
        from rich.markup import escape

        with self._lock:
            if not self._is_over:
                self._bars = bars(transient=True)
                count = len(self._stages)
                self._bar = self._bars.add_task(escape(escaped(self._title)), total=count, stage="")
                self._bars.start()
                self._update()

    def begin(self, stage: str) -> None:
        """Begins a stage; the previous one is done."""
        with self._lock:
            self._stage = stage
            self._update()

    def _update(self) -> None:
        if self._bars is not None:
            done = self._stages.index(self._stage)
            self._bars.update(self._bar, completed=done, stage=self._stage, refresh=True)

    def end(self) -> None:
        """Ends the last stage."""
        self._timer.cancel()
        with self._lock:
            self._is_over = True
            if self._bars is not None:
                self._bars.stop()


def bars(*, transient: bool) -> Bars:
    """Progress bars on standard error; other output is not redirected."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description:<22}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("{task.fields[stage]}", style="dim"),
    )
    console = Console(stderr=True)
    return Bars(*columns, console=console, transient=transient, redirect_stdout=False)
