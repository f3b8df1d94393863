"""A dbt project's `manifest.json` as a realm of a system that has relations of databases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

from lakewarden.pipeline.directory_manifest import Input
from lakewarden.pipeline.ingest.dbt_manifest import Dbt, read
from lakewarden.pipeline.ingest.files import find, inputs_of
from lakewarden.pipeline.ingest.source import Progress, Reading
from lakewarden.pipeline.storage.location import Location
from lakewarden.registry import registry
from lakewarden.service.source_row import Row
from lakewarden.service.system import System

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUFFIXES: Final = (".json",)


class DbtMeaning(Protocol):
    """A dbt project, translated to the terms of a system."""

    described: dict[str, tuple[int, int]]
    """By type: the number of entities with a description, and of all; set after `rows`."""

    def rows(self) -> Iterator[Row]:
        """All rows of the project; some occur more than once."""
        ...


@dataclass(frozen=True, slots=True)
class DbtReader:
    """A system's reader of dbt projects.

    `read` takes the options by name. `options` are the supported options with their defaults;
    without those that are `required`, entities cannot be named.
    """

    read: Callable[[Dbt, Mapping[str, str]], DbtMeaning]
    options: Mapping[str, str]
    required: tuple[str, ...] = ()


def readers() -> dict[str, DbtReader]:
    """The readers by model; the first one is the default."""
    readers_by_model = {
        next(iter(system.models)): reader for system, reader in registry().with_part("dbt")
    }
    return dict(sorted(readers_by_model.items(), key=lambda entry: len(entry[1].required)))


@dataclass(frozen=True, slots=True)
class DbtFile:
    """The manifest at a path, read under a model with its options."""

    kind: ClassVar[str] = "dbt-file"
    path: Location
    model: str
    chosen: Mapping[str, str] = field(default_factory=dict)

    @property
    def options(self) -> Mapping[str, str]:
        """The options that the model supports, except empty ones."""
        own = {**readers()[self.model].options, **self.chosen}
        return {name: own[name] for name in readers()[self.model].options if own[name]}

    def inputs(self) -> Sequence[Input]:
        """See `Source`."""
        return inputs_of(find(self.path, SUFFIXES))

    def read(
        self, spark: SparkSession, system: System, scratch: Location, progress: Progress
    ) -> Reading:
        """See `Source`. A manifest is one value, so it is read on the driver."""
        rows: dict[Row, None] = {}
        ignored, described = Counter[str](), dict[str, tuple[int, int]]()
        files = find(self.path, SUFFIXES)
        for done, file in enumerate(files, 1):
            manifest = read(file.path, file.name)
            meaning = readers()[self.model].read(manifest, self.options)
            rows |= dict.fromkeys(meaning.rows())
            ignored += manifest.ignored
            for type, (count, of) in meaning.described.items():
                before = described.get(type, (0, 0))
                described[type] = (before[0] + count, before[1] + of)
            progress("read", done, len(files) + 1, f"{len(manifest.nodes)} relations")
        return Reading(
            list(_deduplicated(rows)), ignored=dict(sorted(ignored.items())), described=described
        )


def _deduplicated(rows: Mapping[Row, None]) -> Iterator[Row]:
    """The rows; if some differ only in their place, only the first of them."""
    yielded: set[Row] = set()
    for row in rows:
        bare = row._replace(place="")
        if bare not in yielded:
            yielded.add(bare)
            yield row
