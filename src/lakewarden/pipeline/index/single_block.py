"""The rows of an estate that is one block, as the kernel codes it: no guests, and no Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lakewarden.kernel.edges import Edges
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.facts import Coded
from lakewarden.pipeline.index.block import ATTRIBUTE, EDGE, ENTITY, OWNER, ROWS
from lakewarden.pipeline.parquet_output import arrow_schema

SCHEMA = arrow_schema(ROWS)


def rows(coded: Coded) -> pa.Table:
    """The rows of the block, by kind and id; the columns are those of `ROWS`.

    Raises `BadInput` where entities lie in each other.
    """
    if coded.tree.displaced:
        lost = coded.tree.entity(coded.tree.displaced.min())
        raise BadInput(f"`{lost.type}:{lost.name}` lies below itself")
    found = pa.concat_tables([_entities(coded), _edges(coded), _owners(coded), _attributes(coded)])
    return found.sort_by([("what", "ascending"), ("id", "ascending")])


def _entities(coded: Coded) -> pa.Table:
    tree = coded.tree
    stored = np.zeros(len(tree), dtype=np.bool_)
    stored[tree.stored.to_array()] = True
    kinds = pc.take(pa.array(tree.kinds, pa.string()), pa.array(tree.types.astype(np.int32)))
    return _table(
        ENTITY,
        np.arange(len(tree)),
        a=tree.parents,
        b=tree.ends,
        s=kinds,
        t=tree.names,
        flag=stored,
    )


def _edges(coded: Coded) -> pa.Table:
    parts = [_table(EDGE, np.zeros(0, np.int32))]
    for kind, edges in coded.relations.items():
        sources = _sources(edges)
        parts.append(_table(EDGE, sources, a=edges.targets, s=[kind] * len(sources)))
    return pa.concat_tables(parts)


def _owners(coded: Coded) -> pa.Table:
    owners = coded.owners
    types = pc.take(pa.array(coded.ownerships, pa.string()), pa.array(owners.labels))
    return _table(OWNER, _sources(owners), a=owners.targets, s=types)


def _attributes(coded: Coded) -> pa.Table:
    cells = list(_values(coded))
    ids, names, values = zip(*cells, strict=True) if cells else ((), (), ())
    return _table(ATTRIBUTE, np.array(ids, dtype=np.int32), s=list(names), t=list(values))


def _values(coded: Coded) -> Iterator[tuple[int, str, str]]:
    for id, attributes in coded.attributes.items():
        for name, values in attributes.items():
            yield from ((id, name, value) for value in values)


def _sources(edges: Edges) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(edges.offsets) - 1), np.diff(edges.offsets))


def _table(what: int, ids: NDArray[Any], **cells: Any) -> pa.Table:
    """Rows of one kind; what is not given is null."""
    given = {
        "block": np.zeros(len(ids), np.int32),
        "what": np.full(len(ids), what, np.int32),
        "id": ids.astype(np.int32),
        **cells,
    }
    columns = [
        pa.array(given[f.name], f.type) if f.name in given else pa.nulls(len(ids), f.type)
        for f in SCHEMA
    ]
    return pa.table(columns, schema=SCHEMA)
