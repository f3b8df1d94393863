"""Bodies of the REST interface: replies, and proposals in requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from lakewarden.http.exchange import Exchange, Reply
from lakewarden.http.strict_json import read
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects import record
from lakewarden.systems.datahub.aspects.fields import Fields
from lakewarden.systems.datahub.use_cases.aspect_version import Conditions, conditions
from lakewarden.systems.datahub.use_cases.proposals import Proposal

LARGEST: Final = 16 * 2**20
"""The maximum size of a body in bytes: what clients put into one request, and a little more."""


def ok(body: Mapping[str, object]) -> Reply:
    """200 with a body."""
    return Reply(200, msgspec.json.encode(body))


def value(body: object) -> Reply:
    """200 with the result of an action."""
    return ok({"value": body})


def fields(exchange: Exchange) -> Fields:
    """The body, a JSON object, to be read field by field."""
    return Fields(exchange.json(), "body")


def entity(urn: str, type: str = "") -> Entity:
    """The entity of a URN; the case of its type is ignored. Raises `BadInput`.

    SOURCE: the original's registry keeps its entity types by their names in lower case.
    """
    target = datahub.parse("", urn)
    if type and target.type.lower() != type.lower():
        target = datahub.parse(type, urn)  # its error names the expected type
    if not target.name or target.name == "platform":
        raise BadInput("expected a URN")
    return target


def check_count(exchange: Exchange, count: int, items: str = "entities") -> None:
    """Raises `LimitExceeded` for more items than one request may contain."""
    most = exchange.services.batch_rows
    if count > most:
        raise LimitExceeded(f"more than {most} {items}")


def object_list(body: Fields, key: str) -> list[Fields]:
    """The objects of a required list, which may be empty. Raises `BadInput`."""
    if key not in body:
        raise BadInput("expected a list", where=body.at(key))
    return body.objects(key)


def number(text: str, where: str) -> int:
    """A count or an offset. Raises `BadInput`."""
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise BadInput("expected a number", where=where)
    return int(text)


def whole_number(body: Fields, key: str, otherwise: int) -> int:
    """A count in a body; `otherwise` if it is absent."""
    number = body.raw(key)
    if number is None:
        return otherwise
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise BadInput("expected a number", where=body.at(key))
    return number


def page_size(exchange: Exchange, usual: int = 10) -> int:
    """The parameter `count`, bounded by the largest page. Raises `BadInput`."""
    count = number(exchange.one("count", str(usual)), "count")
    return min(count, exchange.services.page_rows)


def scroll_start(exchange: Exchange) -> int:
    """The start of a page whose `scrollId` is a number, as made by `scroll_id`."""
    return number(exchange.one("scrollId", "0") or "0", "scrollId")


def scroll_id(start: int, shown: int, total: int) -> str | None:
    """The start of the next page; None if there is none."""
    end = start + shown
    return str(end) if shown and end < total else None


def includes_removed(exchange: Exchange) -> bool:
    """Whether softly deleted entities count as existing; by default they do not.

    SOURCE: GenericEntitiesController, `includeSoftDelete`.
    """
    return exchange.one("includeSoftDelete", "false").lower() == "true"


def milliseconds(exchange: Exchange, name: str) -> int | None:
    """A timestamp parameter; None if it is absent. Raises `BadInput`."""
    text = exchange.one(name)
    digits = text.removeprefix("-")
    if not text:
        return None
    if not digits.isascii() or not digits.isdigit() or len(digits) > 16:
        raise BadInput("expected milliseconds since the epoch", where=name)
    return int(text)


def proposal(item: Fields) -> Proposal:
    """A change proposal in the client's format. Raises `BadInput`."""
    change = record.proposal(item, _parsed)
    return _proposal(change, _system(item), conditions(item, change.change))


def snapshot(body: Fields) -> Iterator[Proposal]:
    """The changes of a change event with a whole snapshot. Raises `BadInput`."""
    holder = body.object_or_none("entity")
    if holder is None:
        raise BadInput("expected an object", where=body.at("entity"))
    changes = list(record.snapshot(holder, "value"))
    if not changes:
        raise BadInput("expected aspects, one at least", where=holder.at("value"))
    for change in changes:
        yield _proposal(change, _system(body))


def _system(holder: Fields) -> Mapping[str, object]:
    metadata = holder.object_or_none("systemMetadata")
    return {} if metadata is None else metadata.everything()


def _proposal(
    change: record.RecordChange, system: Mapping[str, object], kept: Conditions | None = None
) -> Proposal:
    if change.problem:
        raise BadInput(change.problem, where=change.where)
    changed = entity(change.urn)
    return Proposal(
        changed,
        change.aspect,
        change.change,
        change.value,
        system,
        change.where,
        *(kept or Conditions()),
    )


def _parsed(text: str, where: str) -> object:
    try:
        return read(text.encode("utf-8", "surrogatepass"))
    except BadInput as error:
        raise BadInput(error.message, where=where) from None
