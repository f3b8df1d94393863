"""Partitions of a table, by name.

Stored in the document of the table, and therefore limited in number.
SOURCE: gravitino reference 3.2; apache/gravitino:server/src/main/java/org/apache/gravitino/server/web/rest/PartitionOperations.java@5a6b5ae772d5.
"""  # noqa: E501 — one source, one line

from __future__ import annotations

from typing import Final, cast

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.errors import LimitExceeded
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.http import object_store
from lakewarden.systems.gravitino.http.authorization import allow, entity, write
from lakewarden.systems.gravitino.http.bodies import Body, Json, enum_word, is_on, ok, read
from lakewarden.systems.gravitino.http.errors import exists, illegal, no_such
from lakewarden.systems.gravitino.http.tables import TABLES

TYPES: Final = ("identity", "list", "range")

MOST: Final = 10_000
"""The maximum number of partitions of one table."""

PATH: Final = TABLES.one + "/partitions"
ONE: Final = PATH + "/{partition}"


class Add(Body):
    """The body of POST …/partitions: exactly one partition."""

    partitions: list[Json]


def partitions_of(body: Json) -> dict[str, Json]:
    """The partitions in a table's document, by name; a mutable part of the document."""
    return cast("dict[str, Json]", body.setdefault("partitions", {}))


def list_all(exchange: Exchange) -> Reply:
    """The names of the partitions, or with `details` the whole partitions."""
    table = entity(exchange, "table")
    allow(exchange, "table.partition.list", table)
    partitions = partitions_of(object_store.document(exchange, table))
    if is_on(exchange, "details"):
        return ok(partitions=list(partitions.values()))
    return ok(names=list(partitions))


def load(exchange: Exchange) -> Reply:
    """One partition."""
    table = entity(exchange, "table")
    allow(exchange, "table.partition.load", table)
    name = exchange.params["partition"]
    partition = partitions_of(object_store.document(exchange, table)).get(name)
    if partition is None:
        raise no_such("partition", f"{gravitino.full_name(table)} {name}")
    return ok(partition=partition)


def add(exchange: Exchange) -> Reply:
    """Adds a partition."""
    table = entity(exchange, "table")
    partitions = read(exchange, Add).partitions
    if len(partitions) != 1:
        raise illegal(f"body: expected exactly one partition, got {len(partitions)}")
    new = _partition(partitions[0])
    name = str(new["name"])

    def add_partition(transaction: WriteTransaction) -> None:
        draft = object_store.draft(transaction, exchange.realm, table)
        partitions = partitions_of(draft.body)
        if name in partitions:
            raise exists("partition", name)
        if len(partitions) >= MOST:
            raise LimitExceeded(f"at most {MOST} partitions of a table are kept")
        partitions[name] = new
        object_store.save(exchange, transaction, table, draft)

    write(exchange, "table.partition.add", table, add_partition)
    return ok(partitions=[new])


def _partition(partition: Json) -> Json:
    type = partition.get("type")
    if not isinstance(type, str):
        raise illegal("body: a partition says its `type`")
    name = partition.get("name")
    kind = enum_word(type, TYPES, "partition type")
    if not name and kind == "identity":
        name = _identity_name(partition)
    if not isinstance(name, str) or not name.strip():
        raise illegal("body: a partition has a `name`")
    return {**partition, "type": kind, "name": name}


def _identity_name(partition: Json) -> str:
    """The name of an identity partition, from its fields and values: `a=1/b=2`."""
    fields, values = partition.get("fieldNames"), partition.get("values")
    if not isinstance(fields, list) or not isinstance(values, list) or len(fields) != len(values):
        raise illegal("body: an identity partition has as many `fieldNames` as `values`")
    pairs = zip(fields, values, strict=True)
    return "/".join(f"{_field(field)}={_value(value)}" for field, value in pairs)


def _field(field: object) -> str:
    return ".".join(map(str, field)) if isinstance(field, list) else str(field)


def _value(value: object) -> object:
    return value.get("value") if isinstance(value, dict) else value


def drop(exchange: Exchange) -> Reply:
    """Removes a partition; `dropped` is false if it did not exist."""
    table = entity(exchange, "table")
    name = exchange.params["partition"]

    def drop_partition(transaction: WriteTransaction) -> bool:
        draft = object_store.draft(transaction, exchange.realm, table)
        if partitions_of(draft.body).pop(name, None) is None:
            return False
        object_store.save(exchange, transaction, table, draft)
        return True

    return ok(dropped=write(exchange, "table.partition.drop", table, drop_partition))


ROUTES: Final = (
    Route("GET", PATH, "table.partition.list", list_all),
    Route("POST", PATH, "table.partition.add", add),
    Route("GET", ONE, "table.partition.load", load),
    Route("DELETE", ONE, "table.partition.drop", drop),
)
