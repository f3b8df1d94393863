"""The change feed of a realm as files of JSON lines, for a stream. Needs no Spark.

    FOLDER/REALM-REVISION.jsonl        named after its newest revision

A line is one event: realm, revision, seq, kind, key, op and row are those of the feed, `after` and
`until` the revisions that bound the file. The last line, of the kind `until`, has the number of
events and the store's mark at that revision. Rows that do not affect decisions are left out, so no
secret is written to a file.

People are written as the realm sees them at the end of the file: spelled in its form, its own and
its directory's together. A person who leaves one of the two but is in the other is still there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from lakewarden.kernel.change import MembershipChanged, PrincipalChanged
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import MembershipRow
from lakewarden.pipeline.storage.files import write_atomically
from lakewarden.pipeline.storage.location import Location
from lakewarden.service.effect import DROP, FeedRow, decode, encode
from lakewarden.service.index_catch_up import history_mark
from lakewarden.service.ports import FeedTruncated, Reading
from lakewarden.service.realm import CONTROL, Realm, people_of
from lakewarden.service.state import People
from lakewarden.service.system import load_system

UNTIL: Final = "until"
"""The kind of the last line of a file."""

REALM: Final = "realm"
"""The kind of a line for a dropped realm."""

PEOPLE: Final = ("principal", "membership")
KINDS: Final = ("entity", "relation", "attribute", "owner", "statement", *PEOPLE, REALM)
"""The kinds that affect decisions, or mean that the index no longer has its realm."""


class Written(NamedTuple):
    """A written file: its events are after revision `after`, up to `until`."""

    file: Location
    after: int
    until: int
    events: int


def write_feed(
    reading: Reading, realm: str, folder: Location, after: int | None = None
) -> Written | None:
    """Writes the events of a realm after the revision `after` (default: the newest file's).

    None if there are no events. The file is written atomically. Raises `Unknown` for a realm that
    does not exist, `BadInput` for a revision that the store has not reached, or that its feed no
    longer covers.
    """
    realms = {realm_row.name: realm_row for realm_row in reading.realms()}
    if realm not in realms:
        names = ", ".join(sorted(set(realms) - {CONTROL})) or "none"
        raise Unknown("realm", realm, f"there are: {names}")
    start = newest(folder, realm) if after is None else after
    if not 0 <= start <= reading.revision:
        message = f"expected a revision from 0 to {reading.revision}, got {start}"
        raise BadInput(f"{message}; is it of another store?", where="--after")
    try:
        rows = reading.feed(start)
    except FeedTruncated:
        message = f"the change feed does not reach back to revision {start}"
        raise BadInput(f"{message}; ingest and index anew", where="--after") from None
    events = list(_events(reading, realms[realm], rows))
    if not events:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{realm}-{reading.revision:015}.jsonl"
    write_atomically(file, "".join(_lines(reading, realms[realm], start, events)))
    return Written(file, start, reading.revision, len(events))


def newest(folder: Location, realm: str) -> int:
    """The revision that the newest file of the folder reaches; 0 if there is none."""
    named = re.compile(re.escape(realm) + r"-(\d{15})\.jsonl")
    matches = (named.fullmatch(file.name) for file in folder.glob("*.jsonl"))
    return max((int(match[1]) for match in matches if match), default=0)


def _lines(
    reading: Reading, realm: Realm, after: int, events: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    between = {"realm": realm.name, "after": after, "until": reading.revision}
    model = load_system(realm.model, realm.settings, realm.text).model
    last = {
        "revision": reading.revision,
        "kind": UNTIL,
        "events": len(events),
        "store": history_mark(reading),
        "model": model.name,
        "digest": model.digest,
    }
    for table in (*events, last):
        yield json.dumps({**between, **table}, ensure_ascii=False) + "\n"


def _events(reading: Reading, realm: Realm, rows: Iterable[FeedRow]) -> Iterator[dict[str, Any]]:
    """The events of the realm, in order; those of people at the end, in their final state."""
    people: dict[Principal | MembershipRow, FeedRow] = {}
    system = load_system(realm.model, realm.settings, realm.text)
    for row in rows:
        of_people = row.kind in PEOPLE and row.scope in (realm.name, people_of(realm.directory))
        if of_people:
            match decode(row, system):
                case PrincipalChanged(principal):
                    people[system.spelled(principal)] = row
                case MembershipChanged(membership):
                    people[MembershipRow(*map(system.spelled, membership))] = row
        elif row.scope == realm.name and _is_published(row):
            yield _event(row, row.kind, json.loads(row.key), row.op, row.row)
    if people:
        yield from _people(reading, realm, people)


def _is_published(row: FeedRow) -> bool:
    return row.kind in KINDS and (row.kind != REALM or row.op == DROP)


def _people(
    reading: Reading, realm: Realm, touched: Mapping[Principal | MembershipRow, FeedRow]
) -> Iterator[dict[str, Any]]:
    people = People()
    for scope in (realm.name, people_of(realm.directory)):
        facts = reading.people(scope)
        people |= People(frozenset(facts.principals), frozenset(facts.memberships))
    people = people.spelled(load_system(realm.model, realm.settings, realm.text))
    for touched_row, row in touched.items():
        effect = (
            PrincipalChanged(touched_row, touched_row in people.principals)
            if isinstance(touched_row, Principal)
            else MembershipChanged(touched_row, touched_row in people.memberships)
        )
        kind, key, op, after = encode(effect)
        yield _event(row, kind, json.loads(key), op, after)


def _event(row: FeedRow, kind: str, key: object, op: str, after: str | None) -> dict[str, Any]:
    row_after = None if after is None else json.loads(after)
    return {
        **{"revision": row.revision, "seq": row.seq, "kind": kind},
        **{"key": key, "op": op, "row": row_after},
    }
