"""Logs of programs: the newest lines, which are really stored.

A line sent to a program belongs to its active run, if there is one. Lines are returned in order of
arrival; if a range is requested by an offset, each line has the offset at which the next range
begins. The number of stored lines, and of lines per request, is a setting (`CdapLimits`).
SOURCE: cdap reference 2.5 (K14, K23), 4.7, 4.10 (P7).
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple, cast

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.names.canonical import quoted
from lakewarden.service import timeseries
from lakewarden.service.effect import ValueChanged
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap.http import object_store, runs
from lakewarden.systems.cdap.http.authorization import allow, write
from lakewarden.systems.cdap.http.bodies import ANY_TYPE, Json, empty_reply, is_on, ok, text_of
from lakewarden.systems.cdap.http.errors import TEXT, bad
from lakewarden.systems.cdap.http.ids import program
from lakewarden.systems.cdap.http.moments import LAST, Span, span
from lakewarden.systems.cdap.http.subjects import PROGRAM
from lakewarden.systems.cdap.settings import CdapSettings

LINES: Final = "cdapLogLines"
"""The aspect of a program's lines, stored as timeseries values."""

_USUAL: Final = 50
_REVISIONS: Final = 10**12 - 1
_INDEXES: Final = 10**6 - 1
_MARK_LENGTH: Final = 18


class Line(NamedTuple):
    """A line: its time, its order within that time (later lines have less), and its run."""

    time: int
    mark: str
    text: str
    run: str | None

    @property
    def place(self) -> tuple[int, int]:
        """The sort key of lines."""
        return self.time, -int(self.mark)

    @property
    def offset(self) -> str:
        """The place, in the notation of requests and replies."""
        return f"{self.mark}.{self.time}"


def emit(exchange: Exchange) -> Reply:
    """Stores the lines of the body."""
    entity, run = program(exchange), exchange.params.get("run")
    limits = exchange.services.of(CdapSettings).limits

    def append_lines(transaction: WriteTransaction) -> None:
        lines = text_of(exchange).splitlines()
        if not lines:
            raise bad("expected lines of text as the body")
        if len(lines) > limits.batch_lines:
            raise bad(f"at most {limits.batch_lines} lines are taken at once")
        if max(map(len, lines)) > limits.line_characters:
            raise bad(f"a line has at most {limits.line_characters} characters")
        of = _run_of_lines(exchange, transaction, entity, run)
        time, revision = _next_time(transaction, exchange.realm, entity), transaction.store.revision
        changes = (
            ValueChanged(entity, LINES, time, _sort_key(revision, at), {"line": line, "run": of})
            for at, line in enumerate(lines)
        )
        transaction.change(exchange.realm, *changes)
        timeseries.trimmed(transaction, exchange.realm, entity, LINES, limits.log_lines)

    write(exchange, "program.emit_logs", entity, append_lines)
    return empty_reply()


def _next_time(transaction: WriteTransaction, realm: str, entity: Entity) -> int:
    """Now, or the time of the newest line if the clock went back: lines keep their order."""
    newest = transaction.store.values(realm, entity, LINES, 0, LAST, 1)
    return max(int(transaction.now * 1_000), *(row.time for row in newest), 0)


def _sort_key(revision: int, index: int) -> str:
    """Orders lines with the same time: the later one has the lesser mark.

    The store returns values with the same time in order of their marks, and the newest values
    first.
    """
    return f"{_REVISIONS - revision:012}{_INDEXES - index:06}"


def view(exchange: Exchange) -> Reply:
    """The lines between `start` and `stop`, as text, oldest first."""
    lines = _lines(exchange, span(exchange, "start", "stop"))
    return Reply(200, "".join(f"{_line_body(exchange, line)}\n" for line in lines).encode(), TEXT)


def following(exchange: Exchange) -> Reply:
    """The lines after `fromOffset`; by default the newest."""
    most, after = _number(exchange), _offset(exchange)
    if after is None:
        return _lines_reply(exchange, _lines(exchange, Span())[-most:])
    lines = _lines(exchange, Span(after[0]))
    return _lines_reply(exchange, [line for line in lines if line.place > after][:most])


def preceding(exchange: Exchange) -> Reply:
    """The lines before `fromOffset`; by default the newest."""
    most, before = _number(exchange), _offset(exchange)
    lines = _lines(exchange, Span() if before is None else Span(0, before[0] + 1))
    if before is not None:
        lines = [line for line in lines if line.place < before]
    return _lines_reply(exchange, lines[-most:])


def _lines(exchange: Exchange, within: Span) -> list[Line]:
    """The requested lines of a span, oldest first; raises as `allow` does."""
    entity, run = program(exchange), exchange.params.get("run")
    allow(exchange, "program.view_logs", entity)
    with exchange.service.reading() as reading:
        if run is not None:
            runs.require(reading, exchange.realm, entity, run)
        first, last = within.start, within.end - 1
        most_lines = exchange.services.of(CdapSettings).limits.log_lines
        rows = reading.values(exchange.realm, entity, LINES, first, last, most_lines)
    lines = [
        Line(row.time, row.mark, str(row.body["line"]), cast("str | None", row.body.get("run")))
        for row in reversed(rows)
    ]
    return lines if run is None else [line for line in lines if line.run == run]


def _run_of_lines(
    exchange: Exchange, transaction: WriteTransaction, entity: Entity, run: str | None
) -> str | None:
    """The run in the request, by default the active run that was started last."""
    if run is not None:
        return runs.require(transaction.store, exchange.realm, entity, run).mark
    active = object_store.document_in(transaction, exchange.realm, entity).get(runs.ACTIVE)
    return str(active[-1]) if isinstance(active, list) and active else None


def _lines_reply(exchange: Exchange, lines: Sequence[Line]) -> Reply:
    rows: list[Json] = [
        {"log": _line_body(exchange, line), "offset": line.offset} for line in lines
    ]
    return ok(rows)


def _line_body(exchange: Exchange, line: Line) -> str:
    return escape(line.text) if is_on(exchange, "escape") else line.text


def _number(exchange: Exchange) -> int:
    text = exchange.one("max", str(_USUAL))
    if not (text.isascii() and text.isdecimal()) or len(text) > 9:
        raise bad(f"expected a number as `max`, got {quoted(text)}")
    return max(1, int(text))


def _offset(exchange: Exchange) -> tuple[int, int] | None:
    """The offset in a request; raises `Failure` 400 if it is invalid."""
    text = exchange.one("fromOffset")
    if not text:
        return None
    mark, dot, time = text.partition(".")
    good = len(mark) == _MARK_LENGTH and dot and (mark + time).isascii()
    if not good or not mark.isdecimal() or not time.isdecimal() or len(time) > 16:
        raise bad(f"expected the `offset` of a line as `fromOffset`, got {quoted(text)}")
    return min(int(time), LAST - 1), -int(mark)


_RUN: Final = f"{PROGRAM}/runs/{{run}}"

ROUTES: Final[Sequence[Route]] = tuple(
    route
    for path in (PROGRAM, _RUN)
    for route in (
        Route("POST", f"{path}/logs", "program.emit_logs", emit, accepts=ANY_TYPE),
        Route("GET", f"{path}/logs", "program.view_logs", view),
        Route("GET", f"{path}/logs/next", "program.view_logs", following),
        Route("GET", f"{path}/logs/prev", "program.view_logs", preceding),
    )
)
