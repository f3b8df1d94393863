"""DataHub's records of changes, from files or requests.

Two kinds: a change event with a whole snapshot (an entity and its aspects, each under the name of
of its class), and a change proposal (`entityUrn`, `changeType`, `aspectName`, `aspect`).

SOURCE: datahub reference 6.6 and 6.7; DataHub documentation, Metadata File source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import quoted
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects.change import CHANGES, Change
from lakewarden.systems.datahub.aspects.fields import Fields
from lakewarden.systems.datahub.aspects.record_names import aspect_name

JSON: Final = ("application/json", "application/json-patch+json")
"""The supported content types of an aspect."""

Parse = Callable[[str, str], object]
"""Parses a JSON text at a path; raises `BadInput`."""


class RecordChange(NamedTuple):
    """One change in a record.

    `type` is the record's name for the entity's type; `value` the aspect or the patch, None for a
    deletion; `problem` says why the entity cannot be named.
    """

    urn: str
    type: str
    aspect: str
    change: Change
    value: object
    where: str
    problem: str = ""


def snapshot(fields: Fields, key: str) -> Iterator[RecordChange]:
    """The aspects of the snapshot under `key`. Raises `BadInput`."""
    class_name, body = _class_and_fields(fields, key)
    if not class_name.endswith("Snapshot"):
        message = f"expected the name of a snapshot, got {quoted(class_name)}"
        raise BadInput(message, where=fields.at(key))
    # The names of types are irregular (`corpuser`), the class names are not (`CorpUserSnapshot`).
    type = class_name.removesuffix("Snapshot")
    urn = body.text("urn")
    problem = _problem(urn, type, exact=False)
    type = type if problem else datahub.urn_type(urn)
    for index, item in enumerate(_read_list(body, "aspects")):
        holder = Fields({"aspect": item}, f"{body.at('aspects')}[{index}]")
        class_name, value = _class_and_fields(holder, "aspect", shown="")
        content = value.everything()
        yield RecordChange(
            urn, type, aspect_name(class_name), Change.PUT, content, value.where, problem
        )


def proposal(fields: Fields, parse: Parse) -> RecordChange:
    """The change in a proposal. Raises `BadInput`."""
    urn = fields.text("entityUrn")
    type = fields.text("entityType")
    type_name = fields.text("changeType") if "changeType" in fields else "UPSERT"
    change = CHANGES.get(type_name)
    if change is None:
        message = f"unknown {quoted(type_name)}; expected one of: {', '.join(CHANGES)}"
        raise BadInput(message, where=fields.at("changeType"))
    problem = _problem(urn, type, exact=True)
    name = fields.text_or_none("aspectName")
    if change is Change.DELETE:
        return RecordChange(urn, type, name or "", change, None, fields.where, problem)
    if name is None:
        raise BadInput("expected the name of an aspect", where=fields.at("aspectName"))
    value, where = _read_content(fields, parse)
    return RecordChange(urn, type, name, change, value, where, problem)


def _read_content(fields: Fields, parse: Parse) -> tuple[object, str]:
    """The aspect in a proposal, and its path: an object, or a string with the object."""
    aspect = fields.object_or_none("aspect")
    if aspect is None:
        raise BadInput("expected an object", where=fields.at("aspect"))
    if "json" in aspect:
        return aspect.whole("json"), aspect.at("json")
    if "contentType" in aspect and aspect.text("contentType") not in JSON:
        raise BadInput(f"expected `{JSON[0]}`", where=aspect.at("contentType"))
    if "value" not in aspect:
        raise BadInput("expected `json` or `value`", where=aspect.where)
    return parse(aspect.text("value"), aspect.at("value")), aspect.at("value")


def _read_list(fields: Fields, key: str) -> list[object]:
    value = fields.raw(key)
    if not isinstance(value, list):
        raise BadInput("expected a list", where=fields.at(key))
    return value


def _class_and_fields(fields: Fields, key: str, shown: str | None = None) -> tuple[str, Fields]:
    """The short class name and the fields of a record with its class name as key."""
    where = fields.at(key) if shown is None else fields.where
    value = fields.whole(key)
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str):
        name, inner = value
    elif isinstance(value, Mapping) and len(value) == 1:
        ((name, inner),) = value.items()
    else:
        raise BadInput("expected an object under the name of its class", where=where)
    if not isinstance(inner, Mapping):
        raise BadInput("expected an object", where=f'{where}."{name}"')
    return name.rpartition(".")[2], Fields(inner, f'{where}."{name}"')


@lru_cache(maxsize=4_096)
def _problem(urn: str, type: str, *, exact: bool) -> str:
    """Why the URN does not name an entity of the type; empty if it does."""
    try:
        actual = datahub.urn_type(urn)
    except BadInput as error:
        return error.message
    same = actual == type if exact else actual.casefold() == type.casefold()
    return "" if same else f"expected a URN of type {quoted(type)}, got {quoted(urn)}"
