"""Numbered acts of a writer, and the expected contents of the store after them.

Every act is one write of several effects with one row in the audit trail. A writer performs them in
order and records each response. So after its death, the store must hold either the results of the
confirmed acts, or those plus the complete next one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from lakewarden.kernel.change import EntityDropped, EntityRenamed
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.statement import On
from lakewarden.service import grant as grants
from lakewarden.service.actor import SYSTEM
from lakewarden.service.audit import AuditEvent
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.store import SqlStore
from tests.reliability.estate import ANA, READ, REALM, create, table

ACT = "act"
INGESTED = 40
"""The number of tables that an act adds at once, like a long import."""


class Held(NamedTuple):
    """The store's contents from a writer: tables, readable tables, acts in the trail."""

    tables: frozenset[str]
    granted: frozenset[str]
    recorded: tuple[int, ...]


def _name(writer: str, number: int, suffix: str = "") -> str:
    return f"{writer}_{number}{suffix}"


def perform(transaction: WriteTransaction, writer: str, number: int) -> None:
    """Performs the act with this number."""
    match number % 5:
        case 0:
            create(transaction, table(_name(writer, number)))
        case 1:
            grants.grant_privileges(
                transaction, REALM, ANA, {table(_name(writer, number - 1)): READ}
            )
        case 2:
            for each in range(INGESTED):
                create(transaction, table(_name(writer, number, f"i{each}")))
        case 3:
            renamed = table(_name(writer, number, "r")).name
            transaction.change(REALM, EntityRenamed(table(_name(writer, number - 3)), renamed))
        case _:
            transaction.change(REALM, EntityDropped(table(_name(writer, number - 1, "r"))))


def expected(writer: str, count: int) -> Held:
    """The expected contents after the first `count` acts of the writer."""
    tables: set[str] = set()
    granted: set[str] = set()
    for number in range(count):
        match number % 5:
            case 0:
                tables.add(_name(writer, number))
            case 1:
                granted.add(_name(writer, number - 1))
            case 2:
                tables |= {_name(writer, number, f"i{each}") for each in range(INGESTED)}
            case 3:
                tables -= {_name(writer, number - 3)}
                granted -= {_name(writer, number - 3)}
                tables.add(_name(writer, number, "r"))
                granted.add(_name(writer, number, "r"))
            case _:
                tables -= {_name(writer, number - 1, "r")}
                granted -= {_name(writer, number - 1, "r")}
    return Held(frozenset(tables), frozenset(granted), tuple(range(count)))


def record(transaction: WriteTransaction, writer: str, number: int) -> None:
    """The act's row in the audit trail."""
    event = AuditEvent(transaction.now, writer, ACT, str(number), "allow", "test", realm=REALM)
    transaction.record(event)


def write_until_killed(
    service: DecisionService, writers: Iterable[str], answers: str, *, torn: bool
) -> None:
    """Acts of each writer, one after the other, forever; each response is a line of the file.

    With `torn`, an act is two writes, which the transaction normally prevents.
    """
    file = os.open(answers, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(writer: str) -> None:
        for number in range(1_000_000):
            is_import = number % 5 == 2
            if torn:
                service.write(SYSTEM, _only(perform, writer, number))
                service.write(SYSTEM, _only(record, writer, number))
            else:
                service.write(SYSTEM, _only(_whole, writer, number), late=is_import)
            os.write(file, f"{writer} {number}\n".encode())

    names = list(writers)
    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(write, names))


def _whole(transaction: WriteTransaction, writer: str, number: int) -> None:
    perform(transaction, writer, number)
    record(transaction, writer, number)


def _only(
    part: Callable[[WriteTransaction, str, int], None], writer: str, number: int
) -> Callable[[WriteTransaction], None]:
    return lambda transaction: part(transaction, writer, number)


def answered(answers: Path, writer: str) -> int:
    """The number of confirmed acts of the writer."""
    if not answers.exists():
        return 0
    return sum(line.split()[0] == writer for line in answers.read_text().splitlines())


def held(store: SqlStore, service: DecisionService, writers: Iterable[str]) -> dict[str, Held]:
    """The store's contents from each writer; `service` is up to date."""
    realm = service.state.realm(REALM)
    with store.reading() as reading:
        facts = reading.facts(REALM, realm.system)
        bodies = [row.body for row in reading.audit()]
    events = [json.loads(body) for body in bodies]
    acts = [(event["actor"], int(event["target"])) for event in events if event["operation"] == ACT]
    tables = [row.entity for row in facts.entities if row.entity.type == "table"]
    granted = [each.scope.entity for each in facts.statements if isinstance(each.scope, On)]
    return {
        writer: Held(
            _names_of(writer, tables),
            _names_of(writer, granted),
            tuple(number for actor, number in acts if actor == writer),
        )
        for writer in writers
    }


def _names_of(writer: str, entities: Iterable[Entity]) -> frozenset[str]:
    start = table(f"{writer}_").name
    mine = (entity.name for entity in entities if entity.name.startswith(start))
    return frozenset(name.removeprefix(table("").name) for name in mine)
