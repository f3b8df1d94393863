"""A realm of a real store with an index that follows it: its changes, and the expected results."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakewarden.pipeline.index.run import make_index
from lakewarden.pipeline.ingest.run import ingest
from lakewarden.pipeline.ingest.stored import Stored, snapshot
from lakewarden.pipeline.job import Result
from lakewarden.pipeline.product import Manifest
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.stream.events import Line
from lakewarden.pipeline.stream.feed import write_feed
from lakewarden.pipeline.stream.run import follow
from lakewarden.pipeline.stream.source import Feed
from lakewarden.service.actor import SYSTEM
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.effect import Effect
from lakewarden.service.state import People
from lakewarden.service.system import System
from lakewarden.testing.world_draft import NOW
from tests.pipeline.stream import offline
from tests.service.opened_services import LAKE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BITS = 4


@dataclass(frozen=True)
class Estate:
    """A decision service, and the folder for everything made from its realm `lake`."""

    service: DecisionService
    folder: Path
    spark: SparkSession

    @property
    def system(self) -> System:
        return self.service.state.realm(LAKE).system

    @property
    def index(self) -> Path:
        return self.folder / "index"

    @property
    def feed(self) -> Path:
        return self.folder / "feed"

    def start(self, bits: int = BITS) -> None:
        """Makes the index of all stored rows, without Spark; the feed begins here."""
        with self.service.reading() as reading:
            found = snapshot(reading, LAKE)
        known = found.facts
        people = People(frozenset(known.principals), frozenset(known.memberships))
        people = people.spelled(self.system)
        facts = replace(
            known,
            principals=tuple(people.principals),
            memberships=tuple(people.memberships),
        )
        told = {"realm": LAKE, "revision": found.revision, "store": found.mark}
        offline.indexed(self.index, self.system, facts, told, bits)
        self.lines()

    def whole(self, now: float = NOW) -> Manifest:
        """The index of all current rows, made by the jobs `ingest` and `index`."""
        directory = self.folder / "directory"
        with self.service.reading() as reading:
            source = Stored("store", snapshot(reading, LAKE))
        ingest(source, directory, spark=self.spark)
        made = make_index(directory, self.folder / "whole", spark=self.spark, now=now, bits=BITS)
        return made.manifest

    def follow(self, now: float = NOW) -> Result:
        """Lets the index follow all files of the feed; its older versions are not needed."""
        feed = Feed(place=self.feed)
        return follow(feed, self.index, spark=self.spark, now=now, keep=1)

    def happens(self, *effects: Effect, scope: str = LAKE) -> None:
        """One write."""
        self.service.write(SYSTEM, lambda transaction: transaction.change(scope, *effects))

    def lines(self) -> list[Line]:
        """The changes since the last file of the feed, or since the beginning."""
        with self.service.reading() as reading:
            written = write_feed(reading, LAKE, self.feed)
        return [] if written is None else lines_of(written.file)


def lines_of(file: Location) -> list[Line]:
    """The lines of a file with their places."""
    lines = file.read_text("utf-8").split("\n")[:-1]
    return [Line(f"{file.name}: line {number}", line) for number, line in enumerate(lines, 1)]


def alike(manifest: Manifest) -> tuple[dict[str, Any], dict[str, Any]]:
    """The comparable parts of two indexes of the same revision, regardless of their making."""
    return dict(manifest.tables), dict(manifest.facts)
