"""Metrics of programs, datasets and streams: counters that are really stored.

A received number is added to its counter: to its total, and to its value in the minute of arrival.
Totals stay as long as the entity; of the minutes, the newest are stored. The maximum numbers of
both are settings (`CdapLimits`).
SOURCE: cdap reference 2.5 to 2.7 (K14, K23), 4.7, 4.10 (P7).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Final, cast

from lakewarden.http import strict_json
from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.names.canonical import WORD, quoted
from lakewarden.service import timeseries
from lakewarden.service.effect import ValueChanged, ValueRow
from lakewarden.service.ports import Reading
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap.http import ids
from lakewarden.systems.cdap.http.authorization import allow, write
from lakewarden.systems.cdap.http.bodies import convert, empty_reply, ok
from lakewarden.systems.cdap.http.errors import bad
from lakewarden.systems.cdap.http.subjects import PROGRAM, SPACE
from lakewarden.systems.cdap.settings import CdapSettings

Number = int | float

TOTALS: Final = "cdapMetricTotals"
MINUTES: Final = "cdapMetricMinutes"
"""The aspect of counters, stored as timeseries values: their names are the marks."""

MINUTE: Final = 60_000
"""A minute in milliseconds."""

_EVERY: Final = 2**31 - 1
_FEW: Final = 32
_NAME_LENGTH: Final = 255
_CHARACTERS: Final = WORD | frozenset("-.")
_LARGEST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Counted:
    """A type with counters: its word, its path, and how a request names an entity of it."""

    type: str
    path: str
    named: Callable[[Exchange], Entity]

    def emit(self, exchange: Exchange) -> Reply:
        """Adds the numbers in the body to the counters of these names."""
        entity, limits = self.named(exchange), exchange.services.of(CdapSettings).limits

        def add_values(transaction: WriteTransaction) -> None:
            values, stored = _read(exchange), totals(transaction.store, exchange.realm, entity)
            if values.keys() - stored.keys() and len(stored | values) > limits.metrics:
                raise bad(f"an entity has at most {limits.metrics} metrics")
            _add(transaction, exchange.realm, entity, TOTALS, 0, values)
            minute = int(transaction.now * 1_000) // MINUTE * MINUTE
            _add(transaction, exchange.realm, entity, MINUTES, minute, values)
            timeseries.trimmed(transaction, exchange.realm, entity, MINUTES, limits.metric_minutes)

        write(exchange, f"{self.type}.emit_metrics", entity, add_values)
        return empty_reply()

    def view(self, exchange: Exchange) -> Reply:
        """The totals of the counters."""
        entity = self.named(exchange)
        allow(exchange, f"{self.type}.view_metrics", entity)
        with exchange.service.reading() as reading:
            return ok(dict(sorted(totals(reading, exchange.realm, entity).items())))

    def routes(self) -> Iterator[Route]:
        """The routes of this type."""
        path = f"{self.path}/metrics"
        yield Route("GET", path, f"{self.type}.view_metrics", self.view)
        yield Route("POST", path, f"{self.type}.emit_metrics", self.emit)


def totals(reading: Reading, realm: str, entity: Entity) -> dict[str, Number]:
    """The totals of an entity's counters, by name."""
    rows = reading.values(realm, entity, TOTALS, 0, 0, _EVERY)
    return {row.mark: number_of(row) for row in rows}


def counted(
    reading: Reading,
    realm: str,
    entities: Sequence[Entity],
    aspect: str,
    first: int = 0,
    last: int = 0,
) -> Iterator[ValueRow]:
    """The counters of several entities; for minutes, those from `first` to `last`.

    A few entities are read one by one; for many, everything of their types is read once.
    """
    if len(entities) <= _FEW:
        for entity in entities:
            yield from reading.values(realm, entity, aspect, first, last, _EVERY)
        return
    selected = frozenset(entities)
    for type in sorted({entity.type for entity in selected}):
        for row in reading.values_of(realm, type, aspect, first, last, None):
            if row.entity in selected:
                yield row


def number_of(row: ValueRow) -> Number:
    """The value of a counter."""
    return cast("Number", row.body["value"])


def _add(
    transaction: WriteTransaction,
    realm: str,
    entity: Entity,
    aspect: str,
    time: int,
    values: Mapping[str, Number],
) -> None:
    rows = transaction.store.values(realm, entity, aspect, time, time, _EVERY)
    stored = {row.mark: number_of(row) for row in rows}
    sums = {name: stored.get(name, 0) + number for name, number in values.items()}
    for name, number in sums.items():
        if not isfinite(number) or abs(number) > _LARGEST:
            raise bad(f"the metric {quoted(name)} would become too large")
    changes = (
        ValueChanged(entity, aspect, time, name, {"value": number}) for name, number in sums.items()
    )
    transaction.change(realm, *changes)


def _read(exchange: Exchange) -> dict[str, Number]:
    """The numbers in the body, by name; raises `Failure` 400."""
    values = convert(strict_json.read(exchange.body), dict[str, int | float])
    for name in values:
        if not 0 < len(name) <= _NAME_LENGTH or not _CHARACTERS.issuperset(name):
            raise bad(f"{quoted(name)} is no name of a metric")
    return values


def _dataset(exchange: Exchange) -> Entity:
    return ids.entity(exchange, "dataset")


def _stream(exchange: Exchange) -> Entity:
    return ids.entity(exchange, "stream")


COUNTED: Final = (
    Counted("program", PROGRAM, ids.program),
    Counted("dataset", f"{SPACE}/data/datasets/{{dataset}}", _dataset),
    Counted("stream", f"{SPACE}/streams/{{stream}}", _stream),
)

ROUTES: Final[Sequence[Route]] = tuple(
    route for counted_type in COUNTED for route in counted_type.routes()
)
