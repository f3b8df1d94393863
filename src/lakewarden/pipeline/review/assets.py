"""The tables of a review that have a row for each asset, and what is counted from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyroaring import BitMap
from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

from lakewarden.kernel.model import WAYS
from lakewarden.pipeline.index.block import EDGE, ENTITY
from lakewarden.pipeline.review.audience import People
from lakewarden.pipeline.review.found import Found
from lakewarden.pipeline.review.question import Chosen
from lakewarden.pipeline.review.row import ASSET
from lakewarden.pipeline.review.schemas import BY_CONTAINER, BY_DOMAIN, BY_TAG, GROUPS
from lakewarden.pipeline.review.words import words

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Batches = Iterator[pa.RecordBatch]

DOMAINS: Final = ("domain", "product_domain")
TAGS: Final = ("tag",)
"""The relations that lead to domains, and to tags, in the models that have them."""

NO_OWNER: Final = "no owner"
NOT_STORED: Final = "no owner is stored"
INACTIVE: Final = "every owner was removed"

ASSETS: Final = (
    "id int, type string, name string, container string, owners array<string>, reason string,"
    " keys array<binary>, counts array<long>"
)
"""Assets with their owners by name; `reason` says why one is an orphan."""


Reached = Mapping[tuple[int, str], Mapping[str | None, tuple[bytes | None, BitMap]]]
"""By way and type of what is coarse, and by container: a group, and who is let in on any of it.

Where nobody ever is, there is no group."""


def reached(found: Found, chosen: Chosen) -> Reached:
    """The ways that are matters of too many classes."""
    known: dict[tuple[int, str], dict[str | None, tuple[bytes | None, BitMap]]] = {}
    for type in found.census:
        for way, matter in enumerate(chosen.agenda(found.people.model, type).ways):
            if matter is not None and (type, matter) in found.coarse:
                groups = found.groups((type, matter))
                known[way, type] = {
                    one.container: (one.key if one.some or one.opens else None, one.some)
                    for one in groups
                }
    return known


def assets(found: DataFrame, people: People, gone: frozenset[int], coarse: Reached) -> DataFrame:
    """The assets that blocks found; the columns are `ASSETS`."""
    sizes = {
        at: {name: (key, len(users)) for name, (key, users) in of.items()}
        for at, of in coarse.items()
    }
    rows = found.where(F.col("what") == ASSET).select(
        "id", "type", F.col("text").alias("name"), "container", "owners", "keys", "counts"
    )
    return rows.mapInArrow(_described(people, gone, sizes), ASSETS)


_Sizes = Mapping[tuple[int, str], Mapping[str | None, tuple[bytes | None, int]]]
_Cells = NDArray[np.object_]


def _by_group(batch: pa.RecordBatch, coarse: _Sizes) -> tuple[pa.Array, pa.Array]:
    """Keys and counts of the assets, those of coarse ways by what the assets lie in."""
    lists = batch.column("keys"), batch.column("counts")
    if not coarse:
        return lists
    keys, counts = (_cells(column) for column in lists)
    types = batch.column("type").to_numpy(zero_copy_only=False)
    above = batch.column("container").dictionary_encode()
    names = [*above.dictionary.to_pylist(), None]
    codes = above.indices.fill_null(len(names) - 1).to_numpy()
    for (way, type), groups in coarse.items():
        rows = np.flatnonzero(types == type)
        found = [groups.get(name, (None, 0)) for name in names]
        keys[rows, way] = np.array([key for key, _ in found], dtype=object)[codes[rows]]
        counts[rows, way] = np.array([n for _, n in found], dtype=object)[codes[rows]]
    offsets = pa.array(np.arange(len(batch) + 1, dtype=np.int32) * len(WAYS))
    flat = pa.array(keys.reshape(-1), pa.binary()), pa.array(counts.reshape(-1), pa.int64())
    made = [pa.ListArray.from_arrays(offsets, part) for part in flat]
    return made[0], made[1]


def _cells(column: pa.Array) -> _Cells:
    """Lists of one cell for each way, as rows."""
    flat = np.empty(len(column) * len(WAYS), dtype=object)
    flat[:] = column.flatten().to_pylist()
    return flat.reshape(-1, len(WAYS))


def _described(
    people: People, gone: frozenset[int], coarse: _Sizes
) -> Callable[[Batches], Batches]:
    """Names the owners, and says who is an orphan."""
    acting, model = people.acting, people.model
    names = [words(principal) for principal in acting.principals]
    stored, active = sorted(acting.stored), sorted(acting.stored - gone)
    unowned = sorted(name for name, declared in model.types.items() if not declared.owned)

    def describe(batches: Batches) -> Batches:
        known = pa.array(names, pa.string())
        for batch in batches:
            owners = batch.column("owners")
            flat = owners.flatten()
            offsets = owners.offsets.to_numpy() - owners.offsets[0].as_py()
            named = pa.ListArray.from_arrays(pa.array(offsets), known.take(flat))
            numbers = flat.to_numpy()
            reasons = np.full(len(batch), None, dtype=object)
            reasons[_none(offsets, np.isin(numbers, active))] = INACTIVE
            reasons[_none(offsets, np.isin(numbers, stored))] = NOT_STORED
            reasons[np.diff(offsets) == 0] = NO_OWNER
            types = batch.column("type").to_numpy(zero_copy_only=False)
            reasons[np.isin(types.astype(str), unowned)] = None
            columns = {
                **{name: batch.column(name) for name in ("id", "type", "name", "container")},
                "owners": named,
                "reason": pa.array(reasons, pa.string()),
                **dict(zip(("keys", "counts"), _by_group(batch, coarse), strict=True)),
            }
            yield pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))

    return describe


def _none(offsets: Any, marks: Any) -> Any:
    """For each list whether none of its elements is marked."""
    before = np.concatenate([[0], np.cumsum(marks)])
    return before[offsets[1:]] == before[offsets[:-1]]


def labelled(assets: DataFrame, blocks: DataFrame, bits: int) -> DataFrame:
    """The assets with their domains and tags."""
    own = blocks.where(F.shiftright("id", bits) == F.col("block"))
    edges = own.where((F.col("what") == EDGE) & F.col("s").isin(*DOMAINS, *TAGS))
    edges = edges.select("id", F.col("s").isin(*TAGS).alias("is_tag"), F.col("a").alias("target"))
    named = own.where(F.col("what") == ENTITY).select(
        F.col("id").alias("target"), F.concat_ws(":", "s", "t").alias("label")
    )
    named = named.join(F.broadcast(edges.select("target").distinct()), "target", "left_semi")
    pairs = edges.join(F.broadcast(named), "target")
    label = F.col("label")
    found = pairs.groupBy("id").agg(
        F.sort_array(F.collect_set(F.when(~F.col("is_tag"), label))).alias("domains"),
        F.sort_array(F.collect_set(F.when(F.col("is_tag"), label))).alias("tags"),
    )
    nothing = F.array().cast("array<string>")
    return (
        assets.join(found, "id", "left")
        .withColumn("domains", F.coalesce("domains", nothing))
        .withColumn("tags", F.coalesce("tags", nothing))
    )


def by_asset(labelled: DataFrame) -> DataFrame:
    """The table of assets."""
    keys = [F.lower(F.hex(F.col("keys")[n])).alias(f"{way}_class") for n, way in enumerate(WAYS)]
    counts = [F.col("counts")[n].alias(f"{way}_users") for n, way in enumerate(WAYS)]
    names = ("id", "type", "name", "container", "domains", "tags", "owners")
    return labelled.select(*names, *keys, *counts)


def orphans(labelled: DataFrame) -> DataFrame:
    """The assets that nobody answers for, and why."""
    found = labelled.where("reason is not null")
    return found.select("id", "type", "name", "container", "reason", "owners")


def owners(labelled: DataFrame) -> DataFrame:
    """Who owns how many assets, by the owner's name."""
    found = labelled.select(F.explode("owners").alias("owner"))
    return found.groupBy("owner").agg(F.count("*").alias("assets"))


