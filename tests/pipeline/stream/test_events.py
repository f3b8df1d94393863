"""Lines of the feed: malformed or out of sequence ones are refused with their place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lakewarden.kernel.change import (
    EntityAdded,
    MembershipChanged,
    PrincipalChanged,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.principal import GROUP, USER, Principal
from lakewarden.kernel.relations import MembershipRow
from lakewarden.pipeline.index.index import Index, open_index
from lakewarden.pipeline.stream import run
from lakewarden.pipeline.stream.events import Line, check_begun, events_after
from lakewarden.pipeline.stream.feed import newest, write_feed
from lakewarden.pipeline.stream.source import FILES, KAFKA, Feed, lines
from lakewarden.service import realms
from lakewarden.service.effect import DocumentChanged
from lakewarden.service.realm import DIRECTORY, people_of
from tests.pipeline.stream.realms import Estate, lines_of
from tests.service.opened_services import ADMIN, LAKE, furnish, opened, prune_feed

ANA, STAFF = Principal(USER, "ana"), Principal(GROUP, "staff")
SCHEMA = Entity("schema", "lk:c.s")


@pytest.fixture
def estate(tmp_path: Path) -> Iterator[Estate]:
    """A small lake with an index, without later changes."""
    with opened(tmp_path) as service:
        furnish(service)
        found = Estate(service, tmp_path, None)  # type: ignore[arg-type]  # no job is run
        found.start(bits=2)
        yield found


def added(estate: Estate, name: str) -> list[Line]:
    estate.happens(EntityAdded(Entity("table", f"lk:c.s.{name}"), SCHEMA))
    return estate.lines()


def index(estate: Estate) -> Index:
    return open_index(estate.index)


def altered(line: Line, **cells: Any) -> Line:
    return Line(line.place, json.dumps({**json.loads(line.text), **cells}))


def test_files_follow_on_one_another_and_hold_what_decides(estate: Estate) -> None:
    assert estate.lines() == []
    first, second = added(estate, "n1"), added(estate, "n2")
    table = Entity("table", "lk:c.s.t")
    estate.happens(DocumentChanged(table, {"comment": "of no matter"}))
    assert estate.lines() == []
    files = sorted(file.name for file in estate.feed.iterdir())
    assert len(files) == 3
    assert newest(estate.feed, LAKE) == int(files[-1].removesuffix(".jsonl").split("-")[1])
    assert newest(estate.feed, "other") == 0
    found = events_after([*second, *first, *first], index(estate), whole=True)
    assert [len(one.events) for one in found.stretches] == [1, 1]
    assert found.stretches[1].after == found.stretches[0].until


@pytest.mark.parametrize(
    ("differs", "named"),
    [(["statements/mine.toml"], "statements/mine.toml"), (None, "what nobody looked for")],
)
def test_an_index_with_more_than_its_store_has_follows_nothing(
    differs: list[str] | None, named: str, estate: Estate
) -> None:
    known = index(estate)
    facts = {**known.manifest.facts, "differs": differs}
    other = replace(known, manifest=replace(known.manifest, facts=facts))
    with pytest.raises(BadInput, match=re.escape(f"differs from the database by {named}")):
        events_after(added(estate, "n1"), other, whole=True)


def test_people_are_there_as_long_as_the_realm_or_its_directory_has_them(estate: Estate) -> None:
    scope, row = people_of(DIRECTORY), MembershipRow(ANA, STAFF)
    estate.happens(PrincipalChanged(ANA, True), MembershipChanged(row, True), scope=scope)
    estate.happens(PrincipalChanged(ANA, False), MembershipChanged(row, True))
    estate.happens(MembershipChanged(row, False))
    [event_range] = events_after(estate.lines(), index(estate), whole=True).stretches
    assert {event.effect for event in event_range.events} == {
        PrincipalChanged(ANA, True),
        MembershipChanged(row, True),
    }


def test_events_of_other_realms_and_of_known_revisions_are_passed(estate: Estate) -> None:
    lines = added(estate, "n1")
    others = [altered(line, realm="other") for line in lines]
    before = [altered(line, after=0, revision=1, until=1) for line in lines]
    found = events_after([*others, *before], index(estate), whole=True)
    assert (list(found.stretches), found.passed) == ([], 4)


def test_what_comes_in_parts_waits_until_it_is_whole(estate: Estate) -> None:
    first, second = added(estate, "n1"), added(estate, "n2")
    part = events_after([first[0], *second], index(estate), whole=False)
    assert list(part.stretches) == []
    assert sorted(part.waiting) == sorted([first[0], *second])
    whole = events_after([*part.waiting, first[1]], index(estate), whole=False)
    assert (len(whole.stretches), list(whole.waiting)) == (2, [])


def test_of_a_queue_the_order_does_not_matter(estate: Estate) -> None:
    first, second = added(estate, "n1"), added(estate, "n2")
    early = events_after(second, index(estate), whole=False)
    assert (list(early.stretches), sorted(early.waiting)) == ([], sorted(second))
    with pytest.raises(BadInput, match=r"goes on behind revision .* ingest and index anew"):
        check_begun(early.waiting, index(estate))
    later = events_after([*early.waiting, *first], index(estate), whole=False)
    assert (len(later.stretches), list(later.waiting)) == (2, [])


def test_what_a_later_stretch_has_as_well_is_waited_for_no_longer(estate: Estate) -> None:
    begun, after = index(estate).revision, added(estate, "n1")[:1]
    added(estate, "n2")
    with estate.service.reading() as reading:
        written = write_feed(reading, LAKE, estate.folder / "again", after=begun)
    assert written is not None
    found = events_after([*after, *lines_of(written.file)], index(estate), whole=False)
    assert ([len(one.events) for one in found.stretches], found.passed) == ([2], 1)
    assert list(found.waiting) == []


def test_two_lines_of_one_event_have_to_agree(estate: Estate) -> None:
    event, last = added(estate, "n1")
    spaced = Line("again", json.dumps(json.loads(event.text), indent=1))
    assert len(events_after([event, spaced, last], index(estate), whole=True).stretches) == 1
    other = altered(event, key=["table", "lk:c.s.other"])
    with pytest.raises(BadInput, match=r"is another event than .* with the same revision and seq"):
        events_after([event, other, last], index(estate), whole=True)


def test_bytes_that_are_no_text_are_refused_with_their_place() -> None:
    class Batch:
        def select(self, *_: str) -> Batch:
            return self

        def toArrow(self) -> pa.Table:  # noqa: N802 — Spark's name
            return pa.table({"place": ["a.jsonl", "b.jsonl"], "text": [b"{}\n", b'"\xff"\n']})

    with pytest.raises(BadInput, match=r"b\.jsonl: not UTF-8 at byte 1"):
        lines(Batch(), numbered=True)  # type: ignore[arg-type]  # all that is asked of it


@pytest.mark.parametrize(("kind", "stays"), [(FILES, False), (KAFKA, True)])
def test_files_of_a_run_that_refused_one_are_read_again(
    tmp_path: Path, kind: str, stays: bool
) -> None:
    (tmp_path / run._SPARKS).mkdir()
    run._retry_rejected(Feed(kind), tmp_path)
    assert (tmp_path / run._SPARKS).is_dir()
    (tmp_path / run._REFUSED).touch()
    run._retry_rejected(Feed(kind), tmp_path)
    assert [(tmp_path / name).exists() for name in (run._SPARKS, run._REFUSED)] == [stays, False]


def test_what_goes_to_a_connect_server_names_places_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    step = run._Step(Path("index"), Path("point"), whole=True, now=None, keep=None)
    cells = [cell.cell_contents for cell in step.portable(Path("archive.zip")).__closure__ or ()]
    places = {cell for cell in cells if isinstance(cell, str)}
    assert places == {str(tmp_path / name) for name in ("archive.zip", "index", "point")}


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ({"kind": "entities"}, "line 1.kind: unknown `entities`; expected one of"),
        ({"op": "remove"}, "line 1.op: unknown `remove`; expected one of: drop, move, put, rename"),
        ({"op": "drop"}, "line 1.row: expected what is there after `drop`"),
        ({"row": {"above": None}}, "line 1.key: expected the key and the row of a `entity`"),
        ({"key": ["table", 7]}, "line 1.key: expected names"),
        ({"key": ["table"]}, "line 1.key: expected the key and the row of a `entity`"),
        ({"revision": "new"}, "line 1.revision: expected a whole number"),
        ({"revision": 1}, "line 1.revision: expected a revision behind"),
        ({"realm": None}, "line 1.realm: expected a non-empty string"),
        ({"kind": "realm", "key": LAKE, "op": "drop", "row": None}, "was dropped"),
    ],
)
def test_a_malformed_event_is_refused(estate: Estate, cells: dict[str, Any], expected: str) -> None:
    event, last = added(estate, "n1")
    with pytest.raises(BadInput) as refused:
        events_after([altered(event, **cells), last], index(estate), whole=True)
    assert expected in str(refused.value)
    assert event.place in str(refused.value)


def test_what_is_missing_is_noticed(estate: Estate) -> None:
    first, second = added(estate, "n1"), added(estate, "n2")
    with pytest.raises(BadInput, match="a line of this stretch is missing"):
        events_after(first[:1], index(estate), whole=True)
    with pytest.raises(BadInput, match=r"goes on behind revision .* ingest and index anew"):
        events_after(second, index(estate), whole=True)
    for text in ("{", "[" * 100_000):
        with pytest.raises(BadInput, match="line 1: expected JSON"):
            events_after([Line("feed: line 1", text)], index(estate), whole=True)
    with pytest.raises(BadInput, match="another model, or other settings"):
        events_after([first[0], altered(first[1], digest="other")], index(estate), whole=True)


def test_a_realm_that_is_not_there_and_a_revision_to_come_are_refused(estate: Estate) -> None:
    with estate.service.reading() as reading:
        with pytest.raises(Unknown, match="there are: lake"):
            write_feed(reading, "pond", estate.feed)
        with pytest.raises(BadInput, match="--after: expected a revision from 0 to"):
            write_feed(reading, LAKE, estate.feed, after=10_000)
    prune_feed(estate.service)
    with estate.service.reading() as reading, pytest.raises(BadInput, match="does not reach back"):
        write_feed(reading, LAKE, estate.feed, after=0)


def test_a_realm_that_was_made_again_is_another(estate: Estate) -> None:
    estate.service.write(ADMIN, lambda transaction: realms.drop(transaction, LAKE))
    with estate.service.reading() as reading, pytest.raises(Unknown):
        write_feed(reading, LAKE, estate.feed)
    from lakewarden.service.realm import Realm

    estate.service.write(
        ADMIN, lambda transaction: realms.establish(transaction, Realm(LAKE, "gravitino"))
    )
    with estate.service.reading() as reading:
        written = write_feed(reading, LAKE, estate.feed)
    assert written is not None
    with pytest.raises(BadInput, match="was dropped; ingest and index anew"):
        events_after(lines_of(written.file), index(estate), whole=True)
