"""The cost of decisions over HTTP: single checks, batches of a thousand, long lists; as ratios.

    python -m bench.http [--rounds N] [--seconds S] [--save [FILE]]

One worker of `lakewarden serve` over SQLite, compared with the same server library running an
application that reads the same body and answers with a constant. Rounds alternate. The list is
Gravitino's list of 10,496 tables, requested by a user who owns nothing and has a separate grant on
each table, from two servers over one store: with authorization on, and off.
"""

from __future__ import annotations

import argparse
import base64
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.http_load import Load, load, request_bytes
from bench.http_servers import SERVERS, _cpu_seconds, _free_port
from bench.result import kept, machine, rounded
from bench.text import say
from bench.timing import interleaved, median, ratio
from lakewarden.app.open_store import opened_service
from lakewarden.kernel.change import (
    EntityAdded,
    MembershipChanged,
    OwnerChanged,
    PrincipalChanged,
    StatementAdded,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import USER, Principal, members_of
from lakewarden.kernel.relations import MembershipRow, OwnerRow
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.service.actor import SYSTEM
from lakewarden.service.effect import DocumentChanged
from lakewarden.service.write_transaction import WriteTransaction

TABLES: Final = 10_496
REALM: Final = "gravitino"
ADMIN, ANA = Principal(USER, "admin"), Principal(USER, "ana")
CREW: Final = tuple(Principal(USER, f"crew{number:03}") for number in range(500))
"""The subjects of a mixed body; each has its own grants, so no two share a row."""
LAKE, CATALOG, SCHEMA = (
    Entity("metalake", "lk"),
    Entity("catalog", "lk:c"),
    Entity("schema", "lk:c.s"),
)
USES: Final = ("USE_CATALOG", "USE_SCHEMA")
LIST: Final = "/api/metalakes/lk/catalogs/c/schemas/s/tables"
CHECK: Final = f"/r/{REALM}/access/v1/evaluation"
MANY: Final = f"/r/{REALM}/access/v1/evaluations"
QUESTIONS: Final = 1_000
START_SECONDS, STOP_SECONDS = 300, 60
"""Time limits for a server to start and to stop, generous because the machine may be busy."""

TARGETS: Final = {
    "check_share_of_constant": (0.60, 0.85),
    "check_added_us_p50": (15.0, 7.0),
    "list_authorization_share": (0.10, 0.02),
    "mixed_full_cpu_us": (2.0, 1.0),
}
"""P9 (must, aim), P11 and P16. P6 is measured in process by `bench.authzen`."""


class Server(NamedTuple):
    """A running server: its address, and its process."""

    address: str
    pid: int


def table(number: int) -> Entity:
    """One of the tables."""
    return Entity("table", f"{SCHEMA.name}.t{number:05}")


def build(database: str) -> None:
    """The estate: one schema, its tables, and a grant on each."""

    def declare(transaction: WriteTransaction) -> None:
        for user in (ANA, *CREW):
            transaction.change("@main", PrincipalChanged(user, True))
        for entity, parent in ((LAKE, None), (CATALOG, LAKE), (SCHEMA, CATALOG)):
            owner = OwnerChanged(OwnerRow(entity, ADMIN), True)
            transaction.change(REALM, EntityAdded(entity, parent), owner)
        transaction.change(REALM, DocumentChanged(LAKE, {}), DocumentChanged(SCHEMA, {}))
        about = {"type": "RELATIONAL", "provider": "hive", "comment": "", "properties": {}}
        transaction.change(REALM, DocumentChanged(CATALOG, about))
        for user in (ADMIN, ANA, *CREW):
            transaction.change(
                REALM, MembershipChanged(MembershipRow(user, members_of("lk")), True)
            )
        transaction.change(REALM, _grant("uses", LAKE, *USES))
        transaction.change(REALM, *(_grant(each.name, LAKE, *USES, to=each) for each in CREW))
        tables = [table(number) for number in range(TABLES)]
        transaction.change(REALM, *(EntityAdded(each, SCHEMA) for each in tables))
        transaction.change(REALM, *(OwnerChanged(OwnerRow(each, ADMIN), True) for each in tables))
        transaction.change(REALM, *(_grant(each.name, each, "SELECT_TABLE") for each in tables))

    with opened_service(database) as service:
        service.write(SYSTEM, declare)


def _grant(id: str, on: Entity, *privileges: str, to: Principal = ANA) -> StatementAdded:
    return StatementAdded(
        Statement(id, Effect.ALLOW, frozenset(privileges), On(on), frozenset({to}))
    )


@contextmanager
def served(database: str, **environment: str) -> Iterator[str]:
    """The address of a server on the store, once it is ready."""
    with server(database, **environment) as started:
        yield started.address


@contextmanager
def server(database: str, log: Path | None = None, /, **environment: str) -> Iterator[Server]:
    """A server on the store, once it is ready; its log goes to the file `log`."""
    port = _free_port()
    command = ["lakewarden.cli", "serve", "--database", database, "--port", str(port)]
    with _running(command, port, "/readyz", environment, log) as started:
        yield started


@contextmanager
def constant() -> Iterator[str]:
    """The address of the same server library with an application that answers with a constant."""
    port = _free_port()
    command = [*SERVERS["uvicorn"], str(port), "bench.http_servers:application"]
    with _running(command, port, "/", {}) as started:
        yield started.address


@contextmanager
def _running(
    command: list[str],
    port: int,
    path: str,
    environment: Mapping[str, str],
    log: Path | None = None,
) -> Iterator[Server]:
    with Path(log or os.devnull).open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", *command],
            env={**os.environ, **environment},
            stdout=out,
            stderr=out,
        )
    try:
        _wait(port, path)
        yield Server(f"http://127.0.0.1:{port}", process.pid)
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)


