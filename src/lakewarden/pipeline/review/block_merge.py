"""Merges the findings of all blocks on the driver; the result has about as many rows as classes.

The rows of blocks are read batch by batch, so memory only holds the merged result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.pipeline.review.audience import Audience, People, Telling, condition_text
from lakewarden.pipeline.review.question import Chosen
from lakewarden.pipeline.review.residue import Itself, Owned, Residue, Residues, read
from lakewarden.pipeline.review.row import (
    ASSET,
    CENSUS,
    CLASS,
    GAINS,
    GONE,
    GROUP,
    MOST,
    RESIDUE,
)
from lakewarden.pipeline.review.schemas import MEMBERS, SCHEMAS
from lakewarden.pipeline.storage.dataset import dataset, datasets
from lakewarden.pipeline.storage.location import Location

Counts = NDArray[np.int64]

_WAITING: Final = 1 << 17
"""How many rows are collected before they are merged into the existing groups."""

At = tuple[str, int]
"""A matter: the type of entities, and the place in that type's agenda."""


@dataclass(frozen=True, slots=True)
class Class:
    """Entities on which a matter has the same answer: their number, and the first one.

    `residue` is the number of the residual rule; `key` is its digest.
    """

    key: bytes
    residue: int
    entities: int
    first: int


@dataclass(frozen=True, slots=True)
class Group:
    """Entities of one type in `container`, for a matter with too many classes.

    `some` are the users whom statements allow on any of them, `every` those allowed on all of them;
    `atoms` are the residues that occur there.
    """

    key: bytes
    container: str | None
    entities: int
    first: int
    some: BitMap
    every: BitMap
    atoms: frozenset[Residue]

    @property
    def opens(self) -> tuple[str, ...]:
        """What may allow additional users: owning, or being, the entity at a given place."""
        own = (atom for atom in self.atoms if isinstance(atom, (Owned, Itself)))
        return tuple(sorted({condition_text(atom) for atom in own}))


@dataclass(frozen=True, slots=True)
class MergedFindings:
    """The findings of a review.

    `census` counts the entities of each type. `classes` and `gains` are by matter; `gains` has for
    each principal the number of entities on which ownership alone allows it (for `coarse` matters,
    an upper bound). `removed_users` are ids of users. `names` are those of the first entities of
    classes and groups.
    """

    people: People
    residues: Residues
    audience: Audience
    census: Mapping[str, int]
    classes: Mapping[At, tuple[Class, ...]]
    gains: Mapping[At, Counts]
    removed_users: frozenset[int]
    names: Mapping[int, str]
    coarse: frozenset[At]
    rows: ds.Dataset
    numbers: Mapping[bytes, int]

    def groups(self, at: At) -> tuple[Group, ...]:
        """The groups of a coarse matter; read again on each call, because all would be too many."""
        names = ("container", "key", "n", "id", "users", "every", "keys")
        by_key: dict[bytes, Group] = {}
        for container, key, n, id, users, every, keys in _columns(
            self.rows, _of(GROUP, at), *names
        ):
            atoms = (self.residues.leaves(self.numbers[atom]) for atom in keys)
            group = Group(
                key=key,
                container=container,
                entities=n,
                first=id,
                some=BitMap.deserialize(users),
                every=BitMap.deserialize(every),
                atoms=frozenset[Residue]().union(*atoms),
            )
            by_key[key] = _together(by_key[key], group) if key in by_key else group
        return tuple(sorted(by_key.values(), key=lambda group: (-group.entities, group.key)))


def _together(first: Group, second: Group) -> Group:
    """A group whose parts lie in several blocks."""
    return Group(
        key=first.key,
        container=first.container,
        entities=first.entities + second.entities,
        first=min(first.first, second.first),
        some=first.some | second.some,
        every=first.every & second.every,
        atoms=first.atoms | second.atoms,
    )


def _of(kind: int, at: At) -> ds.Expression:
    type, matter = at
    fields = ds.field("type") == type, ds.field("matter") == matter
    return (ds.field("what") == kind) & fields[0] & fields[1]


def _columns(rows: ds.Dataset, chosen: ds.Expression, *names: str) -> Iterator[tuple[Any, ...]]:
    for batch in rows.to_batches(columns=list(names), filter=chosen):
        yield from _cells(batch)


def _cells(rows: pa.Table | pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in rows.columns), strict=True)


def grouped(
    rows: ds.Dataset, chosen: ds.Expression, by: Sequence[str], aggregates: Mapping[str, str]
) -> pa.Table:
    """Groups of the chosen rows with equal cells in the columns `by`, in order of first occurrence.

    `aggregates` are the functions for other columns of a group: `sum` or `min`.
    """
    names = [*by, *aggregates]
    parts = [pa.schema([rows.schema.field(name) for name in names]).empty_table()]
    waiting = 0
    for batch in rows.to_batches(columns=names, filter=chosen):
        parts.append(pa.Table.from_batches([batch]))
        waiting += len(batch)
        # At least as many rows as groups: each merge then at most doubles the work.
        if waiting >= max(_WAITING, len(parts[0])):
            parts, waiting = [_grouped(parts, by, aggregates)], 0
    return _grouped(parts, by, aggregates)


