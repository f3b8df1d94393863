"""The server processes: one socket, shared by one or several workers.

The socket is bound first, so a port in use is an error at once, and `--port 0` finds a free one. It
does not listen before a worker has loaded its state: until then the kernel refuses connections, and
no client waits or gets an empty answer. Workers are processes that the library restarts when they
die; each loads its own state. Decision 0010 explains the choice of this library.
"""

from __future__ import annotations

import os
import signal
import socket
import ssl
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from shutil import rmtree
from threading import Event, Thread
from typing import Final

import uvicorn
from uvicorn.supervisors.multiprocess import Multiprocess

from lakewarden.app import log
from lakewarden.app.dialects import Dialects, all_dialects
from lakewarden.app.heap import return_freed_blocks
from lakewarden.app.open_files import raise_limit
from lakewarden.app.readiness import Readiness
from lakewarden.config.settings import Settings
from lakewarden.kernel.errors import Unavailable
from lakewarden.telemetry.environment import SERVER

BACKLOG: Final = 2_048
KEEP_ALIVE_SECONDS: Final = 75
SHUTDOWN_SECONDS: Final = 15
_HEALTH_SECONDS: Final = 60
_LOOK_SECONDS: Final = 0.01

_SHARED_METRICS = "PROMETHEUS_MULTIPROC_DIR"


def bind(host: str, port: int) -> socket.socket:
    """The bound socket; raises `Unavailable` if the address is not available."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        _set_reusable(sock, True)
        sock.bind((host, port))
        # Two reusable sockets could be bound to one address, and the second server would learn of
        # the first only after loading its state.
        _set_reusable(sock, False)
    except OSError as error:
        sock.close()
        reason = (error.strerror or str(error)).lower()
        raise Unavailable(f"cannot listen on `{host}` port {port}: {reason}") from None
    sock.set_inheritable(True)
    return sock


def _set_reusable(sock: socket.socket, value: bool) -> None:
    """Sets whether an address with leftover connections may be bound."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, value)


def run(
    settings: Settings,
    sock: socket.socket,
    ready: Callable[[], None],
    dialects: Dialects = all_dialects,
    service_name: str = SERVER,
) -> None:
    """Serves on the bound socket until a signal; pending requests are finished.

    `ready` is called once, in a thread, when all workers have loaded their state and listen.
    `dialects` creates the dialects in each worker; traces name the service `service_name`.
    """
    raise_limit(settings.limits.connections)
    counts = Path(tempfile.mkdtemp(prefix="lakewarden-metrics-"))
    workers = Path(tempfile.mkdtemp(prefix="lakewarden-workers-"))
    os.environ[_SHARED_METRICS] = str(counts)
    done = Event()
    waiting = Thread(target=_when_ready, args=(settings, sock, workers, done, ready), daemon=True)
    waiting.start()
    try:
        _run(_config(settings, workers, dialects, service_name), sock)
    finally:
        done.set()
        waiting.join()
        sock.close()
        os.environ.pop(_SHARED_METRICS, None)
        for folder in (counts, workers):
            rmtree(folder, ignore_errors=True)


def _when_ready(
    settings: Settings, sock: socket.socket, workers: Path, done: Event, ready: Callable[[], None]
) -> None:
    while not sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        if done.wait(_LOOK_SECONDS):
            return
    _set_reusable(sock, True)  # the next server need not wait for connections of this one
    readiness = Readiness(workers)
    while readiness.count() < settings.workers:
        if done.wait(_LOOK_SECONDS):
            return
    ready()


class _Workers(Multiprocess):
    """The workers; one that dies is replaced at once.

    The library keeps the worker's end of the pipe open here too. A ping to a worker that dies
    before it answers would then wait for its full timeout, and nobody would be served.
    """

    def handle_signals(self) -> None:
        """Called before each round of pings; the workers have had their ends since they started."""
        for process in self.processes:
            process.child_conn.close()
        super().handle_signals()


def _run(config: uvicorn.Config, sock: socket.socket) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        # The library re-raises the signal after it has stopped; it must not kill the process.
        signal.signal(number, lambda *_: None)
    if config.workers > 1:
        _Workers(config, sockets=[sock]).run()
    else:
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            # Several workers are replaced one by one on this signal; the only one cannot be.
            signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
        uvicorn.Server(config).run(sockets=[sock])


def _config(
    settings: Settings,
    workers: Path,
    dialects: Dialects = all_dialects,
    service_name: str = SERVER,
) -> uvicorn.Config:
    from lakewarden.app.protocol import GuardedProtocol

    application: Callable[[], object] = partial(
        create_application, settings, os.getpid(), workers, dialects, service_name
    )
    return uvicorn.Config(
        app=application,
        factory=True,
        workers=settings.workers,
        http=GuardedProtocol,
        ssl_context_factory=None if settings.tls_cert is None else partial(_tls, settings),
        loop="uvloop" if _has_uvloop() else "asyncio",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        timeout_worker_healthcheck=_HEALTH_SECONDS,
    )


def _tls(settings: Settings, *_: object) -> ssl.SSLContext:
    from lakewarden.app.tls import context

    return context(settings)


def _has_uvloop() -> bool:
    with suppress(ImportError):
        import uvloop  # noqa: F401 — checks that it is installed

        return True
    return False


def create_application(
    settings: Settings,
    starter: int,
    workers: Path,
    dialects: Dialects = all_dialects,
    service_name: str = SERVER,
) -> object:
    """The application of one worker, in its process; process `starter` started the server.

    The worker cannot query it: the starter may be dead before the worker gets that far. The worker
    announces its readiness in the folder `workers`.
    """
    return_freed_blocks()
    # Imported only now: importing the figures reads where to count.
    from lakewarden.app.build import Application

    log.configure(settings.log_level)
    for warning in settings.weakened:
        log.get().warning("security is weakened", what=warning)
    parent = starter if settings.workers > 1 else None
    readiness = Readiness(workers)
    return Application(
        settings,
        dialects(settings),
        parent=parent,
        readiness=readiness,
        service_name=service_name,
    )