def _wait(port: int, path: str) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        with suppress(OSError):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
            connection.request("GET", path)
            status = connection.getresponse().status
            connection.close()
            if status != 503:
                return
        time.sleep(0.05)
    raise TimeoutError(f"no server was ready on port {port}")


def _headers(user: Principal) -> list[str]:
    word = base64.b64encode(f"{user.name}:".encode()).decode()
    return [f"Authorization: Basic {word}", "Content-Type: application/json"]


def _question(number: int, of: Principal = ANA) -> dict[str, Any]:
    return {
        "subject": {"type": "user", "id": of.name},
        "action": {"name": "table.load"},
        "resource": {"type": "table", "id": table(number).name},
    }


def checked(address: str) -> None:
    """Verifies the answers; a server with wrong answers is not measured."""
    good = _answer(address, ADMIN, "POST", CHECK, _question(1))
    assert good["decision"] is True, good
    absent = _answer(address, ADMIN, "POST", CHECK, _question(TABLES))
    assert absent["decision"] is False, absent
    listed = _answer(address, ANA, "GET", LIST, None)
    assert len(listed["identifiers"]) == TABLES, len(listed["identifiers"])


def _answer(address: str, user: Principal, method: str, path: str, body: Any) -> Any:
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=30)
    headers = dict(line.split(": ", 1) for line in _headers(user))
    connection.request(method, path, json.dumps(body) if body else None, headers)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    assert answer.status == 200, (answer.status, text[:300])
    return json.loads(text)


