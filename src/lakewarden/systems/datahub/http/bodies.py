"""Bodies of the REST interface: replies, and proposals as requests write them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from lakewarden.http.exchange import Exchange, Reply
from lakewarden.http.strict_json import read
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects import record
from lakewarden.systems.datahub.aspects.fields import Fields
from lakewarden.systems.datahub.use_cases.aspect_version import expected_version
from lakewarden.systems.datahub.use_cases.proposals import Proposal

LARGEST: Final = 16 * 2**20
"""Bytes of the largest body: what clients put into one request, and a little more."""

_FIRST = 0


def ok(body: Mapping[str, object]) -> Reply:
    """200 with a body."""
    return Reply(200, msgspec.json.encode(body))


def value(body: object) -> Reply:
    """200 with what an action gives."""
    return ok({"value": body})


def fields(exchange: Exchange) -> Fields:
    """The body, a JSON object, to be read field by field."""
    return Fields(exchange.json(), "body")


def entity(urn: str, type: str = "") -> Entity:
    """The stored thing that a URN names, of a type in any case of letters. Raises `BadInput`.

    SOURCE: the original's registry keeps its entity types by their names in lower case.
    """
    found = datahub.parse("", urn)
    if type and found.type.lower() != type.lower():
        found = datahub.parse(type, urn)  # which says what it expected
    if not found.name or found.name == "platform":
        raise BadInput("expected a URN")
    return found


def listed(body: Fields, key: str) -> list[Fields]:
    """The objects of a list that must be there; it may be empty. Raises `BadInput`."""
    if key not in body:
        raise BadInput("expected a list", where=body.at(key))
    return body.objects(key)


def number(text: str, where: str) -> int:
    """A number of things, or a place among them. Raises `BadInput`."""
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise BadInput("expected a number", where=where)
    return int(text)


def whole(body: Fields, key: str, otherwise: int) -> int:
    """A number of things in a body; absent: `otherwise`."""
    found = body.raw(key)
    if found is None:
        return otherwise
    if isinstance(found, bool) or not isinstance(found, int) or found < _FIRST:
        raise BadInput("expected a number", where=body.at(key))
    return found


def proposal(item: Fields) -> Proposal:
    """A change proposal as the client sends it. Raises `BadInput`."""
    said = record.proposal(item, _parsed)
    system = item.object_or_none("systemMetadata")
    metadata = {} if system is None else system.everything()
    return _proposal(said, metadata, expected_version(item))


def snapshot(body: Fields) -> Iterator[Proposal]:
    """The changes of a change event with a whole snapshot. Raises `BadInput`."""
    holder = body.object_or_none("entity")
    if holder is None:
        raise BadInput("expected an object", where=body.at("entity"))
    system = body.object_or_none("systemMetadata")
    found = list(record.snapshot(holder, "value"))
    if not found:
        raise BadInput("expected aspects, one at least", where=holder.at("value"))
    for said in found:
        yield _proposal(said, {} if system is None else system.everything())


def _proposal(said: record.Said, system: Mapping[str, object], expected: str = "") -> Proposal:
    if said.problem:
        raise BadInput(said.problem, where=said.where)
    found = entity(said.urn)
    return Proposal(found, said.aspect, said.change, said.value, system, said.where, expected)


def _parsed(text: str, where: str) -> object:
    try:
        return read(text.encode("utf-8", "surrogatepass"))
    except BadInput as error:
        raise BadInput(error.message, where=where) from None
