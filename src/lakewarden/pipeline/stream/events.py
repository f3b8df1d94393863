"""Parses lines of the change feed; rejects malformed ones with their place.

The events between two revisions form a *stretch* (see `lakewarden.pipeline.stream.feed`). A stretch
is applied as a whole or not at all, because the mark in its last line is only valid at its end. The
lines of a file arrive together; some lines of a queue may arrive later, and the others have to
wait.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.toml_section import Section
from lakewarden.pipeline.index.index import Index
from lakewarden.pipeline.stream.feed import KINDS, REALM, UNTIL
from lakewarden.service.effect import DROP, MOVE, PUT, RENAME, Effect, FeedRow, decode
from lakewarden.service.system import System

_OPS = {PUT, DROP}
_ENTITY_OPS = {PUT, DROP, MOVE, RENAME}


class Line(NamedTuple):
    """A line of the feed and its origin, for errors."""

    place: str
    text: str


class Event(NamedTuple):
    """A change; events are ordered by `revision` and `seq`."""

    revision: int
    seq: int
    effect: Effect
    place: str


@dataclass(frozen=True, slots=True)
class EventRange:
    """All events after one revision up to another, and the store's mark at the end.

    `sha256` is the digest of its lines.
    """

    after: int
    until: int
    store: str
    events: tuple[Event, ...]
    sha256: str


def empty_range_after(index: Index) -> EventRange:
    """A stretch without events after the revision of the index."""
    revision = int(index.manifest.facts["revision"])
    return EventRange(revision, revision, index.store, (), "")


class EventBatch(NamedTuple):
    """The stretches that follow the index, in order; the waiting lines; the number skipped."""

    stretches: Sequence[EventRange]
    waiting: Sequence[Line]
    passed: int


@dataclass(frozen=True, slots=True)
class _FeedLine:
    """A parsed line; `seq` is -1 for the last one of a stretch."""

    line: Line
    realm: str
    after: int
    until: int
    kind: str
    revision: int
    seq: int
    section: Section

    @staticmethod
    def of(line: Line) -> _FeedLine:
        section = Section(_data(line), line.place)
        kind = section.text("kind")
        event = _FeedLine(
            line=line,
            realm=section.text("realm"),
            after=_number(section, "after"),
            until=_number(section, "until"),
            kind=kind,
            revision=_number(section, "revision"),
            seq=-1 if kind == UNTIL else _number(section, "seq"),
            section=section,
        )
        if not event.after < event.revision <= event.until:
            message = f"expected a revision behind {event.after}, up to {event.until}"
            raise BadInput(message, where=section.at("revision"))
        return event


def _data(line: Line) -> object:
    try:
        data: object = json.loads(line.text)
    except (ValueError, RecursionError):
        raise BadInput("expected JSON", where=line.place) from None
    return data


_Lines = dict[tuple[int, int], _FeedLine]
"""The lines of a stretch, by revision and seq."""


def events_after(lines: Iterable[Line], index: Index, *, whole: bool) -> EventBatch:
    """The events in the lines that an index lacks. Repeated lines count once.

    Lines of other realms, and of revisions that the index has, are skipped. With `whole`, every
    stretch must be complete and must follow a known revision; otherwise it waits. Raises `BadInput`
    for a line that is malformed or of an unknown kind, for two different lines of one event, for a
    realm that was dropped or got other settings, and for a gap.
    """
    if index.revision is None:
        message = "knows no revision; ingest a realm with the source `store` and index that"
        raise BadInput(message, where=str(index.out))
    index.check_is_of_store(str(index.out))
    lines_by_stretch: dict[tuple[int, int], _Lines] = {}
    passed = 0
    for line in lines:
        event = _FeedLine.of(line)
        if event.realm != index.realm or event.until <= index.revision:
            passed += 1
        else:
            between = lines_by_stretch.setdefault((event.after, event.until), {})
            _check_same(between.setdefault((event.revision, event.seq), event), event)
    stretches: list[EventRange] = []
    incomplete: list[_Lines] = []
    reached = index.revision
    for (after, until), together in sorted(lines_by_stretch.items()):
        is_complete = _is_complete(together, until)
        if whole and not is_complete:
            place = min(event.line.place for event in together.values())
            raise BadInput("a line of this stretch is missing; write it again", where=place)
        if until <= reached:
            passed += len(together)
        elif is_complete and (whole or after <= reached):
            stretches.append(_event_range(together, index, reached))
            reached = until
        else:
            incomplete.append(together)
    waiting: list[Line] = []
    for together in incomplete:
        lines_of_stretch = [event.line for event in together.values()]
        if next(iter(together.values())).until <= reached:
            passed += len(lines_of_stretch)  # a later stretch contains it
        else:
            waiting += lines_of_stretch
    return EventBatch(stretches, waiting, passed)


def check_begun(waiting: Sequence[Line], index: Index) -> None:
    """Raises `BadInput` if no waiting line follows the index: there is a gap."""
    lines = sorted(map(_FeedLine.of, waiting), key=lambda line: (line.after, line.revision))
    if lines and index.revision is not None and lines[0].after > index.revision:
        raise _gap(lines[0], index.revision)


def _check_same(first: _FeedLine, second: _FeedLine) -> None:
    if first.line.text != second.line.text and _data(first.line) != _data(second.line):
        message = f"is another event than `{first.line.place}`, with the same revision and seq"
        raise BadInput(message, where=second.line.place)


def _gap(line: _FeedLine, reached: int) -> BadInput:
    message = f"goes on behind revision {line.after}, and the index is of revision {reached}"
    anew = "give the events in between, or ingest and index anew"
    return BadInput(f"{message}; {anew}", where=line.line.place)


def _is_complete(lines: _Lines, until: int) -> bool:
    last = lines.get((until, -1))
    if last is None:
        return False
    # Parsed from a copy, because waiting lines are parsed again later.
    count = _number(Section(json.loads(last.line.text), last.line.place), "events")
    return count == len(lines) - 1


def _event_range(lines: _Lines, index: Index, reached: int) -> EventRange:
    *others, last = sorted(
        lines.values(), key=lambda event: (event.seq < 0, event.revision, event.seq)
    )
    if last.after > reached:
        raise _gap(last, reached)
    if last.section.text("digest") != index.system.model.digest:
        message = "the realm has another model, or other settings, than the index was made under"
        raise BadInput(f"{message}; ingest and index anew", where=last.section.at("digest"))
    events = []
    for event in others:
        if event.kind == REALM:
            message = f"the realm `{index.realm}` was dropped; ingest and index anew"
            raise BadInput(message, where=event.line.place)
        if event.revision > reached:
            effect = _effect(event, index.system)
            events.append(Event(event.revision, event.seq, effect, event.line.place))
    text = "\n".join(sorted(event.line.text.strip() for event in lines.values()))
    sha256 = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return EventRange(last.after, last.until, last.section.text("store"), tuple(events), sha256)


def _number(section: Section, key: str) -> int:
    value = section.take(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise BadInput("expected a whole number", where=section.at(key))
    return value


def _effect(event: _FeedLine, system: System) -> Effect:
    section, kind = event.section, event.kind
    op, key, row = (section.take(name) for name in ("op", "key", "row"))
    if kind not in KINDS:
        expected = ", ".join(KINDS)
        raise BadInput(f"unknown `{kind}`; expected one of: {expected}", where=section.at("kind"))
    ops = _ENTITY_OPS if kind == "entity" else _OPS
    if op not in ops:
        expected = ", ".join(sorted(ops))
        raise BadInput(f"unknown `{op}`; expected one of: {expected}", where=section.at("op"))
    if not _is_text(key):
        raise BadInput("expected names", where=section.at("key"))
    if (row is None) != (op == DROP):
        raise BadInput(f"expected what is there after `{op}`", where=section.at("row"))
    after = None if row is None else json.dumps(row)
    feed_row = FeedRow(event.revision, event.seq, "", kind, json.dumps(key), str(op), after)
    try:
        return decode(feed_row, system)
    except (BadInput, Unknown) as error:
        raise BadInput(str(error), where=section.at("row")) from None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        message = f"expected the key and the row of a `{kind}`"
        raise BadInput(message, where=section.at("key")) from None


def _is_text(key: object) -> bool:
    """Whether it is a text, or a list of texts."""
    return isinstance(key, str) or (isinstance(key, list) and bool(key) and all(map(_is_text, key)))
