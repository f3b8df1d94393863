"""The known history of an entity, by categories of changes. SOURCE: datahub reference 5.4."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import quoted
from lakewarden.systems.datahub.aspects import history
from lakewarden.systems.datahub.http.authorization import allow
from lakewarden.systems.datahub.http.bodies import entity, milliseconds
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.aspects import Aspect

_ALIASES: Final = {"OWNER": "OWNERSHIP"}
_EVER: Final = 2**63


def load(exchange: Exchange) -> Reply:
    """The known writes of an entity, of the requested categories."""
    target = entity(exchange.params["urn"])
    parameter = exchange.one("categories")
    categories = [_category(name) for name in parameter.split(",") if name]
    if not categories:
        raise BadInput("expected categories of changes", where="categories")
    first, last = milliseconds(exchange, "startTime"), milliseconds(exchange, "endTime")
    last = _EVER if last is None else last
    allow(exchange, "timeline.read", target)
    with exchange.service.reading() as reading:
        stored = aspects.read(reading, exchange.realm_state, [target]).get(target, {})
    written = (writing for writing in known_writes(stored) if (first or 0) <= writing.time <= last)
    changes = history.transactions(target.name, written, categories)
    return Reply(200, msgspec.json.encode(changes))


def known_writes(stored: Mapping[str, Aspect]) -> Iterator[history.LastWrite]:
    """The last write of each aspect whose writer and time are known."""
    for name, aspect in stored.items():
        time, actor = aspect.created.get("time"), aspect.created.get("actor")
        if isinstance(time, int) and isinstance(actor, str):
            yield history.LastWrite(name, aspect.value, time, actor)


def _category(text: str) -> str:
    name = _ALIASES.get(text, text)
    if name not in history.CATEGORIES:
        expected: Iterable[str] = history.CATEGORIES
        message = f"unknown {quoted(text)}; expected one of: {', '.join(expected)}"
        raise BadInput(message, where="categories")
    return name


ROUTES: Final = (
    Route("GET", "/openapi/v2/timeline/v1/{urn}", "timeline.read", load, encoded_slash=True),
    Route("GET", "/openapi/timeline/v1/{urn}", "timeline.read", load, encoded_slash=True),
)
