"""A realm of our own store, as it is now or as it was at a revision.

Reads everything that decides: rows, statements, and the people of the realm's directory, spelt in
the realm's form. An older revision is the sum of the change feed up to it, so it is known as long
as the feed reaches back to the beginning. Defaults that cannot be changed are left out, because
every directory has them; deleted ones stay deleted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.statement_file import write_statement
from lakewarden.models.own import ModelText
from lakewarden.pipeline.directory_manifest import Input
from lakewarden.pipeline.ingest.source import Progress
from lakewarden.pipeline.ingest.source import Reading as Given
from lakewarden.pipeline.storage.location import Location
from lakewarden.service.index_catch_up import history_mark
from lakewarden.service.ports import FeedTruncated, Reading
from lakewarden.service.realm import CONTROL, Realm, people_of
from lakewarden.service.replay import Replay, ScopeTables
from lakewarden.service.source_row import (
    DELETED,
    Row,
    attribute_row,
    entity_row,
    membership_row,
    owner_row,
    placement_row,
    principal_row,
    relation_row,
    statement_row,
)
from lakewarden.service.state import People
from lakewarden.service.system import System, load_system

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Snapshot(NamedTuple):
    """A realm as it was at a revision, with the people of its directory.

    `mark` identifies the store and its state, see `lakewarden.service.index_catch_up.mark`.
    """

    realm: Realm
    revision: int
    facts: Facts
    mark: str


def snapshot(reading: Reading, name: str = "", revision: int | None = None) -> Snapshot:
    """A realm of a store, at the newest revision or another; without a name, the only realm.

    Raises `BadInput` if no name is given and there are several, or if the revision is not known
    (any more), and `Unknown` for a realm that does not exist.
    """
    newest = reading.revision
    if revision is not None and not 0 < revision <= newest:
        raise BadInput(f"expected a revision from 1 to {newest}", where="--revision")
    if revision is None or revision == newest:
        realm = _chosen(name, {realm.name: realm for realm in reading.realms()})
        system = load_system(realm.model, realm.settings, realm.text)
        people = reading.facts(people_of(realm.directory), None)
        facts = _with(reading.facts(realm.name, system), people)
        return Snapshot(realm, newest, facts, history_mark(reading))
    return _as_of(reading, name, revision)


def _chosen(name: str, realms: Mapping[str, Realm]) -> Realm:
    governed = sorted(set(realms) - {CONTROL})
    listed = ", ".join(governed)
    if not name and len(governed) != 1:
        raise BadInput(f"name one of the realms with --realm: {listed or 'there is none'}")
    if name and name not in realms:
        raise Unknown("realm", name, f"there are: {listed}")
    return realms[name or governed[0]]


def _with(own: Facts, people: Facts) -> Facts:
    """The realm's facts, with a directory's people as stored."""
    principals = dict.fromkeys((*own.principals, *people.principals))
    memberships = dict.fromkeys((*own.memberships, *people.memberships))
    return replace(own, principals=tuple(principals), memberships=tuple(memberships))


def _as_of(reading: Reading, name: str, revision: int) -> Snapshot:
    """The sum of the change feed up to the revision."""
    try:
        feed = reading.feed(0)
    except FeedTruncated:
        message = f"revision {revision} is not known any more: the change feed was pruned"
        raise BadInput(f"{message}; leave --revision out for the newest") from None
    replay = Replay()
    for row in takewhile(lambda row: row.revision <= revision, feed):
        replay.apply(row)
    realm = _chosen(name, replay.realms)
    own, people = (
        replay.scopes.get(scope, ScopeTables()).facts()
        for scope in (realm.name, people_of(realm.directory))
    )
    return Snapshot(realm, revision, _with(own, people), history_mark(reading, revision))


@dataclass(slots=True)
class Stored:
    """A realm of the store that `place` names, without any secret."""

    kind: ClassVar[str] = "store"
    place: str
    snapshot: Snapshot
    _rows: list[Row] = field(default_factory=list)

    @property
    def model(self) -> str:
        return self.snapshot.realm.model

    @property
    def model_text(self) -> ModelText | None:
        """The text of the realm's model, if it is not a shipped one."""
        return self.snapshot.realm.text

    @property
    def settings(self) -> Mapping[str, str]:
        """The settings of the realm, under which its rows are read."""
        return self.snapshot.realm.settings

    @property
    def options(self) -> Mapping[str, str]:
        """The point in the store from which an index of the directory catches up."""
        snapshot = self.snapshot
        return {
            "realm": snapshot.realm.name,
            "revision": str(snapshot.revision),
            "store": snapshot.mark,
        }

    @property
    def name(self) -> str:
        """The store and the realm, as named in reports."""
        return f"{self.place}#{self.snapshot.realm.name}"

    def inputs(self) -> Sequence[Input]:
        """The digest of the realm's rows, independent of their order."""
        lines = sorted(json.dumps((row.table, *row.cells)) for row in self._all())
        return [Input(self.name, hashlib.sha256("\n".join(lines).encode()).hexdigest())]

    def read(
        self, spark: SparkSession, system: System, scratch: Location, progress: Progress
    ) -> Given:
        """See `Source`. The rows are on the driver already."""
        progress("read", 0, 1, f"revision {self.snapshot.revision}")
        not_read = [f"read at revision {self.snapshot.revision} of the store"]
        not_read.append("documents, tokens, secrets and links: they decide nothing in the realm")
        return Given(self._all(), not_read=not_read)

    def _all(self) -> list[Row]:
        if not self._rows:
            system = load_system(self.model, self.settings, self.model_text)
            self._rows += rows(self.snapshot, system, self.name)
        return self._rows


def rows(snapshot: Snapshot, system: System, place: str) -> Iterator[Row]:
    """The snapshot as normalised rows, with people spelled in the form of the realm's system."""
    facts = snapshot.facts
    for entity, parent in facts.entities:
        yield entity_row(entity, place)
        if parent is not None:
            yield placement_row(entity, parent, place)
    yield from (relation_row(*row, place) for row in facts.relations)
    yield from (attribute_row(*row, place) for row in facts.attributes)
    yield from (owner_row(*row, place) for row in facts.owners)
    people = People(frozenset(facts.principals), frozenset(facts.memberships)).spelled(system)
    yield from (principal_row(principal, place) for principal in sorted(people.principals))
    yield from (membership_row(*row, place) for row in sorted(people.memberships))
    yield from _statements(snapshot, system, place)


def _statements(snapshot: Snapshot, system: System, place: str) -> Iterator[Row]:
    fixed = system.model.immutable_ids
    for statement in snapshot.facts.statements:
        if statement.id not in fixed:
            yield statement_row(write_statement(statement), place)
    for id in sorted(snapshot.realm.deleted):
        yield Row(DELETED, (id,), place)
