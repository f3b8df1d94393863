"""The job that compares two policy sets, or two indexes, stage by stage.

read      check the index or indexes; the statements before and after
sign      (two indexes) compute the signature of each entity
compare   (two indexes) find entities that differ, or are on one side only
judge     who may do what where something differs; what is gained and lost
sum       totals by part, by user, by class of entities
publish   make the version the current one
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.dataset as ds

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.grants import interval
from lakewarden.kernel.statement_file import principal_text, write_statement
from lakewarden.pipeline import parquet_output
from lakewarden.pipeline.diff import aggregation
from lakewarden.pipeline.diff.block_diff import BLOCK_DIFF, Policies
from lakewarden.pipeline.diff.index_comparison import Times
from lakewarden.pipeline.diff.policy import (
    Placed,
    after,
    check_anchors,
    policy_of,
)
from lakewarden.pipeline.diff.user_numbering import Everyone, everyone, with_users
from lakewarden.pipeline.index.block import ENTITY
from lakewarden.pipeline.index.index import BLOCKS, Index, open_index
from lakewarden.pipeline.index.own_rows import own_where
from lakewarden.pipeline.index.task_context import task_context_of, write_each_block
from lakewarden.pipeline.index.validity import outside
from lakewarden.pipeline.ingest.source import Progress, silent
from lakewarden.pipeline.job import Counts, Job, Result, Stage
from lakewarden.pipeline.product import Input, sha256_of
from lakewarden.pipeline.storage.dataset import dataset
from lakewarden.pipeline.storage.location import Location

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


def difference_of_policies(
    source: Location,
    files: Sequence[Part],
    out: Location,
    *,
    spark: SparkSession,
    only: bool = False,
    now: float | None = None,
    progress: Progress = silent,
) -> Result:
    """The changes if the statements of `files` replace those of an index.

    `only`: the files hold the whole policy. Statements are in force as of `now` (default: the
    clock). Raises `BadInput` for a damaged index, for one that is not valid at `now`, and for
    malformed files; `Conflict` if another process works on `out`.
    """
    index = open_index(source, spark=spark)
    now = time.time() if now is None else now
    _check_moment(index, now)
    before = replace(task_context_of(index), now=now)

    def look_up(entities: Iterable[Entity]) -> Mapping[Entity, Placed]:
        return _place_lookup(index, entities)

    stated = index.statements()
    policy = policy_of(files, index, stated, look_up)
    later = after(before, stated, policy, index.system, only=only)
    check_anchors(before, later, index.system, look_up)
    users = everyone(before.memberships, later.memberships)
    description = [
        {
            "statements": [write_statement(s) for _, s in sorted(policy.statements.items())],
            "roles": sorted(map(principal_text, policy.roles)),
            "members": sorted(map(list, ((*row.member, *row.of) for row in policy.members))),
            "interval": interval(policy.statements.values(), now),
        }
    ]
    inputs = (index.input, Input("policy", 0, sha256_of(json.dumps(description, sort_keys=True))))
    job = Job(KIND, out, (USERS, *TABLES), spark, inputs, {"only": str(only)}, progress)
    job.reads = (index.version,)
    judge = Policies(with_users(before, users), with_users(later, users), users)
    return _run(STAGES, _Comparing(job, users, index, judge))


def _check_moment(index: Index, now: float) -> None:
    """Raises `BadInput` if other statements of the index are in force at `now`."""
    if reason := outside(index.interval, now):
        raise BadInput(f"{reason}; rebuild it, or give a moment within with --now")


def difference_of_times(
    earlier: Location,
    later: Location,
    out: Location,
    *,
    spark: SparkSession,
    progress: Progress = silent,
) -> Result:
    """The changes from one index to another; entities are matched by type and name.

    Raises `BadInput` for a damaged index and for indexes of different models; `Conflict` if another
    process works on `out`.
    """
    sides = open_index(earlier, spark=spark), open_index(later, spark=spark)
    if sides[0].system.model.digest != sides[1].system.model.digest:
        raise BadInput("access can be compared under one model with the same settings only")
    contexts = task_context_of(sides[0]), task_context_of(sides[1])
    users = everyone(*(context.memberships for context in contexts))
    questions = with_users(contexts[0], users), with_users(contexts[1], users)
    inputs = tuple(side.input for side in sides)
    job = Job(KIND, out, (USERS, *TABLES), spark, inputs, progress=progress)
    job.reads = tuple(side.version for side in sides)
    times = Times(spark, sides, questions, users)
    return _run(STAGES_OF_TIMES, _Comparing(job, users, sides[1], times))


def _run(stages: Sequence[Stage[_Comparing]], context: _Comparing) -> Result:
    def report() -> dict[str, Any]:
        return {"changes": context.job.counts("sum")["changes"]}

    index = context.index
    facts = {"realm": index.realm, "model": index.system.model.name}
    return context.job.run(stages, context, facts=lambda: {**facts, **report()}, report=report)


@dataclass(frozen=True, slots=True)
class _Comparing:
    """What the stages share: `index` is the later one, `sides` are the compared sides."""

    job: Job
    users: Everyone
    index: Index
    sides: Policies | Times

    def read(self, folder: Location) -> Counts:
        columns = [
            pa.array(range(len(self.users)), pa.int32()),
            pa.array([user.name for user in self.users], pa.string()),
        ]
        table = pa.Table.from_arrays(columns, names=["number", "user"]).slice(1)
        parquet_output.put_table(table, folder / USERS)
        return {"users": len(self.users) - 1}

    def sign(self, folder: Location) -> Counts:
        return self._times.sign(folder)

    def compare(self, folder: Location) -> Counts:
        return self._times.compare(self.job.folder("sign"), folder)

    def evaluate_times(self, folder: Location) -> Counts:
        return self._times.compare_profiles(self.job.folder("compare"), folder)

    @property
    def _times(self) -> Times:
        assert isinstance(self.sides, Times)  # noqa: S101 — INVARIANT: by the stage list
        return self.sides

    def evaluate_policies(self, folder: Location) -> Counts:
        sides = self.sides
        assert isinstance(sides, Policies)  # noqa: S101 — INVARIANT: by the stage list
        write_each_block(
            self.index, sides.before, sides, BLOCK_DIFF, folder / "differences", self.job.spark
        )
        return {"blocks": sides.before.blocks, "classes": _rows(folder)[1].num_rows}

    def sum(self, folder: Location) -> Counts:
        tables = aggregation.summed(self._differences(), len(self.users))
        for name, rows in tables._asdict().items():
            parquet_output.put_table(rows, folder / name)
        return {"parts": tables.parts.num_rows, "changes": aggregation.changes(tables)}

    def _differences(self) -> aggregation.Differences:
        judged = self.job.folder("judge")
        if isinstance(self.sides, Times):
            return aggregation.Differences(
                *self.sides.differences(self.job.folder("compare"), judged)
            )
        parts, classes = _rows(judged)
        side = pa.repeat(pa.scalar("both"), classes.num_rows)
        return aggregation.Differences(parts, classes, classes.append_column("side", side))


_READ: Final = Stage("read", (), _Comparing.read, (USERS,), "{users:,} users")
STAGES: Final = (
    _READ,
    Stage(
        "judge",
        (),
        _Comparing.evaluate_policies,
        (),
        "{blocks:,} blocks, {classes:,} classes in them",
    ),
    Stage("sum", ("judge",), _Comparing.sum, TABLES, "{parts:,} parts"),
)
STAGES_OF_TIMES: Final = (
    _READ,
    Stage("sign", (), _Comparing.sign, (), "{before:,} and {after:,} entities"),
    Stage("compare", ("sign",), _Comparing.compare, (), "{entities:,} may differ"),
    Stage("judge", ("compare",), _Comparing.evaluate_times, (), "{pairs:,} pairs of profiles"),
    Stage("sum", ("compare", "judge"), _Comparing.sum, TABLES, "{parts:,} parts"),
)
"""The stages of a run with one index, and with two."""


def _rows(folder: Location) -> tuple[pa.Table, pa.Table]:
    """The parts of all blocks, and their classes."""
    rows = dataset(folder / "differences")
    is_class = ds.field("gained").is_null()
    return rows.to_table(filter=~is_class), rows.to_table(filter=is_class)


def _place_lookup(index: Index, entities: Iterable[Entity]) -> dict[Entity, Placed]:
    selected = set(entities)
    if not selected:
        return {}
    names = pa.array(sorted({entity.name for entity in selected}), pa.string())
    chosen = (ds.field("what") == ENTITY) & ds.field("t").isin(names)
    bits = int(index.manifest.facts["bits"])
    rows = own_where(index.folder / BLOCKS, bits, chosen, ("s", "t", "id", "a", "flag"))
    cells = zip(*(column.to_pylist() for column in rows.columns), strict=True)
    places = {Entity(type, name): Placed(*place) for type, name, *place in cells}
    return {entity: places[entity] for entity in selected & places.keys()}
