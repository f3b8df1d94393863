"""Statistics of tables and of their partitions.

Only statistics with names beginning with `custom-` can be written. They are stored in the table's
document.
SOURCE: gravitino reference 3.2 and 4.3; apache/gravitino:server/src/main/java/org/apache/gravitino/server/web/rest/StatisticOperations.java@5a6b5ae772d5.
"""  # noqa: E501 — one source, one line

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, cast

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import LimitExceeded
from lakewarden.names.canonical import lower_word, quoted
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.gravitino.http import object_store
from lakewarden.systems.gravitino.http.authorization import allow, write
from lakewarden.systems.gravitino.http.bodies import Body, Json, altered, created, ok, present, read
from lakewarden.systems.gravitino.http.errors import illegal, unsupported
from lakewarden.systems.gravitino.http.kinds import METALAKE
from lakewarden.systems.gravitino.http.securable import object_of

PREFIX: Final = "custom-"
"""The prefix of the names of statistics that can be written."""

MOST: Final = 10_000
"""The maximum number of statistics of one table, those of its partitions included."""

PATH: Final = METALAKE + "/objects/{type}/{name}/statistics"
PARTITIONS: Final = PATH + "/partitions"

ByName = dict[str, Json]


class Update(Body):
    """The body of PUT …/statistics: values by name."""

    updates: dict[str, object]


class Drop(Body):
    """The body of POST …/statistics: names."""

    names: list[str]


class PartitionUpdate(Body):
    """Values by name of one partition."""

    partition_name: str
    statistics: dict[str, object]


class PartitionUpdates(Body):
    """The body of PUT …/statistics/partitions."""

    updates: list[PartitionUpdate]


class PartitionDrop(Body):
    """Names of one partition."""

    partition_name: str
    statistic_names: list[str]


class PartitionDrops(Body):
    """The body of POST …/statistics/partitions."""

    drops: list[PartitionDrop]


def list_all(exchange: Exchange) -> Reply:
    """The statistics of a table."""
    table = _table(exchange)
    allow(exchange, "table.statistics.list", table)
    return ok(statistics=_statistics_body(_statistics(object_store.document(exchange, table))))


def update(exchange: Exchange) -> Reply:
    """Sets statistics of a table."""
    table = _table(exchange)
    updates = read(exchange, Update).updates
    if not updates:
        raise illegal("body: expected at least one statistic")
    _check_names(updates)

    def change(body: Json, audit: Callable[[object], object]) -> bool:
        _set(_statistics(body), updates, audit)
        return True

    _write(exchange, "table.statistics.update", table, change)
    return ok()


def drop(exchange: Exchange) -> Reply:
    """Removes statistics of a table; `dropped` is false if none of them existed."""
    table = _table(exchange)
    names = read(exchange, Drop).names
    if not names:
        raise illegal("body: expected at least one name")

    def change(body: Json, _audit: Callable[[object], object]) -> bool:
        return _drop_names(_statistics(body), names)

    return ok(dropped=_write(exchange, "table.statistics.drop", table, change))


def list_partitions(exchange: Exchange) -> Reply:
    """The statistics of the partitions between two names, with or without the ends as requested."""
    table = _table(exchange)
    allow(exchange, "table.partition_statistics.list", table)
    by_partition = _by_partition(object_store.document(exchange, table))
    chosen = [
        name for name in sorted(by_partition) if _is_between(exchange, name) and by_partition[name]
    ]
    return ok(
        partitionStatistics=[
            {"partitionName": name, "statistics": _statistics_body(by_partition[name])}
            for name in chosen
        ]
    )


def _is_between(exchange: Exchange, name: str) -> bool:
    start, end = exchange.query.get("from"), exchange.query.get("to")
    if start and (name < start[0] or (name == start[0] and not _is_end_included(exchange, "from"))):
        return False
    return not (
        end and (name > end[0] or (name == end[0] and not _is_end_included(exchange, "to")))
    )


def _is_end_included(exchange: Exchange, end: str) -> bool:
    """Whether the end itself is included: by default the lower one is, the upper one is not."""
    values = exchange.query.get(f"{end}Inclusive")
    return end == "from" if not values else lower_word(values[-1]) == "true"


