"""An index made without Spark, and later changes of its realm, as files of a feed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from tests.pipeline.stream.realms import Estate
from tests.pipeline.stream.worlds import fill, happen
from tests.service.opened_services import opened

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BITS = 5


def write_followed(folder: Path, seed: int = 1) -> None:
    """Writes the folders `index` and `feed`: some writes to a random realm, in a few files."""
    folder.mkdir(parents=True)
    with opened(folder, "datahub") as service:
        estate = Estate(service, folder, cast("SparkSession", None))  # not used here
        fill(estate, seed)
        estate.start(_BITS)
        for step in range(3):
            happen(estate, seed + step, 3)
            estate.lines()
