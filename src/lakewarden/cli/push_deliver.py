"""`lakewarden push deliver`: writes changes to followed targets, in a process of its own."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from lakewarden.cli.admin_target import opened, url_of
from lakewarden.cli.outcome import NO, YES, note, show
from lakewarden.cli.question_target import Url
from lakewarden.kernel.errors import Unavailable

if TYPE_CHECKING:
    from lakewarden.service.push_delivery import Delivery
    from lakewarden.service.push_target import PushTarget


def deliver(
    *,
    once: Annotated[bool, Parameter(help="Push what is due, then exit.", negative="")] = False,
    config: Annotated[
        Path | None, Parameter(help="TOML file with the settings of the server.")
    ] = None,
    database: Url = None,
) -> int:
    """Pushes changes to followed targets, until it is stopped.

    For a server with the setting `push.deliver` = off. With `--once` it exits with 1 if a push that
    is due failed; `lakewarden push targets` says why.

    For example:

        lakewarden push deliver --once --database sqlite:///estate.db
    """
    from lakewarden.app.keys import keys_of
    from lakewarden.app.push_connection import connect_target
    from lakewarden.config.settings import load
    from lakewarden.service.push_delivery import Delivery
    from lakewarden.store.secrets import Keys

    hosts = load(config, {}).push.hosts
    with opened(database) as service:
        keys = Keys(keys_of(url_of(database)))
        delivery = Delivery(service, keys, connect_target, hosts, _show_delivery)
        if not once:
            _until_stopped(delivery)
            return YES
        delivered = _once(delivery)
    return YES if all(delivered) else NO


def _once(delivery: Delivery) -> list[bool]:
    """Writes what is due, renewing its claims meanwhile; returns whether each target succeeded."""
    from lakewarden.app.push_worker import LOOK_SECONDS
    from lakewarden.app.target_threads import MOST

    with ThreadPoolExecutor(MOST) as at_once:
        under_way = [at_once.submit(delivery.deliver, one) for one in delivery.due()]
        while wait(under_way, LOOK_SECONDS).not_done:
            with suppress(Unavailable):  # the store is unavailable: the next renewal tries again
                delivery.renew()
        return [one.result() for one in under_way]


def _until_stopped(delivery: Delivery) -> None:
    from lakewarden.app.push_worker import PushWorker

    stop, failures = Event(), list[Exception]()

    def failed(error: Exception) -> None:
        failures.append(error)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    worker = PushWorker(delivery, failed, lambda error: note(str(error)))
    worker.start()
    stop.wait()
    worker.stop()
    for error in failures:
        raise error


def _show_delivery(target: PushTarget, statements: int, error: str) -> None:
    if error:
        note(f"`{target.name}` could not be pushed: {error}")
    else:
        show(f"`{target.name}` now has what `{target.realm}` allows: {statements} statements")
