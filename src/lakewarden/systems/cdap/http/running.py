"""Running programs: a container of a running program cannot be deleted.

The status of a program is the member `status` of its document; one that never ran has none.
SOURCE: cdap reference 4.7, 4.10 (P3).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lakewarden.http.exchange import Exchange
from lakewarden.kernel.entity import Entity
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap import names as cdap
from lakewarden.systems.cdap.http.authorization import (
    Requirement,
    contents,
    filter_of,
    is_allowed,
)
from lakewarden.systems.cdap.http.errors import conflict
from lakewarden.systems.cdap.http.object_store import documents_in

STATUS: Final = "status"
RUNNING: Final = "RUNNING"
STOPPED: Final = "STOPPED"


def running(transaction: WriteTransaction, realm: str, container: Entity) -> list[Entity]:
    """The running programs in an application or namespace, by name."""
    programs = contents(transaction.realm(realm), container, ["program"])
    bodies = documents_in(transaction.store, realm, programs)
    return [
        program
        for program, body in zip(programs, bodies, strict=True)
        if body.get(STATUS) == RUNNING
    ]


def refuse_running(
    exchange: Exchange, transaction: WriteTransaction, containers: Sequence[Entity]
) -> None:
    """Raises `Failure` 409 if a program is running in any of them."""
    for container in containers:
        still = running(transaction, exchange.realm, container)
        if still:
            raise conflict(
                f"'{cdap.format_id(container)}' could not be deleted: these programs are still"
                f" running: {shown_ids(exchange, transaction, 'program.list', still)}"
            )


def shown_ids(
    exchange: Exchange, transaction: WriteTransaction, operation: str, entities: Sequence[Entity]
) -> str:
    """The entities that prevent a change, for messages; for hidden ones only their number.

    `operation` is the operation that lists such entities.
    """
    state = transaction.realm(exchange.realm)
    filter = filter_of(state, operation)
    names = [
        f"'{cdap.format_id(entity)}'"
        for entity in entities
        if is_allowed(exchange, state, Requirement(filter, entity), transaction.now)
    ]
    hidden = len(entities) - len(names)
    return ", ".join([*names, *([f"{hidden} not shown to you"] if hidden else [])])
