"""Worlds as exports made without Spark, their access reports, and the kernel's decisions."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.model import WAYS
from lakewarden.kernel.principal import USER
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.pipeline.access.run import Options, make_access
from lakewarden.pipeline.export.run import KIND as EXPORT
from lakewarden.pipeline.export.schemas import SCHEMAS, sql
from lakewarden.pipeline.ingest.source import silent
from lakewarden.pipeline.job import Result
from lakewarden.pipeline.product import Content, Input, Manifest, draft
from lakewarden.pipeline.session import Deferred
from lakewarden.pipeline.version_folder import folder_of
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import World
from tests.pipeline.export.asked import unrolled

NOTHING: Any = Deferred(lambda: None, is_here=True)  # type: ignore[arg-type,return-value]
"""A session without Spark: any use fails."""

Pair = tuple[str, str, str]
"""An access level, an asset and a user."""


def export(out: Path, world: World, snapshot: Snapshot) -> None:
    """The folder of `pipeline export` for a world; a repeated call adds the next version."""
    tables = {**unrolled(world, snapshot), **_of_entities(snapshot)}
    model = world.system.model
    facts = {
        **{"realm": "lake", "revision": None, "from": None, "until": None},
        **{"model": model.name, "settings": dict(model.settings), "digest": model.digest},
    }
    with draft(out, EXPORT, "key", silent) as one:
        for name, schema in SCHEMAS.items():
            rows = tables[name]
            cast = pa.table(
                [rows.column(c).cast(schema.field(c).type) for c in schema.names], schema=schema
            )
            (one.folder / name).mkdir()
            pq.write_table(cast, one.folder / name / "part-00000.parquet")
        for name, text in sql().items():
            (one.folder / name).write_text(text, "utf-8")
        content = {name: Content(len(tables[name]), "0" * 32) for name in SCHEMAS}
        one.finish(Manifest(EXPORT, 0, (Input("lake", 1, "0"),), {}, facts, content), {})


def _of_entities(snapshot: Snapshot) -> dict[str, pa.Table]:
    coded = snapshot.coded
    tree = coded.tree
    ids = range(len(tree))
    entities = [
        (id, *tree.entity(id), int(tree.parents[id]), int(tree.ends[id]) - 1, id in tree.stored)
        for id in ids
    ]
    columns = [list(column) for column in zip(*entities, strict=True)]
    columns[3] = [None if parent < 0 else parent for parent in columns[3]]
    names = ("id", "type", "name", "parent", "last", "stored")
    edges = [
        (id, kind, target)
        for kind, of in coded.relations.items()
        for id in ids
        for target, _ in of.of(id)
    ]
    owners = [
        (id, owner, coded.ownerships[label]) for id in ids for owner, label in coded.owners.of(id)
    ]
    return {
        "entities": pa.table({**dict(zip(names, columns, strict=True)), "path": [""] * len(tree)}),
        "attributes": SCHEMAS["attributes"].empty_table(),
        "relations": _table(SCHEMAS["relations"], edges),
        "owners": _table(SCHEMAS["owners"], owners),
    }


def _table(schema: pa.Schema, rows: Iterable[tuple[object, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pa.table(
        [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema
    )


def report(source: Path, out: Path, options: Options | None = None, **more: Any) -> Result:
    """The report of an export."""
    return make_access(source, out, options or Options(), spark=NOTHING, **more)


def rows(out: Path, result: Result, table: str) -> list[dict[str, Any]]:
    """The rows of a table of a report."""
    found: list[dict[str, Any]] = pq.read_table(folder_of(out, result.manifest) / table).to_pylist()
    return found


def decided(matrix: Matrix) -> set[Pair]:
    """Every user with access to each asset, by access level, by single decisions of the kernel."""
    snapshot = matrix.snapshot
    model, tree, memberships = snapshot.model, snapshot.coded.tree, snapshot.coded.memberships
    users = [
        p
        for id, p in enumerate(memberships.principals)
        if id in memberships.stored and p.kind == USER
    ]
    allowed = set()
    for id in sorted(tree.stored):
        entity = Entity(*tree.entity(id))
        for way in WAYS:
            operation = model.reaching(way, entity.type) if entity.type else None
            if operation is None:
                continue
            for user in users:
                if matrix.decide(Request(user, operation, entity, NOW)).allow:
                    allowed.add((way, ":".join(entity), user.name))
    return allowed
