"""One record of a metadata file to the writes that it asks for.

Two kinds of record: a change event with a whole snapshot (`proposedSnapshot`: an entity and
its aspects), and a change proposal (`entityUrn`, `changeType`, `aspectName`, `aspect`), also
below a key `proposal`. Usage statistics, which the same files may hold, are passed over.

SOURCE: datahub reference 6.6 and 6.7; DataHub documentation, Metadata File source.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import Model
from lakewarden.names import datahub
from lakewarden.names.canonical import quoted
from lakewarden.pipeline.ingest import aspect as aspects
from lakewarden.pipeline.ingest import patch
from lakewarden.pipeline.ingest.fields import Fields
from lakewarden.pipeline.ingest.json_file import Record, parse


class Change(Enum):
    """What a write does to an aspect."""

    PUT = "put"
    CREATE = "create"
    CREATE_ENTITY = "create entity"
    PATCH = "patch"
    DELETE = "delete"


CHANGES: Final = {
    "UPSERT": Change.PUT,
    "UPDATE": Change.PUT,
    "RESTATE": Change.PUT,
    "CREATE": Change.CREATE,
    "CREATE_ENTITY": Change.CREATE_ENTITY,
    "PATCH": Change.PATCH,
    "DELETE": Change.DELETE,
}
"""DataHub's words. SOURCE: datahub reference 5.4, changeType."""

USAGE: Final = "usage statistics"

_JSON = ("application/json", "application/json-patch+json")
_FIRST_WORD = re.compile(r"^(?:[A-Z]+(?=[A-Z][a-z])|[A-Z])")


class Write(NamedTuple):
    """One write. `type` is what the record calls the entity's type.

    `value` is the aspect, or the patch, as JSON; empty where the aspect means nothing here
    beyond that the entity exists. `problem` says why the entity cannot be named.
    """

    urn: str
    type: str
    aspect: str
    change: Change
    value: str
    place: str
    problem: str = ""


def writes(record: Record, name: str, model: Model) -> Iterator[Write | str]:
    """The writes of a record of the file `name`, or what it is when it means nothing here.

    Raises `BadInput` with file, line, path, field and expectation for a malformed record.
    """
    path = f": {record.path}" if record.path else ""
    where = f"{name}: line {record.line}{path}"
    fields = Fields(record.value, where)
    if "proposal" in fields:
        fields = Fields(fields.raw("proposal"), fields.at("proposal"))
    if "proposedSnapshot" in fields:
        yield from _snapshot(fields, model)
    elif "entityUrn" in fields or "aspectName" in fields:
        yield _proposal(fields, model)
    elif "bucket" in fields and "metrics" in fields:
        yield USAGE
    else:
        message = "expected `proposedSnapshot`, or `entityUrn`, `aspectName` and `aspect`"
        raise BadInput(message, where=where)


def _snapshot(fields: Fields, model: Model) -> Iterator[Write]:
    if "proposedDelta" in fields:
        raise BadInput("expected null: deltas are not read", where=fields.at("proposedDelta"))
    class_name, body = _named(fields, "proposedSnapshot")
    if not class_name.endswith("Snapshot"):
        where = fields.at("proposedSnapshot")
        raise BadInput(f"expected the name of a snapshot, got {quoted(class_name)}", where=where)
    # The type words are irregular (`corpuser`), the class names are not (`CorpUserSnapshot`).
    type = class_name.removesuffix("Snapshot")
    urn = body.text("urn")
    problem = _problem(urn, type, exact=False)
    type = type if problem else datahub.urn_type(urn)
    for index, item in enumerate(_list(body, "aspects")):
        holder = Fields({"aspect": item}, f"{body.at('aspects')}[{index}]")
        class_name, value = _named(holder, "aspect", shown="")
        write = Write(urn, type, aspect_name(class_name), Change.PUT, "", value.where, problem)
        yield _checked(write, value, model)


def _list(fields: Fields, key: str) -> list[object]:
    value = fields.raw(key)
    if not isinstance(value, list):
        raise BadInput("expected a list", where=fields.at(key))
    return value


def _named(fields: Fields, key: str, shown: str | None = None) -> tuple[str, Fields]:
    """The short class name and the fields of a record that stands under its class name."""
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


def aspect_name(class_name: str) -> str:
    """The name of the aspect whose record has this short class name.

    >>> aspect_name("GlobalTags"), aspect_name("MLModelProperties")
    ('globalTags', 'mlModelProperties')
    """
    return _FIRST_WORD.sub(lambda found: found[0].lower(), class_name)


def _proposal(fields: Fields, model: Model) -> Write:
    urn = fields.text("entityUrn")
    type = fields.text("entityType")
    word = fields.text("changeType") if "changeType" in fields else "UPSERT"
    change = CHANGES.get(word)
    if change is None:
        message = f"unknown {quoted(word)}; expected one of: {', '.join(CHANGES)}"
        raise BadInput(message, where=fields.at("changeType"))
    problem = _problem(urn, type, exact=True)
    name = fields.text_or_none("aspectName")
    if change is Change.DELETE:
        return Write(urn, type, name or "", change, "", fields.where, problem)
    if name is None:
        raise BadInput("expected the name of an aspect", where=fields.at("aspectName"))
    value, where = _content(fields)
    write = Write(urn, type, name, change, "", where, problem)
    if change is Change.PATCH:
        if name not in aspects.READERS:
            return write
        patch.check(value, where)
        return write._replace(value=_text(value))
    return _checked(write, Fields(value, where), model)


def _content(fields: Fields) -> tuple[object, str]:
    """The aspect of a proposal, and its path: an object, or the text of one."""
    aspect = fields.object_or_none("aspect")
    if aspect is None:
        raise BadInput("expected an object", where=fields.at("aspect"))
    if "json" in aspect:
        return aspect.whole("json"), aspect.at("json")
    if "contentType" in aspect and aspect.text("contentType") not in _JSON:
        raise BadInput(f"expected `{_JSON[0]}`", where=aspect.at("contentType"))
    if "value" not in aspect:
        raise BadInput("expected `json` or `value`", where=aspect.where)
    return parse(aspect.text("value"), aspect.at("value")), aspect.at("value")


def _checked(write: Write, value: Fields, model: Model) -> Write:
    """The write with its value, if anybody needs it; reading it here finds its errors."""
    if write.aspect not in aspects.READERS:
        return write
    entity = Entity(write.type, write.urn)
    for _ in aspects.rows(entity, write.aspect, value, write.place, model):
        pass
    return write._replace(value=_text(value.everything()))


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=4_096)
def _problem(urn: str, type: str, *, exact: bool) -> str:
    """Why the URN does not name an entity of the type; empty when it does."""
    try:
        found = datahub.urn_type(urn)
    except BadInput as error:
        return error.message
    same = found == type if exact else found.casefold() == type.casefold()
    return "" if same else f"expected a URN of type {quoted(type)}, got {quoted(urn)}"