def measured(rounds: int, seconds: float) -> dict[str, Any]:
    """All figures."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="lakewarden-http-"))
        database = f"sqlite:///{Path(folder) / 'lakewarden.db'}"
        with served(database):
            say("the estate")
        build(database)
        asked = stack.enter_context(server(database))
        on = asked.address
        off = stack.enter_context(
            served(database, LAKEWARDEN_GRAVITINO__AUTHORIZATION__ENABLE="false")
        )
        fixed = stack.enter_context(constant())
        checked(on)
        say("single checks")
        checks = _checks(on, fixed, rounds, seconds)
        say("1,000 at once, and lists")
        long = _long(on, off, rounds, seconds)
        say("1,000 of mixed subjects")
        return {**checks, **long, **_mixed(asked, rounds, seconds), "rounds": rounds}


def _checks(on: str, fixed: str, rounds: int, seconds: float) -> dict[str, Any]:
    body = json.dumps(_question(1)).encode()
    check = request_bytes("POST", on + CHECK, _headers(ADMIN), body)
    same = request_bytes("POST", f"{fixed}/bare", _headers(ADMIN), body)
    takers = {
        "constant": lambda: _load(fixed, same, 16, seconds),
        "check": lambda: _load(on, check, 16, seconds),
        "constant_alone": lambda: _load(fixed, same, 1, seconds),
        "check_alone": lambda: _load(on, check, 1, seconds),
    }
    found = interleaved(rounds, takers)
    rates = {name: [each.per_second for each in of] for name, of in found.items()}
    alone = {name: [each.milliseconds(50) * 1e3 for each in of] for name, of in found.items()}
    added = [
        check - same
        for check, same in zip(alone["check_alone"], alone["constant_alone"], strict=True)
    ]
    return {
        "check_per_s": median(rates["check"]),
        "constant_per_s": median(rates["constant"]),
        "check_share_of_constant": ratio(rates["check"], rates["constant"]),
        "check_us_p50": median(alone["check_alone"]),
        "constant_us_p50": median(alone["constant_alone"]),
        "check_added_us_p50": median(added),
        "check_ms_p99_of_16": median([each.milliseconds(99) for each in found["check"]]),
    }


def _long(on: str, off: str, rounds: int, seconds: float) -> dict[str, Any]:
    body = json.dumps({"evaluations": [_question(number) for number in range(QUESTIONS)]})
    many = request_bytes("POST", on + MANY, _headers(ADMIN), body.encode())
    with_it = request_bytes("GET", on + LIST, _headers(ANA))
    without = request_bytes("GET", off + LIST, _headers(ANA))
    takers = {
        "many": lambda: _load(on, many, 1, seconds),
        "on": lambda: _load(on, with_it, 1, seconds),
        "off": lambda: _load(off, without, 1, seconds),
    }
    found = interleaved(rounds, takers)
    took = {name: [each.milliseconds(50) for each in of] for name, of in found.items()}
    shares = [1 - off / on for on, off in zip(took["on"], took["off"], strict=True)]
    return {
        "evaluations_per_s": median([each.per_second * QUESTIONS for each in found["many"]]),
        "evaluations_1000_ms_p50": median(took["many"]),
        "list_on_ms_p50": median(took["on"]),
        "list_off_ms_p50": median(took["off"]),
        "list_on_over_off": ratio(took["on"], took["off"]),
        "list_authorization_share": median(shares),
    }


def _mixed(asked: Server, rounds: int, seconds: float) -> dict[str, Any]:
    """The server's least CPU time per decision, in a body of mixed subjects."""
    _wait_until_idle(asked.pid)
    takers = {
        f"mixed_{name}_cpu_us": lambda context=context: _processor(asked, context, seconds)
        for name, context in (("full", {}), ("short", {"answer": "short"}))
    }
    return {name: min(each) for name, each in interleaved(rounds, takers).items()}


def _wait_until_idle(pid: int) -> None:
    """Waits until the server has finished precomputing, which would count as decision time."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        before = _cpu_seconds(pid)
        time.sleep(2)
        if _cpu_seconds(pid) - before < 0.05:
            return
    raise TimeoutError("the server does not come to rest")


def _processor(asked: Server, context: Mapping[str, str], seconds: float) -> float:
    """Microseconds of CPU time per decision."""
    questions = [
        _question(number * 97 % TABLES, CREW[number % len(CREW)]) for number in range(QUESTIONS)
    ]
    body = json.dumps({"evaluations": questions, "context": context}).encode()
    request = request_bytes("POST", asked.address + MANY, _headers(ADMIN), body)
    _load(asked.address, request, 1, 0.3)
    before = _cpu_seconds(asked.pid)
    seen = load(asked.address, request, connections=1, seconds=seconds)
    taken = _cpu_seconds(asked.pid) - before
    return taken / (seen.statuses.total() * QUESTIONS) * 1e6


def _load(address: str, request: bytes, connections: int, seconds: float) -> Load:
    load(address, request, connections=connections, seconds=0.3)
    seen = load(address, request, connections=connections, seconds=seconds)
    if set(seen.statuses) != {200}:
        raise ConnectionError(f"the server answered {dict(seen.statuses)}")
    return seen


def judged(figures: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Each target with its value and whether it is met."""
    found = {}
    for key, (must, aim) in TARGETS.items():
        value, more = figures[key], must < aim
        met, aim_met = ((value >= bound) if more else (value <= bound) for bound in (must, aim))
        found[key] = {"value": value, "must": must, "aim": aim, "met": met, "aim_met": aim_met}
    return found


def main() -> int:
    """Prints the result as JSON."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--save", nargs="?", const="")
    given = parser.parse_args()
    about = machine()
    figures = measured(given.rounds, given.seconds)
    result = rounded({**figures, **about, "targets": judged(figures)})
    print(json.dumps(result, indent=2))
    if given.save is not None:
        kept(result, "http", given.save)
    return 0


if __name__ == "__main__":
    sys.exit(main())
