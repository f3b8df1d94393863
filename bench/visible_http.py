"""Grant to visible over HTTP: two workers on PostgreSQL, like hosts that share a database.

    python -m bench.visible_http [--rounds N] [--save [FILE]]

One worker stores a statement through our own API; eight connections, spread over both workers, ask
the same AuthZEN question in turn. Reports the milliseconds from the response to the write until
every connection sees the change, and the number of stale answers after it (must be 0). Also
reports the time of a check, which on PostgreSQL includes querying the database for changes,
compared with the same server without that query (`consistency = host`).
"""

from __future__ import annotations

import argparse
import http.client
import json
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from bench.http import ADMIN, ANA, CHECK, REALM, SCHEMA, _headers, build, served
from bench.result import kept, machine, rounded
from bench.text import say
from bench.timing import quantile
from tests.servers import fresh_database, postgres

CONNECTIONS: Final = 8
PUT: Final = f"/api/v1/realms/{REALM}/statements/visible"


class Connections:
    """Keep-alive connections to one address; each is accepted by either worker."""

    def __init__(self, address: str, number: int) -> None:
        host = address.removeprefix("http://")
        self._all = [http.client.HTTPConnection(host, timeout=30) for _ in range(number)]

    def ask(self, at: int, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and body of one request on the connection number `at`."""
        headers = dict(line.split(": ", 1) for line in _headers(ADMIN))
        connection = self._all[at]
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None

    def check(self, at: int) -> tuple[bool, float]:
        """Whether ana may create in the schema, and the time of the check in milliseconds."""
        question = {
            "subject": {"type": "user", "id": ANA.name},
            "action": {"name": "table.create"},
            "resource": {"type": "schema", "id": SCHEMA.name},
        }
        begun = time.monotonic()
        status, answer = self.ask(at, "POST", CHECK, question)
        if status != 200:
            raise ConnectionError(f"the server answered {status}: {answer}")
        return answer["decision"], (time.monotonic() - begun) * 1e3


@contextmanager
def estate(consistency: str) -> Iterator[str]:
    """The address of two workers over a PostgreSQL with the estate of `bench.http`."""
    with ExitStack() as stack:
        url = stack.enter_context(fresh_database(stack.enter_context(postgres())))
        with served(url):
            say("the estate")
        build(url)
        yield stack.enter_context(
            served(url, LAKEWARDEN_WORKERS="2", LAKEWARDEN_CONSISTENCY=consistency)
        )


def measured(rounds: int, consistency: str) -> dict[str, float]:
    """The figures of one consistency setting."""
    with estate(consistency) as address:
        connections = Connections(address, CONNECTIONS)
        visible, written, checks, stale = [], [], [], 0
        for number in range(-4, rounds):
            gives = number % 2 == 0
            begun = time.monotonic()
            _change(connections, number % CONNECTIONS, gives=gives)
            answered = time.monotonic()
            old, took = _until_all_say(connections, gives)
            if number >= 0:
                written.append((answered - begun) * 1e3)
                visible.append((time.monotonic() - answered) * 1e3)
                checks += took
                stale += old
    return {
        "write_ms_p50": quantile(written, 0.5),
        "all_say_ms_p50": quantile(visible, 0.5),
        "all_say_ms_p99": quantile(visible, 0.99),
        "check_ms_p50": quantile(checks, 0.5),
        "check_ms_p99": quantile(checks, 0.99),
        "old_answers": stale,
        "rounds": rounds,
    }


def _change(connections: Connections, at: int, *, gives: bool) -> None:
    """Grants or revokes ana's privilege, through one of the connections."""
    body = {
        "effect": "allow",
        "privileges": ["CREATE_TABLE"] if gives else ["CREATE_FILESET"],
        "to": [f"user:{ANA.name}"],
        "on": f"schema:{SCHEMA.name}",
    }
    status, answer = connections.ask(at, "PUT", PUT, body)
    if status not in (200, 201, 204):
        raise ConnectionError(f"the server answered {status}: {answer}")


def _until_all_say(connections: Connections, expected: bool) -> tuple[int, list[float]]:
    """Asks each connection until it answers `expected`; the stale answers and all times."""
    old, took = 0, []
    for at in range(CONNECTIONS):
        while True:
            said, milliseconds = connections.check(at)
            took.append(milliseconds)
            if said is expected:
                break
            old += 1
    return old, took


def main() -> int:
    """Prints the result as JSON."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--save", nargs="?", const="")
    given = parser.parse_args()
    about = machine()
    found = {name: measured(given.rounds, name) for name in ("strict", "host")}
    result = rounded({**found, **about})
    print(json.dumps(result, indent=2))
    if given.save is not None:
        kept(result, "visible_http", given.save)
    return 0


if __name__ == "__main__":
    sys.exit(main())
