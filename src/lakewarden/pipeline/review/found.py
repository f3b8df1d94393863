"""What was found in all blocks, put together on the driver: rows as many as classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from numpy.typing import NDArray

from lakewarden.pipeline.review.audience import Audience, People, Telling
from lakewarden.pipeline.review.finding import ASSET, CENSUS, CLASS, GAINS, GONE, RESIDUE
from lakewarden.pipeline.review.question import Chosen
from lakewarden.pipeline.review.residue import Residues, read

Counts = NDArray[np.int64]

At = tuple[str, int]
"""A matter: the type of entities, and the place in that type's agenda."""


@dataclass(frozen=True, slots=True)
class Class:
    """Entities on which a matter has the same answer: how many, and the first one.

    `residue` numbers what is left of the rule there; `key` is its digest.
    """

    key: bytes
    residue: int
    entities: int
    first: int


@dataclass(frozen=True, slots=True)
class Found:
    """The findings of a review.

    `census` counts the entities of each type; `classes` and `gains` are by matter: for each
    principal, on how many entities it is let in by ownership alone. `gone` are users who were
    removed. `names` are those of the first entities of classes.
    """

    people: People
    residues: Residues
    audience: Audience
    census: Mapping[str, int]
    classes: Mapping[At, tuple[Class, ...]]
    gains: Mapping[At, Counts]
    gone: frozenset[int]
    names: Mapping[int, str]


def gathered(folder: Path, people: People, telling: Telling) -> Found:
    """The findings that were written to the folder."""
    rows = ds.dataset(folder, format="parquet")

    def columns(what: int, *names: str) -> Iterator[tuple[Any, ...]]:
        table = rows.to_table(columns=list(names), filter=ds.field("what") == what)
        return zip(*(column.to_pylist() for column in table.columns), strict=True)

    residues, numbers = read(dict(columns(RESIDUE, "key", "text")))
    classes = _classes(rows, numbers)
    gains: dict[At, Counts] = {}
    for type, matter, users, counts in columns(GAINS, "type", "matter", "owners", "counts"):
        size = len(people.acting.principals)
        of_matter = gains.setdefault((type, matter), np.zeros(size, dtype=np.int64))
        of_matter[users] += counts
    census: dict[str, int] = {}
    for type, n in columns(CENSUS, "type", "n"):
        census[type] = census.get(type, 0) + n
    first = {one.first for found in classes.values() for one in found}
    return Found(
        people=people,
        residues=residues,
        audience=Audience(people, residues, telling),
        census=dict(sorted(census.items())),
        classes=classes,
        gains=gains,
        gone=frozenset(user for (user,) in columns(GONE, "id")),
        names=_names(rows, first),
    )


def _classes(rows: ds.Dataset, numbers: Mapping[bytes, int]) -> dict[At, tuple[Class, ...]]:
    by = ["type", "matter", "key"]
    table = rows.to_table(columns=[*by, "n", "id"], filter=ds.field("what") == CLASS)
    table = table.group_by(by).aggregate([("n", "sum"), ("id", "min")])
    table = table.select([*by, "n_sum", "id_min"])
    found: dict[At, list[Class]] = {}
    for type, matter, key, n, id in zip(*(c.to_pylist() for c in table.columns), strict=True):
        found.setdefault((type, matter), []).append(Class(key, numbers[key], n, id))
    ordered = ((at, sorted(found[at], key=lambda c: (-c.entities, c.key))) for at in sorted(found))
    return {at: tuple(classes) for at, classes in ordered}


def _names(rows: ds.Dataset, ids: Iterable[int]) -> dict[int, str]:
    """The names of some entities."""
    wanted = pa.array(sorted(ids), pa.int32())
    chosen = (ds.field("what") == ASSET) & pc.is_in(ds.field("id"), value_set=wanted)
    table = rows.to_table(columns=["id", "text"], filter=chosen)
    return dict(zip(*(column.to_pylist() for column in table.columns), strict=True))


def matters(found: Found, chosen: Chosen) -> Iterator[At]:
    """All that was asked of the types that there are, in order."""
    model = found.people.model
    for type in found.census:
        for number, _ in enumerate(chosen.agenda(model, type).matters):
            yield type, number
