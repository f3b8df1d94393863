"""`lakewarden push watch`: drift of targets on a schedule."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from lakewarden.cli.duration import seconds
from lakewarden.cli.metrics_listener import show_figures
from lakewarden.cli.outcome import COULD_NOT_TELL, NO, YES, note, show
from lakewarden.cli.push import Target, opened_pushing
from lakewarden.cli.question import As
from lakewarden.cli.question_target import Url
from lakewarden.kernel.errors import BadInput, Unavailable

if TYPE_CHECKING:
    from lakewarden.service.push_watch import Look

_SHORTEST_SECONDS = 1.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def watch(
    *names: Target,
    every: Annotated[str, Parameter(help="Interval between checks, such as `30s` or `5m`.")] = "5m",
    once: Annotated[bool, Parameter(negative=(), help="Check once, then exit.")] = False,
    metrics: Annotated[
        str, Parameter(help="`HOST:PORT` for Prometheus metrics; default: none.")
    ] = "",
    config: Annotated[
        Path | None, Parameter(help="TOML file with the settings of the server.")
    ] = None,
    database: Url = None,
    format: As = "table",
) -> int:
    """Checks targets for drift until it is stopped; without names, all targets.

    Prints a line when something changed, and records it in the audit trail. With the setting
    `push.webhook_url` an event is posted there. An unreachable target is checked less often, down
    to once an hour. With `--once`, exits with 1 if there is drift, and with 3 if a target could not
    be checked, for example during a push to it, or an event was not accepted.

    For example:

        lakewarden push watch pg --once --database sqlite:///estate.db
    """
    from lakewarden.app.push_watcher import drift_events
    from lakewarden.app.target_looks import TargetLooks
    from lakewarden.config.settings import load
    from lakewarden.service.push_watch import PushWatch

    interval = seconds(every, "--every")
    if interval <= 0:
        raise BadInput("expected more than zero seconds", where="--every")
    push = load(config, {}).push
    show_figures(metrics)
    with opened_pushing(database) as pushing, _stopped() as stop:
        watching, clock = PushWatch(pushing, interval, names), pushing.service.clock
        seen = TargetLooks(watching)
        events = drift_events(push, pushing, interval, stop)
        while not stop.is_set():
            looks: list[Look] = []
            unsent: set[str] = set()
            try:
                for look in seen.all_due(stop) if once else seen.some():
                    looks.append(look)
                    if once or look.is_new:
                        _show_look(look, format)
                    unsent.add(events.announce(look, clock()) if events else "")
            except Unavailable as error:  # our own store is unavailable
                if once:
                    raise
                note(str(error))
            for problem in sorted(filter(None, unsent)):
                note(problem)
            if once:
                return COULD_NOT_TELL if any(unsent) else _outcome(looks)
            stop.wait(max(watching.seconds_until_due(clock()), _SHORTEST_SECONDS))
    return YES


@contextmanager
def _stopped() -> Iterator[threading.Event]:
    """An event that is set when the process receives a signal to stop."""
    stop = threading.Event()
    before = {one: signal.signal(one, lambda *_: stop.set()) for one in _SIGNALS}
    try:
        yield stop
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _show_look(look: Look, format: str) -> None:
    """One line about a look."""
    if format == "json":
        found = dict(look.counts)
        pending = dict(look.drift.pending) if look.drift else {}
        why = look.error or look.busy
        about = {"realm": look.target.realm, "target": look.target.name, "error": why}
        print(json.dumps({**about, "drift": found, "pending": pending}))
    elif look.error or look.busy:
        note(f"{look.target.name}: {look.error or look.busy}")
    elif any(look.counts.values()):
        parts = ", ".join(f"{count} {kind}" for kind, count in look.counts.items() if count)
        show(f"{look.target.name}: {parts}; see `lakewarden push drift {look.target.name}`")
    else:
        show(f"{look.target.name}: no drift")
    sys.stdout.flush()


def _outcome(looks: list[Look]) -> int:
    if any(look.error or look.busy for look in looks):
        return COULD_NOT_TELL
    return NO if any(any(look.counts.values()) for look in looks) else YES