def _grouped(
    parts: Sequence[pa.Table], by: Sequence[str], aggregates: Mapping[str, str]
) -> pa.Table:
    # With threads, the order of groups would vary.
    groups = pa.concat_tables(parts).group_by(list(by), use_threads=False)
    table = groups.aggregate(list(aggregates.items()))
    found = [f"{column}_{function}" for column, function in aggregates.items()]
    return table.select([*by, *found]).rename_columns([*by, *aggregates])


def gathered(
    folders: Iterable[Location], people: People, telling: Telling, coarse: frozenset[At]
) -> MergedFindings:
    """The findings in the folders; `coarse` are the matters to view by groups."""
    rows = datasets(folders)

    def columns(kind: int, *names: str) -> Iterator[tuple[Any, ...]]:
        return _columns(rows, ds.field("what") == kind, *names)

    texts = grouped(rows, ds.field("what") == RESIDUE, ["key", "text"], {})
    residues, numbers = read(dict(_cells(texts)))
    classes = _classes(rows, numbers, coarse)
    gains: dict[At, Counts] = {}
    for kind in (GAINS, MOST):
        for type, matter, users, counts in columns(kind, "type", "matter", "owners", "counts"):
            if ((type, matter) in coarse) == (kind == MOST):
                size = len(people.memberships.principals)
                of_matter = gains.setdefault((type, matter), np.zeros(size, dtype=np.int64))
                of_matter[users] += counts
    census: dict[str, int] = {}
    for type, n in columns(CENSUS, "type", "n"):
        census[type] = census.get(type, 0) + n
    first = {judged_class.first for of_type in classes.values() for judged_class in of_type}
    first.update(id for (id,) in columns(GROUP, "id"))
    return MergedFindings(
        people=people,
        residues=residues,
        audience=Audience(people, residues, telling),
        census=dict(sorted(census.items())),
        classes=classes,
        gains=gains,
        removed_users=frozenset(user for (user,) in columns(GONE, "id")),
        names=_names(rows, first),
        coarse=coarse,
        rows=rows,
        numbers=numbers,
    )


def _classes(
    rows: ds.Dataset, numbers: Mapping[bytes, int], coarse: frozenset[At]
) -> dict[At, tuple[Class, ...]]:
    by = ["type", "matter", "key"]
    chosen = ds.field("what") == CLASS
    for at in sorted(coarse):
        chosen &= ~_of(CLASS, at)
    table = grouped(rows, chosen, by, {"n": "sum", "id": "min"})
    by_matter: dict[At, list[Class]] = {}
    for type, matter, key, n, id in _cells(table):
        by_matter.setdefault((type, matter), []).append(Class(key, numbers[key], n, id))
    ordered = (
        (at, sorted(by_matter[at], key=lambda c: (-c.entities, c.key))) for at in sorted(by_matter)
    )
    return {at: tuple(classes) for at, classes in ordered}


def class_counts(folder: Location) -> dict[At, dict[int, int]]:
    """By matter: the number of classes (`CLASS`), and of groups (`GROUP`)."""
    rows = dataset(folder)
    chosen = ds.field("what").isin([CLASS, GROUP])
    table = grouped(rows, chosen, ["type", "matter", "what", "key"], {})
    by_matter: dict[At, dict[int, int]] = {}
    for type, matter, kind, _ in _cells(table):
        counts = by_matter.setdefault((type, matter), {})
        counts[kind] = counts.get(kind, 0) + 1
    return by_matter


def members(folders: Iterable[Location], matters: pa.Table, bits: int) -> Iterator[pa.Table]:
    """The rows of the table `members`, part by part.

    `matters` has type, place, number and form, see `Tables.matters`; a block has 2 to the power of
    `bits` ids.
    """
    rows = datasets(folders)
    columns = ["what", "type", "matter", "key", "id", "n", "bits"]
    chosen = ds.field("what").isin([CLASS, GROUP])
    for batch in rows.to_batches(columns=columns, filter=chosen):
        part = pa.Table.from_batches([batch]).rename_columns({"matter": "place"})
        part = part.join(matters, ["type", "place"], join_type="inner")
        is_group = pc.equal(part.column("what"), GROUP)
        part = part.filter(pc.equal(is_group, part.column("coarse")))
        columns_of_table = {
            "matter": part.column("matter"),
            "class": [key.hex() for key in part.column("key").to_pylist()],
            "block": pc.shift_right(part.column("id"), bits).cast(pa.int32()),
            "n": part.column("n"),
            "bits": part.column("bits"),
        }
        yield pa.table(columns_of_table, schema=SCHEMAS[MEMBERS])


def _names(rows: ds.Dataset, ids: Iterable[int]) -> dict[int, str]:
    """The names of some entities."""
    id_array = pa.array(sorted(ids), pa.int64())
    chosen = (ds.field("what") == ASSET) & pc.is_in(ds.field("id"), value_set=id_array)
    table = rows.to_table(columns=["id", "text"], filter=chosen)
    return dict(zip(*(column.to_pylist() for column in table.columns), strict=True))


def matters(findings: MergedFindings, chosen: Chosen) -> Iterator[At]:
    """All matters of the types that occur, in order."""
    model = findings.people.model
    for type in findings.census:
        for number, _ in enumerate(chosen.agenda(model, type).matters):
            yield type, number
