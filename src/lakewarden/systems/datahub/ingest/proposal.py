"""Converts one record of a metadata file to its writes.

Two kinds of record: a change event with a whole snapshot (`proposedSnapshot`: an entity and its
aspects), and a change proposal (`entityUrn`, `changeType`, `aspectName`, `aspect`), also under a
key `proposal`. Usage statistics, which the same files may contain, are skipped.

SOURCE: datahub reference 6.6 and 6.7; DataHub documentation, Metadata File source.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final, NamedTuple

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import Model
from lakewarden.pipeline.ingest.json_file import Record, parse
from lakewarden.systems.datahub.aspects import (
    column_labels,
    meaning,
    patch,
    record,
    view_reads,
)
from lakewarden.systems.datahub.aspects.change import Change
from lakewarden.systems.datahub.aspects.fields import Fields

USAGE: Final = "usage statistics"
_READ: Final = {*meaning.READERS, *column_labels.ASPECTS, view_reads.ASPECT}
"""The aspects whose values are read."""


class Write(NamedTuple):
    """One write. `type` is the record's name for the entity's type.

    `value` is the aspect, or the patch, as JSON; empty if the aspect only means that the entity
    exists. `problem` says why the entity cannot be named.
    """

    urn: str
    type: str
    aspect: str
    change: Change
    value: str
    place: str
    problem: str = ""


def writes(record: Record, name: str, model: Model) -> Iterator[Write | str]:
    """The writes of a record of the file `name`, or the reason why it is ignored.

    Raises `BadInput` with file, line, path, field and expected value for a malformed record.
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
    for change in record.snapshot(fields, "proposedSnapshot"):
        yield _checked_write(_write(change), Fields(change.value, change.where), model)


def _proposal(fields: Fields, model: Model) -> Write:
    change = record.proposal(fields, parse)
    write = _write(change)
    if change.change is Change.DELETE:
        return write
    if change.change is Change.PATCH:
        if change.aspect not in _READ:
            return write
        patch.check(change.value, change.where)
        return write._replace(value=_text(change.value))
    return _checked_write(write, Fields(change.value, change.where), model)


def _write(change: record.RecordChange) -> Write:
    return Write(
        change.urn, change.type, change.aspect, change.change, "", change.where, change.problem
    )


def _checked_write(write: Write, value: Fields, model: Model) -> Write:
    """The write with its value, if a reader needs it; it is read here to find errors."""
    if write.aspect in column_labels.ASPECTS:
        parts = column_labels.labelled_parts(write.aspect, value.everything())
        return write._replace(value=_text(parts)) if any(parts.values()) else write
    if write.aspect == view_reads.ASPECT:
        return write._replace(value=_text(value.everything()))
    if write.aspect not in meaning.READERS:
        return write
    entity = Entity(write.type, write.urn)
    for _ in meaning.rows(entity, write.aspect, value, write.place, model):
        pass
    return write._replace(value=_text(value.everything()))


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
