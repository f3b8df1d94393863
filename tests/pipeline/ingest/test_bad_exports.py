"""Exports with one bad place each: refused with the place, or ingested without any gain of access.

A place is a cell of a table, a value of a JSON document, or the bytes of a file; KINDS defines the
replacements. A refused export leaves no files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakewarden.kernel.errors import WardenError
from lakewarden.pipeline.ingest.run import ingest
from tests.pipeline.ingest.access_gain import Access, access, gained
from tests.pipeline.ingest.bad_exports import SAMPLES, Sample
from tests.pipeline.ingest.bad_places import KINDS, spoiled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _loaded(
    sample: Sample, export: Mapping[str, bytes], folder: Path, spark: SparkSession
) -> Access | WardenError:
    place = folder / "in"
    place.mkdir(parents=True)
    for file, content in export.items():
        (place / file).write_bytes(content)
    try:
        ingest(sample.open(place), folder / "out", spark=spark)
    except WardenError as error:
        return error
    return access(folder / "out")


def _is_taken(
    name: str, kind: str, turn: int, before: Access, folder: Path, spark: SparkSession
) -> bool:
    """Whether the bad export was ingested, without any gain of access; otherwise it was refused."""
    sample, bad = SAMPLES[name], spoiled(SAMPLES[name].export, kind, turn)
    end = _loaded(sample, bad.export, folder, spark)
    if isinstance(end, WardenError):
        assert bad.file in str(end), (name, kind, turn, str(end))
        assert not (folder / "out" / "manifest.json").exists()
    elif bad.file not in sample.limits:
        assert not gained(before, end), (name, kind, turn, gained(before, end)[:3])
    return not isinstance(end, WardenError)


def _ends(
    name: str, turns: Callable[[int], Sequence[int]], folder: Path, spark: SparkSession
) -> set[bool]:
    """The outcomes of a source's bad exports, with these turns of each kind, by its number."""
    whole = {file: text.encode() for file, text in SAMPLES[name].export.items()}
    before = _loaded(SAMPLES[name], whole, folder / "whole", spark)
    assert not isinstance(before, WardenError)
    return {
        _is_taken(name, kind, turn, before, folder / f"{number}-{turn}", spark)
        for number, kind in enumerate(KINDS)
        for turn in turns(number)
    }


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_an_export_with_one_bad_place_is_refused_or_opens_nothing(
    name: str, unstarted: SparkSession, tmp_path: Path
) -> None:
    own = sorted(SAMPLES).index(name)
    assert _ends(name, lambda n: [n * 3] if n % len(SAMPLES) == own else [], tmp_path, unstarted)


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_each_kind_of_bad_place_in_many_places_is_refused_or_opens_nothing(
    name: str, unstarted: SparkSession, tmp_path: Path
) -> None:
    assert _ends(name, lambda n: range(n % 4, 80, 4), tmp_path, unstarted) == {True, False}
