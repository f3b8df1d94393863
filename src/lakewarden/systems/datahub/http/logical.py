"""Logical models: datasets as physical instances of others. SOURCE: datahub reference 6.9."""

from __future__ import annotations

from typing import Final

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub.http.authorization import (
    caller,
    committed,
    record_allowed,
    switches,
)
from lakewarden.systems.datahub.http.bodies import entity
from lakewarden.systems.datahub.use_cases.logical import link, unlink

_RELATION: Final = "/openapi/v3/logical/{child}/relationship/physicalInstanceOf"


def relate(exchange: Exchange) -> Reply:
    """Makes a dataset an instance of another; the body maps the parent's columns to its own."""
    child, parent = _dataset(exchange, "child"), _dataset(exchange, "parent")
    columns: dict[str, str] = {}
    for name, column in (exchange.json() if exchange.body else {}).items():
        if not isinstance(column, str):
            raise BadInput("expected the name of a column", where=f"body.{name}")
        columns[name] = column
    actor = caller(exchange)

    def set_parent(transaction: WriteTransaction) -> None:
        link(transaction, exchange.realm, child, parent, columns, actor, switches(exchange))
        record_allowed(
            exchange,
            transaction,
            "logical_parent.set",
            child,
            parent=parent.name,
            columns=len(columns),
        )

    committed(exchange, set_parent)
    return Reply(200)


def separate(exchange: Exchange) -> Reply:
    """Removes the logical parent of a dataset and of its columns."""
    child = _dataset(exchange, "child")
    actor = caller(exchange)

    def clear_parent(transaction: WriteTransaction) -> None:
        unlink(transaction, exchange.realm, child, actor, switches(exchange))
        record_allowed(exchange, transaction, "logical_parent.clear", child)

    committed(exchange, clear_parent)
    return Reply(200)


def _dataset(exchange: Exchange, label: str) -> Entity:
    return entity(exchange.params[label], "dataset")


ROUTES: Final = (
    Route("POST", f"{_RELATION}/{{parent}}", "logical_parent.set", relate, encoded_slash=True),
    Route("DELETE", _RELATION, "logical_parent.clear", separate, encoded_slash=True),
    Route(
        "DELETE", f"{_RELATION}/{{parent}}", "logical_parent.clear", separate, encoded_slash=True
    ),
)
