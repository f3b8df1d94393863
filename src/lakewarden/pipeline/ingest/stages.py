"""The finished stages of a run, stored to spare a run after a kill from repeating them.

Each stage has a folder for its outputs and, beside it and written last, a marker:

    SCRATCH/NAME/…       the outputs of the stage
    SCRATCH/NAME.json    the digest of the input, the files with their sizes, the counts

A stage counts as finished if its marker was made from the same input (the same files, options,
model and release) and every file is still there with the same size. Everything else in the folder
is removed before the stage begins.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from lakewarden import __version__
from lakewarden.pipeline.job_spans import stage_span
from lakewarden.pipeline.session import stage_of
from lakewarden.pipeline.storage.files import (
    files_below,
    name_below,
    remove_tree,
    size_of,
    write_atomically,
)
from lakewarden.pipeline.storage.location import Location

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMAT: Final = 1
"""Increased when markers, or the outputs of stages, change their meaning."""

FETCHED: Final = 3_600.0
"""How long, in seconds, a copy of a running system may be reused."""

Counts = Mapping[str, Any]
"""The result of a stage, as a JSON object."""


def digest(*parts: object) -> str:
    """One digest of everything that a stage's result depends on, and of this release."""
    text = json.dumps([FORMAT, __version__, *parts], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(slots=True)
class Stages:
    """The stages of one run in the folder `scratch`; `seconds` is the duration of each.

    `reused` are those that an earlier run had finished. Spark's work is labelled with their names.
    """

    scratch: Location
    spark: SparkSession | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    reused: list[str] = field(default_factory=list)

    def run(
        self,
        name: str,
        key: str | None,
        work: Callable[[Location], Counts],
        *,
        place: Location | None = None,
        lasts: float | None = None,
    ) -> Counts:
        """The counts of the stage, from this run or an earlier one on the same input.

        `key` is the digest of the input, None if it is not known beforehand. `work` gets the empty
        folder, or `place` if it is given. `lasts`: for how many seconds an earlier result may be
        reused.
        """
        with stage_span(name) as span:
            span.counts = self._run(name, key, work, place, lasts)
            span.reused = name in self.reused
            return span.counts

    def _run(
        self,
        name: str,
        key: str | None,
        work: Callable[[Location], Counts],
        place: Location | None,
        lasts: float | None,
    ) -> Counts:
        folder = self.scratch / name if place is None else place
        if key is not None:
            marker = self._finished(name, key, folder, lasts)
            if marker is not None:
                self.reused.append(name)
                self.seconds[name] = marker["seconds"]
                counts: Counts = marker["counts"]
                return counts
        self._marker(name).unlink(missing_ok=True)
        remove_tree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        began = time.monotonic()
        with nullcontext() if self.spark is None else stage_of(self.spark, "ingest", name):
            counts = work(folder)
        self.seconds[name] = round(time.monotonic() - began, 3)
        if key is not None:
            self._mark(name, key, folder, counts)
        return counts

    def _marker(self, name: str) -> Location:
        return self.scratch / f"{name}.json"

    def _finished(
        self, name: str, key: str, folder: Location, lasts: float | None
    ) -> dict[str, Any] | None:
        try:
            marker: dict[str, Any] = json.loads(self._marker(name).read_text("utf-8"))
        except (OSError, ValueError):
            return None
        if marker.get("key") != key or marker.get("files") != _files(folder):
            return None
        age = time.time() - marker["at"]
        return None if lasts is not None and not 0 <= age <= lasts else marker

    def _mark(self, name: str, key: str, folder: Location, counts: Counts) -> None:
        marker = {
            "key": key,
            "at": time.time(),
            "seconds": self.seconds[name],
            "files": _files(folder),
            "counts": counts,
        }
        write_atomically(self._marker(name), json.dumps(marker))


def _files(folder: Location) -> dict[str, int]:
    """The size of every file below the folder."""
    return {name_below(folder, file): size_of(file) for file in files_below(folder)}
