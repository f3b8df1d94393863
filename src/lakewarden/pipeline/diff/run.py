"""The job that takes the difference of two policy sets, or of two indexes, stage by stage.

read      the index or indexes are whole; what is stated before and after
sign      (two indexes) what tells each entity from others
compare   (two indexes) which entities differ, or are on one side alone
judge     who may do what where something differs; what of it is gained, and what lost
sum       by part, by user, by class of entities
publish   the version counts
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.statement_file import principal_text, write_statement
from lakewarden.pipeline import parquet_output
from lakewarden.pipeline.diff import aggregation
from lakewarden.pipeline.diff.block_diff import FOUND, Policies
from lakewarden.pipeline.diff.index_comparison import Times
from lakewarden.pipeline.diff.policy import (
    Placed,
    after,
    check_anchors,
    policy_of,
    turned_on,
)
from lakewarden.pipeline.diff.user_numbering import Everyone, asked, everyone
from lakewarden.pipeline.index.block import ENTITY
from lakewarden.pipeline.index.index import BLOCKS, Index, open_index
from lakewarden.pipeline.index.own_rows import own_where
from lakewarden.pipeline.index.task_context import judge_each, task_context_of
from lakewarden.pipeline.ingest.source import Progress, silent
from lakewarden.pipeline.memory import peak
from lakewarden.pipeline.product import (
    Content,
    Draft,
    Input,
    Manifest,
    draft,
    key_of,
    place,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakewarden.service.policy import Part

KIND: Final = "diff"
PARTS: Final = "parts"
MEMBERS: Final = "members"
BY_USER: Final = "by_user"
BY_CLASS: Final = "by_entity_class"
USERS: Final = "users"
TABLES: Final = (PARTS, MEMBERS, BY_USER, BY_CLASS)
STAGES: Final = ("read", "judge", "sum")
STAGES_OF_TIMES: Final = ("read", "sign", "compare", "judge", "sum")
"""What a run goes through with one index, and with two."""


class Result(NamedTuple):
    """The manifest that counts now, what the run says of itself, and whether it made a version."""

    manifest: Manifest
    report: Mapping[str, Any]
    is_new: bool

    @property
    def changes(self) -> Mapping[str, Any]:
        """What differs: counts by kind and direction, users and entities concerned."""
        found: Mapping[str, Any] = self.manifest.facts["changes"]
        return found


def difference_of_policies(
    source: Path,
    files: Sequence[Part],
    out: Path,
    *,
    spark: SparkSession,
    only: bool = False,
    progress: Progress = silent,
) -> Result:
    """What changes when the statements of `files` are put in place of those of an index.

    `only`: the files hold the whole policy. Raises `BadInput` for a damaged index and for
    malformed files, `Conflict` when another process works on `out`.
    """
    index = open_index(source)
    before = task_context_of(index)

    def look(entities: Iterable[Entity]) -> Mapping[Entity, Placed]:
        return _look(index, entities)

    policy = policy_of(files, index, look)
    later = after(before, index.statements(), policy, index.system, only=only)
    check_anchors(before, later, index.system, look)
    users = everyone(before.memberships, later.memberships)
    about = turned_on(before, later, index.system.model)
    told = [
        {
            "statements": [write_statement(policy.statements[id]) for id in policy.statements],
            "roles": sorted(map(principal_text, policy.roles)),
            "members": sorted(map(list, ((*row.member, *row.of) for row in policy.members))),
        }
    ]
    inputs = (_input(index), Input("policy", 0, _sha256(json.dumps(told, sort_keys=True))))
    judge = Policies(asked(before, users), asked(later, users), users, about)

    def found(one: Draft) -> aggregation.Found:
        def run(folder: Path) -> dict[str, Any]:
            judge_each(index, judge.before, judge, FOUND, folder / "found", spark)
            return {"blocks": judge.before.blocks, "classes": _rows(folder)[1].num_rows}

        one.stage("judge", run, "{blocks:,} blocks, {classes:,} classes in them")
        parts, classes = _rows(one.kept("judge"))
        return aggregation.Found(
            parts,
            classes,
            classes.append_column("side", pa.repeat(pa.scalar("both"), classes.num_rows)),
        )

    options = {"only": str(only)}
    return _Job(spark, out, (index,), users, inputs, options, progress).run(found)


def difference_of_times(
    earlier: Path, later: Path, out: Path, *, spark: SparkSession, progress: Progress = silent
) -> Result:
    """What changed from one index to another; entities are the same where type and name are.

    Raises `BadInput` for a damaged index and for indexes of different models, `Conflict` when
    another process works on `out`.
    """
    sides = open_index(earlier), open_index(later)
    if sides[0].system.model.digest != sides[1].system.model.digest:
        raise BadInput("access can be compared under one model with the same settings only")
    contexts = task_context_of(sides[0]), task_context_of(sides[1])
    users = everyone(*(context.memberships for context in contexts))
    times = Times(spark, sides, (asked(contexts[0], users), asked(contexts[1], users)), users)

    def found(one: Draft) -> aggregation.Found:
        one.stage("sign", times.sign, "{before:,} and {after:,} entities")
        one.stage("compare", times.compare(one.kept("sign")), "{entities:,} may differ")
        one.stage("judge", times.judge(one.kept("compare")), "{pairs:,} pairs of profiles")
        return aggregation.Found(*times.found(one.kept("compare"), one.kept("judge")))

    inputs = (_input(sides[0]), _input(sides[1]))
    return _Job(spark, out, sides, users, inputs, {}, progress).run(found)


def _rows(folder: Path) -> tuple[pa.Table, pa.Table]:
    """The parts that blocks found, and their classes."""
    rows = ds.dataset(folder / "found", format="parquet")
    is_class = ds.field("gained").is_null()
    return rows.to_table(filter=~is_class), rows.to_table(filter=is_class)


@dataclass(frozen=True, slots=True)
class _Job:
    """One run: what it reads, and where it writes."""

    spark: SparkSession
    out: Path
    indexes: tuple[Index, ...]
    users: Everyone
    inputs: tuple[Input, ...]
    options: Mapping[str, str]
    progress: Progress

    def run(self, find: Callable[[Draft], aggregation.Found]) -> Result:
        key = key_of(self.inputs, self.options)
        with draft(self.out, KIND, key, self.progress) as one, peak() as memory:
            one.stage("read", self._read, "{users:,} users")
            found = find(one)
            summed = one.stage("sum", lambda folder: self._sum(found, folder), "{parts:,} parts")
            tables = self._publish(one)
            facts = {
                "realm": self.indexes[-1].realm,
                "model": self.indexes[-1].system.model.name,
                "changes": summed["changes"],
            }
            manifest = Manifest(KIND, 0, self.inputs, self.options, facts, tables)
            more = {"peak_bytes": memory.bytes, "changes": summed["changes"]}
            return Result(*one.finish(manifest, more))

    def _read(self, folder: Path) -> dict[str, Any]:
        columns = [
            pa.array(range(len(self.users)), pa.int32()),
            pa.array([user.name for user in self.users], pa.string()),
        ]
        table = pa.Table.from_arrays(columns, names=["number", "user"]).slice(1)
        parquet_output.put(table.to_batches(), table.schema, folder / USERS)
        return {"users": len(self.users) - 1}

    def _sum(self, found: aggregation.Found, folder: Path) -> dict[str, Any]:
        tables = aggregation.summed(found, len(self.users))
        for name, rows in tables._asdict().items():
            parquet_output.put(rows.to_batches(), rows.schema, folder / name)
        return {"parts": tables.parts.num_rows, "changes": aggregation.changes(tables)}

    def _publish(self, one: Draft) -> dict[str, Content]:
        place(one.kept("read") / USERS, one.folder / USERS)
        for name in TABLES:
            place(one.kept("sum") / name, one.folder / name)
        return parquet_output.contents_of(one.folder, (USERS, *TABLES), self.spark)


def _input(index: Index) -> Input:
    return Input(index.realm, index.manifest.version, _sha256(index.manifest.text()))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _look(index: Index, entities: Iterable[Entity]) -> dict[Entity, Placed]:
    wanted = set(entities)
    if not wanted:
        return {}
    names = pa.array(sorted({entity.name for entity in wanted}), pa.string())
    chosen = (ds.field("what") == ENTITY) & ds.field("t").isin(names)
    bits = int(index.manifest.facts["bits"])
    rows = own_where(index.folder / BLOCKS, bits, chosen, ("s", "t", "id", "a", "flag"))
    cells = zip(*(column.to_pylist() for column in rows.columns), strict=True)
    found = {Entity(type, name): Placed(*place) for type, name, *place in cells}
    return {entity: found[entity] for entity in wanted & found.keys()}
