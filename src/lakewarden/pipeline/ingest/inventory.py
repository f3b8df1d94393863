"""Combines a source with directories that were ingested before, which supply the entities.

Policies often come without the tables that they are about: an export of Ranger has patterns, and
the database or the catalog has the names. An *inventory* is an ingested directory of the same
model. Its entities, placements, attributes and relations are always taken; its owners, its people
(principals, memberships, and the entities that they are) or its statements on request. So a realm
can combine several sources, each with its part.

No source takes precedence: if two of them contradict each other, the whole run is rejected, with
every conflict. The rows of all sources are merged in this process.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import IMPLIED, ROLE
from lakewarden.kernel.statement import Effect, Statement
from lakewarden.kernel.statement_file import write_statement
from lakewarden.models.own import ModelText
from lakewarden.pipeline.directory import Loaded, load
from lakewarden.pipeline.directory_manifest import Input
from lakewarden.pipeline.ingest.source import Distant, OfModelText, Progress, Reading, Source
from lakewarden.pipeline.storage.location import Location
from lakewarden.service.defaults import default_statements
from lakewarden.service.source_row import (
    CELLS,
    DELETED,
    PLACEMENTS,
    STATEMENTS,
    Row,
    attribute_row,
    entity_row,
    error_row,
    membership_row,
    note_row,
    owner_row,
    placement_row,
    principal_row,
    relation_row,
    statement_row,
)
from lakewarden.service.system import System

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

INVENTORY: Final = "inventory"
"""Prefix of the options that name the inventories of a combined directory."""

OWNERS: Final = "owners"
PEOPLE: Final = "people"
MEMBERSHIPS: Final = "memberships"
PARTS: Final = (OWNERS, PEOPLE, STATEMENTS)
"""The optional parts of an inventory, beside its entities."""


@runtime_checkable
class Resolving(Protocol):
    """A source with patterns, which are resolved to known entities."""

    def with_entities(self, entities: Sequence[Entity]) -> Source:
        """The same source, with its patterns also matching these entities.

        Raises `BadInput` if the source cannot distinguish two of them.
        """
        ...


@dataclass(frozen=True, slots=True)
class Inventory:
    """An ingested directory, and the optional `parts` of it to take."""

    path: Location
    parts: frozenset[str] = frozenset()

    def load(self, model: str) -> InventoryRows:
        """The rows for a realm of the model. Raises `BadInput`, see `directory.load`."""
        loaded = load(self.path)
        if loaded.system.model.name != model:
            message = f"is of the model `{loaded.system.model.name}`, what is read of `{model}`"
            raise BadInput(message, where=str(self.path))
        return InventoryRows(self, loaded)


@dataclass(frozen=True, slots=True)
class InventoryRows:
    """The rows of an inventory that are used."""

    inventory: Inventory
    loaded: Loaded

    @property
    def place(self) -> str:
        """Its name in rows and messages."""
        return f"inventory {self.inventory.path}"

    def entities(self) -> Iterator[Entity]:
        """Its entities."""
        return (row.entity for row in self.loaded.facts.entities if self._is_taken(row.entity))

    def _is_taken(self, entity: Entity) -> bool:
        is_principal = self.loaded.system.model.principal_kind(entity) is not None
        return PEOPLE in self.inventory.parts or not is_principal

    def rows(self) -> Iterator[Row]:
        """All rows to take, normalised."""
        facts, place, parts = self.loaded.facts, self.place, self.inventory.parts
        for entity, parent in facts.entities:
            if self._is_taken(entity):
                yield entity_row(entity, place)
                if parent is not None:
                    yield placement_row(entity, parent, place)
        for kind, source, target in facts.relations:
            if self._is_taken(source) and self._is_taken(target):
                yield relation_row(kind, source, target, place)
        yield from (attribute_row(*r, place) for r in facts.attributes if self._is_taken(r.entity))
        if OWNERS in parts:
            yield from (owner_row(*row, place) for row in facts.owners)
        if PEOPLE in parts:
            yield from (principal_row(principal, place) for principal in facts.principals)
            yield from (membership_row(*row, place) for row in facts.memberships)
        if STATEMENTS in parts:
            yield from self._statements()

    def _statements(self) -> Iterator[Row]:
        """Its own statements: defaults are in every realm of the model, except deleted ones."""
        shipped = {statement.id for statement in default_statements(self.loaded.system)}
        left = {*shipped, *self.loaded.manifest.deleted}
        for statement in self.loaded.facts.statements:
            left.discard(statement.id)
            if statement.id not in self.loaded.unstated:
                yield statement_row(write_statement(statement), self.place)
        yield from (Row(DELETED, (id,), self.place) for id in sorted(left))

    def unstated(self) -> Iterator[Statement]:
        """The defaults in force that it does not state itself, if its statements are taken."""
        if STATEMENTS in self.inventory.parts:
            unstated = self.loaded.unstated
            yield from (s for s in self.loaded.facts.statements if s.id in unstated)

    def left(self) -> Iterator[str]:
        """A description of the rows that are not taken, for the report."""
        for part, count in self._counts_left().items():
            yield f"{part} of the {self.place}: {count:,} rows (`={part}` takes them)"

    def left_out(self) -> Iterator[str]:
        """What of it is not taken, by part."""
        return (f"{part}: {count:,} rows" for part, count in self._counts_left().items())

    def _counts_left(self) -> dict[str, int]:
        facts, parts = self.loaded.facts, self.inventory.parts
        counts = {
            OWNERS: len(facts.owners),
            PEOPLE: len(facts.principals) + len(facts.memberships),
            STATEMENTS: sum(1 for _ in self._statements()),
        }
        return {part: count for part, count in counts.items() if count and part not in parts}


@dataclass(slots=True)
class Merged:
    """A source combined with inventories, see the module docstring."""

    source: Source
    inventories: Sequence[Inventory]
    _known: list[InventoryRows] = field(default_factory=list)

    @property
    def kind(self) -> str:
        return self.source.kind

    @property
    def model(self) -> str:
        return self.source.model

    @property
    def model_text(self) -> ModelText | None:
        return self.source.model_text if isinstance(self.source, OfModelText) else None

    @property
    def options(self) -> Mapping[str, str]:
        parts = {
            f"{INVENTORY} {number}": ",".join(("entities", *sorted(inventory.parts)))
            for number, inventory in enumerate(self.inventories, 1)
        }
        return {**self.source.options, **parts}

    def inputs(self) -> Sequence[Input] | None:
        """See `Source`."""
        known = self.source.inputs()
        return None if known is None else [*known, *self._inputs()]

    def _inputs(self) -> Iterator[Input]:
        for number, rows in enumerate(self._inventory_rows(), 1):
            lines = sorted(json.dumps((row.table, *row.cells)) for row in rows.rows())
            sha256 = hashlib.sha256("\n".join(lines).encode()).hexdigest()
            yield Input(f"inventory {number}: realm {rows.loaded.manifest.realm}", sha256)

    def _inventory_rows(self) -> Sequence[InventoryRows]:
        if not self._known:
            self._known += (inventory.load(self.model) for inventory in self.inventories)
        return self._known

    def read(
        self, spark: SparkSession, system: System, scratch: Location, progress: Progress
    ) -> Reading:
        """See `Source`."""
        loaded = self._inventory_rows()
        self._check_text(system)
        for inventory in loaded:
            check_settings(inventory, system.model)
        source = self.source
        if isinstance(source, Resolving):
            source = source.with_entities(
                [entity for inventory in loaded for entity in inventory.entities()]
            )
        reading = source.read(spark, system, scratch, progress)
        parts = [
            (source.kind, _collected(reading.rows)),
            *((t.place, list(t.rows())) for t in loaded),
        ]
        unstated = {t.place: list(t.unstated()) for t in loaded}
        return Reading(
            rows=list(merged(parts, unstated)),
            inputs=[*reading.inputs, *self._inputs()] if reading.inputs else (),
            ignored=reading.ignored,
            not_read=[
                *reading.not_read,
                *(note for inventory in loaded for note in inventory.left()),
            ],
            described=reading.described,
        )

    def _check_text(self, system: System) -> None:
        for inventory in self._inventory_rows():
            if inventory.loaded.system.text != system.text:
                message = f"is of another edition of the model `{system.model.name}`"
                raise BadInput(message, where=str(inventory.inventory.path))


def check_settings(rows: InventoryRows, model: Model) -> None:
    """Rejects statements that were written under other settings, where they mean something else."""
    theirs = rows.loaded.system.model.settings
    if STATEMENTS in rows.inventory.parts and theirs != model.settings:
        differing = sorted(k for k in model.settings if theirs[k] != model.settings[k])
        named = ", ".join(f"`{name} = {theirs[name]}`" for name in differing)
        raise BadInput(f"its statements are under {named}", where=str(rows.inventory.path))


@dataclass(frozen=True, slots=True)
class MergedDistant:
    """A running system combined with inventories."""

    source: Distant
    inventories: Sequence[Inventory]

    @property
    def kind(self) -> str:
        return self.source.kind

    @property
    def model(self) -> str:
        return self.source.model

    @property
    def place(self) -> str:
        return self.source.place

    def fetch(self, folder: Location, progress: Progress) -> Sequence[str]:
        """See `Distant`."""
        return self.source.fetch(folder, progress)

    def copied(self, folder: Location, missing: Sequence[str]) -> Source:
        """See `Distant`."""
        return Merged(self.source.copied(folder, missing), self.inventories)


def with_inventories(
    source: Source | Distant, inventories: Sequence[Inventory]
) -> Source | Distant:
    """The source combined with the inventories, if there are any."""
    if not inventories:
        return source
    if isinstance(source, Distant):
        return MergedDistant(source, inventories)
    return Merged(source, inventories)


def merged(
    parts: Iterable[tuple[str, Sequence[Row]]],
    unstated: Mapping[str, Sequence[Statement]] = MappingProxyType({}),
) -> Iterator[Row]:
    """The rows of all parts without duplicates, and an error for each contradiction between parts.

    Contradictions within one part are left to the checks of every run. A role with different
    members in two parts is noted: it is one role here, and the members of each part get the other's
    grants to it. So is a grant to everybody that reaches users of other parts. `unstated` are the
    defaults in force in a part that does not state them itself. If another part has deleted such a
    default, one that only allows is deleted, with a note; any other is an error.
    """
    yielded: set[tuple[str, tuple[str, ...]]] = set()
    values_by_key: dict[tuple[str, ...], tuple[str, frozenset[str]]] = {}
    holders: dict[str, dict[str, set[tuple[str, ...]]]] = {}
    stated: dict[str, dict[str, bool]] = {}
    everybody = _Everybody()
    for name, rows in parts:
        mine: dict[tuple[str, ...], set[str]] = {}
        for row in rows:
            if row.reason:
                yield row
                continue
            everybody.add(name, row)
            if row.table == MEMBERSHIPS and row.cells[2] == ROLE:
                of_role = holders.setdefault(row.cells[3], {})
                of_role.setdefault(name, set()).add(row.cells[:2])
            if row.table in (STATEMENTS, DELETED):
                is_stated = row.table == STATEMENTS
                of_statement = stated.setdefault(row.cells[0], {})
                of_statement[name] = is_stated or of_statement.get(name, False)
            exclusive = _exclusive(row)
            if exclusive is not None:
                mine.setdefault(exclusive[0], set()).add(exclusive[1])
            if (row.table, row.cells) not in yielded:
                yield row
        yielded |= {(row.table, row.cells) for row in rows if not row.reason}
        for key, values in mine.items():
            first, known = values_by_key.setdefault(key, (name, frozenset(values)))
            if known != values:
                yield error_row(_conflict(key, known, values), f"{first} and {name}")
    for id, by_part in stated.items():
        if len({*by_part.values()}) > 1:
            text = f"the statement `{id}` is a default that one has deleted, and another one states"
            yield error_row(text, " and ".join(by_part))
    yield from _deleted_elsewhere(stated, unstated)
    for role, members in holders.items():
        if len(set(map(frozenset, members.values()))) > 1:
            text = f"has other members in {' and in '.join(members)}, and is one role here"
            yield note_row(f"role:{role}", text)
    yield from everybody.notes()


class _Everybody:
    """The users of each part, by the implied set of which they are members, and grants to it."""

    def __init__(self) -> None:
        self._users: dict[str, dict[str, set[str]]] = {}
        self._granting: dict[str, set[str]] = {}

    def add(self, part: str, row: Row) -> None:
        """Adds a row of a part."""
        if row.table == MEMBERSHIPS and row.cells[2] == IMPLIED:
            by_part = self._users.setdefault(row.cells[3], {})
            by_part.setdefault(part, set()).add(row.cells[1])
        elif row.table == STATEMENTS and '"members:' in row.cells[1]:
            statement = json.loads(row.cells[1])
            if statement.get("effect", "allow") == Effect.ALLOW.value:
                for name in statement.get("to", ()):
                    self._granting.setdefault(name, set()).add(part)

    def notes(self) -> Iterator[Row]:
        """A note for each part whose grants to everybody reach users of other parts."""
        for implied, parts in sorted(self._granting.items()):
            users = self._users.get(implied, {})
            known = set[str]().union(*users.values())
            for part in sorted(parts):
                others = len(known - users.get(part, set()))
                if others:
                    text = f"grants of {part} to everybody reach {others:,} users of other parts"
                    yield note_row(implied, text)


def _deleted_elsewhere(
    stated: Mapping[str, Mapping[str, bool]], unstated: Mapping[str, Sequence[Statement]]
) -> Iterator[Row]:
    """Handles defaults that some parts have deleted and the others have, but do not state."""
    keepers: dict[Statement, list[str]] = {}
    for name, defaults in unstated.items():
        for default in defaults:
            keepers.setdefault(default, []).append(name)
    for default, keeping in keepers.items():
        by_part = stated.get(default.id, {})
        if not by_part or any(by_part.values()):
            continue  # not deleted, or `merged` reports the conflict
        deleting = " and ".join(by_part)
        if default.effect is Effect.ALLOW:
            text = f"is a default deleted in {deleting}, and so deleted here"
            yield note_row(f"statement:{default.id}", f"{text}; {' and '.join(keeping)} had it")
        else:
            text = f"the statement `{default.id}` is a default that one has deleted"
            yield error_row(f"{text}, and that limits access", " and ".join((*by_part, *keeping)))


def _exclusive(row: Row) -> tuple[tuple[str, ...], str] | None:
    """For a fact that only one source may decide: its subject, and its value."""
    cells = row.cells
    if row.table == PLACEMENTS:
        return ("in", *cells[:2]), ":".join(cells[2:])
    if row.table == "attributes":
        return ("attribute", *cells[:3]), cells[3]
    if row.table == STATEMENTS:
        return ("statement", cells[0]), cells[1]
    return None


def _conflict(key: tuple[str, ...], first: Iterable[str], second: Iterable[str]) -> str:
    fact, *about = key
    if fact == "statement":
        return f"the statement `{about[0]}` has two contents: rename one"
    subject = ":".join(about[:2])
    of = "is in" if fact == "in" else f"has as {about[2]}"
    values = [", ".join(f"`{value}`" for value in sorted(values)) for values in (first, second)]
    return f"{subject} {of} {values[0]} in one, {values[1]} in the other"


def _collected(rows: DataFrame | Sequence[Row]) -> Sequence[Row]:
    """The rows, on the driver."""
    if isinstance(rows, Sequence):
        return rows
    named = ("table", "place", "reason", "detail")
    return [
        Row(
            row["table"],
            tuple(row[cell] for cell in CELLS if row[cell] is not None),
            row["place"] or "",
            row["reason"] or "",
            row["detail"] or "",
        )
        for row in rows.select(*named, *CELLS).toLocalIterator()
    ]