def standing(people: People, gone: frozenset[int]) -> Mapping[str, tuple[bool, bool]]:
    """Of each principal, by name, whether it is stored, and whether it was removed."""
    acting = people.acting
    known = enumerate(acting.principals)
    return {words(principal): (id in acting.stored, id in gone) for id, principal in known}


def groups(labelled: DataFrame) -> DataFrame:
    """How many assets of each class belong to what, by way: table, name, way, key, n."""
    parts = [
        labelled.select(
            F.lit(BY_CONTAINER).alias("group"), F.col("container").alias("name"), "keys"
        ),
        *(
            labelled.select(F.lit(group).alias("group"), F.explode(column).alias("name"), "keys")
            for group, column in ((BY_DOMAIN, "domains"), (BY_TAG, "tags"))
        ),
    ]
    every = reduce(lambda one, other: one.unionAll(other), parts).where("name is not null")
    each = every.select("group", "name", F.posexplode("keys").alias("way", "key"))
    return each.groupBy("group", "name", "way", "key").agg(F.count("*").alias("n"))


def group_rows(
    rows: Sequence[tuple[str, str, int, bytes | None, int]], found: Found, coarse: Reached
) -> Mapping[str, list[tuple[Any, ...]]]:
    """The rows of the tables that count assets by what they belong to."""
    residues = {one.key: one.residue for classes in found.classes.values() for one in classes}
    by_group = {(way, key): users for (way, _), of in coarse.items() for key, users in of.values()}
    sizes: dict[tuple[str, str], int] = {}
    users: dict[tuple[str, str, int], BitMap] = {}
    for group, name, way, key, n in rows:
        if way == 0:
            sizes[group, name] = sizes.get((group, name), 0) + n
        at = group, name, way
        if key is None:
            here = BitMap()
        elif (way, key) in by_group:
            here = by_group[way, key]
        else:
            here = found.audience.stated(residues[key])
        users[at] = users.get(at, BitMap()) | here
    made: dict[str, list[tuple[Any, ...]]] = {group: [] for group in GROUPS}
    for (group, name), size in sorted(sizes.items()):
        counts = (len(users.get((group, name, way), ())) for way in range(len(WAYS)))
        made[group].append((name, size, *counts))
    return made
