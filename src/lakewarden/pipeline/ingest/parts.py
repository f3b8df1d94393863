"""A realm combined from parts: ingested directories, each with its keeper and what it supplies.

    [parts.tables]
    directory = "tables"             # written by `lakewarden pipeline ingest`; relative to the file
    keeper = "group:platform"        # the user or group that is responsible for it
    takes = ["entities", "owners"]   # of entities, owners, people, statements

A part is renewed separately, by its own ingestion; the realm then uses its newest version. No part
takes precedence: if two parts contradict each other, the run is rejected, with the keepers to
contact.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import GROUP, USER
from lakewarden.kernel.toml_section import Section
from lakewarden.models.own import ModelText
from lakewarden.pipeline.directory_manifest import Input, read_manifest
from lakewarden.pipeline.ingest.inventory import (
    OWNERS,
    PEOPLE,
    Inventory,
    InventoryRows,
    check_settings,
    merged,
)
from lakewarden.pipeline.ingest.source import Progress, Reading
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.toml_file import read_toml
from lakewarden.service.source_row import PLACEMENTS, STATEMENTS, Row
from lakewarden.service.system import System

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENTITIES: Final = "entities"
TAKES: Final = (ENTITIES, OWNERS, PEOPLE, STATEMENTS)
"""The values of `takes`."""

_ABOUT_ENTITIES: Final = frozenset({ENTITIES, PLACEMENTS, "relations", "attributes"})


@dataclass(frozen=True, slots=True)
class Part:
    """An ingested directory, its keeper, and what is taken from it."""

    name: str
    directory: Location
    keeper: str
    takes: frozenset[str]

    @property
    def label(self) -> str:
        """Its name in messages and in the manifest."""
        return f"part {self.name} (keeper {self.keeper})"

    def load(self, model: str) -> PartRows:
        """Its rows. Raises `BadInput` if the directory has another model, or is none."""
        inventory = Inventory(self.directory, self.takes - {ENTITIES})
        return PartRows(self, inventory.load(model))


@dataclass(frozen=True, slots=True)
class PartRows:
    """The rows of a part that are used."""

    part: Part
    source: InventoryRows

    def rows(self) -> Iterator[Row]:
        """All rows to take, normalised."""
        model = self.source.loaded.system.model
        for row in self.source.rows():
            if ENTITIES in self.part.takes or _is_of_people(row, model):
                yield row._replace(place=self.part.label)

    def left_out(self) -> Iterator[str]:
        """The rows that are not taken, by the words of `takes`."""
        if ENTITIES not in self.part.takes:
            model = self.source.loaded.system.model
            count = sum(not _is_of_people(row, model) for row in self.source.rows())
            if count:
                yield f"{ENTITIES}: {count:,} rows"
        yield from self.source.left_out()


def _is_of_people(row: Row, model: Model) -> bool:
    """Whether a row is about no entity, or only about one that is a principal."""
    if row.table not in _ABOUT_ENTITIES:
        return True
    return row.table != "relations" and model.principal_kind(Entity(*row.cells[:2])) is not None


@dataclass(slots=True)
class Parts:
    """The parts of a file as one source."""

    path: Location
    parts: Sequence[Part]
    model: str
    model_text: ModelText | None
    kind: str = "parts"
    _loaded: list[PartRows] = field(default_factory=list)

    @property
    def options(self) -> Mapping[str, str]:
        return {
            f"part {part.name}": f"{','.join(sorted(part.takes))}; keeper {part.keeper}"
            for part in self.parts
        }

    def inputs(self) -> Sequence[Input]:
        """See `Source`."""
        return [Input(one.part.name, _digest(one)) for one in self._rows()]

    def _rows(self) -> Sequence[PartRows]:
        if not self._loaded:
            self._loaded += (part.load(self.model) for part in self.parts)
        return self._loaded

    def read(
        self, spark: SparkSession, system: System, scratch: Location, progress: Progress
    ) -> Reading:
        """See `Source`."""
        parts, not_read, unstated = [], [], {}
        for done, one in enumerate(self._rows(), 1):
            _check(one, system, str(self.path))
            parts.append((one.part.label, list(one.rows())))
            unstated[one.part.label] = list(one.source.unstated())
            not_read += [f"{text}, of {one.part.label}" for text in one.left_out()]
            progress("read", done, len(self.parts) + 1, one.part.label)
        return Reading(list(merged(parts, unstated)), not_read=not_read)


def _check(one: PartRows, system: System, where: str) -> None:
    if one.source.loaded.system.text != system.text:
        message = f"{one.part.label} is of another edition of the model `{system.model.name}`"
        raise BadInput(message, where=where)
    if system.principal(one.part.keeper).kind not in (USER, GROUP):
        raise BadInput("expected a user or group", where=f"{where}: parts.{one.part.name}.keeper")
    check_settings(one.source, system.model)


def _digest(one: PartRows) -> str:
    lines = sorted(json.dumps((row.table, *row.cells)) for row in one.rows())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def read_parts(path: Location) -> Parts:
    """The parts that a TOML file declares. Raises `BadInput`."""
    file = read_toml(path)
    parts = [_part(name, section, path.parent) for name, section in file.named("parts").items()]
    file.close()
    if not parts:
        raise BadInput("expected a table `[parts.NAME]` for each part", where=str(path))
    manifest = read_manifest(parts[0].directory)
    return Parts(path, parts, manifest.model, manifest.model_text)


def _part(name: str, section: Section, folder: Location) -> Part:
    part = Part(
        name,
        folder / section.text("directory"),
        section.text("keeper"),
        frozenset(section.choices("takes", TAKES)),
    )
    section.close()
    return part