def update_partitions(exchange: Exchange) -> Reply:
    """Sets statistics of partitions."""
    table = _table(exchange)
    updates = read(exchange, PartitionUpdates).updates
    if not updates:
        raise illegal("body: expected at least one partition")
    for update in updates:
        _check_names(update.statistics)

    def change(body: Json, audit: Callable[[object], object]) -> bool:
        by_partition = _by_partition(body)
        for update in updates:
            _set(by_partition.setdefault(update.partition_name, {}), update.statistics, audit)
        return True

    _write(exchange, "table.partition_statistics.update", table, change)
    return ok()


def drop_partitions(exchange: Exchange) -> Reply:
    """Removes statistics of partitions; `dropped` is false if none of them existed."""
    table = _table(exchange)
    drops = read(exchange, PartitionDrops).drops
    if not drops:
        raise illegal("body: expected at least one partition")

    def change(body: Json, _audit: Callable[[object], object]) -> bool:
        by_partition = _by_partition(body)
        removed = [
            _drop_names(by_partition.get(d.partition_name, {}), d.statistic_names) for d in drops
        ]
        return any(removed)

    return ok(dropped=_write(exchange, "table.partition_statistics.drop", table, change))


def _table(exchange: Exchange) -> Entity:
    """The table in the path.

    Raises `Failure` 405 for another object, but only for callers who may know it.
    """
    params = exchange.params
    target = object_of(params["metalake"], params["type"], params["name"])
    if target.type != "table":
        allow(exchange, "object.access", target)
        raise unsupported(f"a {target.type} has no statistics")
    return target


def _write(
    exchange: Exchange,
    operation: str,
    table: Entity,
    change: Callable[[Json, Callable[[object], object]], bool],
) -> bool:
    def change_statistics(transaction: WriteTransaction) -> bool:
        draft = object_store.draft(transaction, exchange.realm, table)
        user = exchange.actor.user

        def audit(before: object) -> object:
            new = created(user, transaction.now)
            return new if before is None else altered(before, user, transaction.now)

        if not change(draft.body, audit):
            return False
        count = len(_statistics(draft.body))
        count += sum(len(of_partition) for of_partition in _by_partition(draft.body).values())
        if count > MOST:
            raise LimitExceeded(f"at most {MOST} statistics of a table are kept")
        object_store.save(exchange, transaction, table, draft)
        return True

    return write(exchange, operation, table, change_statistics)


def _statistics(body: Json) -> ByName:
    return cast("ByName", body.setdefault("statistics", {}))


def _by_partition(body: Json) -> dict[str, ByName]:
    return cast("dict[str, ByName]", body.setdefault("partitionStatistics", {}))


def _set(by_name: ByName, updates: Mapping[str, object], audit: Callable[[object], object]) -> None:
    for name, value in updates.items():
        before = by_name.get(name)
        new = audit(None if before is None else before.get("audit"))
        by_name[name] = present(value=value, audit=new)


def _drop_names(by_name: ByName, names: list[str]) -> bool:
    removed = [by_name.pop(name, None) for name in names]
    return any(statistic is not None for statistic in removed)


def _statistics_body(by_name: ByName) -> list[Json]:
    return [
        {**present(name=name, **values), "reserved": False, "modifiable": True}
        for name, values in by_name.items()
    ]


def _check_names(names: Mapping[str, object]) -> None:
    for name in names:
        if not name.startswith(PREFIX) or name == PREFIX:
            raise illegal(
                f"the name of a statistic begins with `{PREFIX}`, got {quoted(name)}",
                "IllegalStatisticNameException",
            )


ROUTES: Final = (
    Route("GET", PATH, "table.statistics.list", list_all),
    Route("PUT", PATH, "table.statistics.update", update),
    Route("POST", PATH, "table.statistics.drop", drop),
    Route("GET", PARTITIONS, "table.partition_statistics.list", list_partitions),
    Route("PUT", PARTITIONS, "table.partition_statistics.update", update_partitions),
    Route("POST", PARTITIONS, "table.partition_statistics.drop", drop_partitions),
)
