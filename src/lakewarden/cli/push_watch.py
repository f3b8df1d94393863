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
    from lakewarden.service.push_watch import DriftCheck

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
    from lakewarden.app.drift_checks import DriftChecks
    from lakewarden.app.push_watcher import drift_events
    from lakewarden.config.settings import load
    from lakewarden.service.push_watch import PushWatch

    interval = seconds(every, "--every")
    if interval <= 0:
        raise BadInput("expected more than zero seconds", where="--every")
    push = load(config, {}).push
    show_figures(metrics)
    with opened_pushing(database) as pushing, _stopped() as stop:
        watching, clock = PushWatch(pushing, interval, names), pushing.service.clock
        seen = DriftChecks(watching)
        events = drift_events(push, pushing, interval, stop)
        while not stop.is_set():
            checks: list[DriftCheck] = []
            unsent: set[str] = set()
            try:
                for check in seen.all_due(stop) if once else seen.some():
                    checks.append(check)
                    if once or check.is_new:
                        _show_check(check, format)
                    unsent.add(events.announce(check, clock()) if events else "")
            except Unavailable as error:  # our own store is unavailable
                if once:
                    raise
                note(str(error))
            for problem in sorted(filter(None, unsent)):
                note(problem)
            if once:
                return COULD_NOT_TELL if any(unsent) else _outcome(checks)
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


def _show_check(check: DriftCheck, format: str) -> None:
    """One line about a look."""
    if format == "json":
        found = dict(check.counts)
        pending = dict(check.drift.pending) if check.drift else {}
        why = check.error or check.busy
        about = {"realm": check.target.realm, "target": check.target.name, "error": why}
        print(json.dumps({**about, "drift": found, "pending": pending}))
    elif check.error or check.busy:
        note(f"{check.target.name}: {check.error or check.busy}")
    elif any(check.counts.values()):
        parts = ", ".join(f"{count} {kind}" for kind, count in check.counts.items() if count)
        show(f"{check.target.name}: {parts}; see `lakewarden push drift {check.target.name}`")
    else:
        show(f"{check.target.name}: no drift")
    sys.stdout.flush()


def _outcome(checks: list[DriftCheck]) -> int:
    if any(check.error or check.busy for check in checks):
        return COULD_NOT_TELL
    return NO if any(any(check.counts.values()) for check in checks) else YES
