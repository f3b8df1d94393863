"""A world as the tables of an export, made without Spark and queried in DuckDB."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import duckdb
import pyarrow as pa
from pyroaring import BitMap

from lakewarden.kernel.entity import NO_RESOURCE
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import USER
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.pipeline.export.block_export import DECISION, TYPE, unroll
from lakewarden.pipeline.export.people import Small, numbered_matters, numbered_needs
from lakewarden.pipeline.export.schemas import VIEWS, sql
from lakewarden.pipeline.export.user_sets import UserSets
from lakewarden.pipeline.index.id_space import IdSpace
from lakewarden.pipeline.index.task_context import CompiledBlock, TaskContext
from lakewarden.pipeline.review.audience import People
from lakewarden.pipeline.review.finding import Plan, comparison_evaluator, users_by_comparison
from lakewarden.pipeline.review.question import Chosen, attribute_comparisons
from lakewarden.pipeline.review.residue import Compared
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import World
from tests.pipeline.index import worlds

Pair = tuple[str, str, str, str, str]
"""Kind and name of a question, type and name of the entity, and a permitted user."""

WHO_CAN: Final = "SELECT DISTINCT kind, question, type, entity, user_name FROM who_can"

_UNROLLED: Final = {
    "classes": """
        SELECT m.number AS matter, unnest(f.ids) AS entity, f.key AS class
        FROM found f JOIN matters m ON m.type = f.type AND m.place = f.matter WHERE what = 1
    """,
    "decisions": """
        SELECT DISTINCT f.key AS class, n.number AS need, f.other AS crowd
        FROM found f JOIN numbers n ON n.word = f.word WHERE what = 2
    """,
    "crowd_principals": """
        SELECT DISTINCT key AS crowd, unnest(principals) AS principal FROM found WHERE what = 3
    """,
    "crowd_role_sets": """
        SELECT DISTINCT key AS crowd, unnest(ids) AS role_set FROM found WHERE what = 3
    """,
    "crowd_users": """
        SELECT DISTINCT key AS crowd, unnest(numbers) AS user_id FROM found WHERE what = 3
    """,
    "class_statements": """
        SELECT DISTINCT key AS class, other AS statement, word AS effect, type AS privilege
        FROM found WHERE what = 4
    """,
    "meets": """
        SELECT n.number AS need, unnest(f.ids) AS entity, unnest(f.numbers) AS principal,
               f.other = 'true' AS exactly
        FROM found f JOIN numbers n ON n.word = f.word WHERE what = 5
    """,
}
"""The job's data frame operations, expressed independently."""


def decided(matrix: Matrix) -> set[Pair]:
    """Every pair that the kernel allows, by single decisions."""
    snapshot, found = matrix.snapshot, set()
    memberships, tree = snapshot.coded.memberships, snapshot.coded.tree
    users = [
        p
        for id, p in enumerate(memberships.principals)
        if id in memberships.stored and p.kind == USER
    ]
    for type in ("", *(kind for kind in tree.kinds if kind)):
        entities = [tree.entity(id) for id in snapshot.of_type(type)] if type else [NO_RESOURCE]
        for matter in Chosen().agenda(snapshot.model, type).matters:
            for question in matter.questions:
                for entity in entities:
                    for user in users:
                        if matrix.decide(Request(user, question.name, entity, NOW)).allow:
                            found.add((question.kind, question.name, *entity, user.name))
    return found


def asked(tables: Mapping[str, pa.Table]) -> duckdb.DuckDBPyConnection:
    """A database with the tables and the views."""
    database = duckdb.connect()
    for name, rows in tables.items():
        database.register(name, rows)
    database.execute(sql()[VIEWS])
    return database


def unrolled(world: World, snapshot: Snapshot) -> dict[str, pa.Table]:
    """The tables of a world, block by block."""
    coded = snapshot.coded
    blocks = list(worlds.compiled_blocks(snapshot, world.system))
    people = People(coded.memberships, coded.ownerships, snapshot.table)
    crowds = UserSets(people, _with_progress(world, blocks))
    plan = Plan(Chosen(), crowds.telling)
    found = pa.Table.from_batches([b for block in blocks for b in unroll(block, plan, crowds)])
    rows = found.select(["what", "type", "word"]).to_pylist()
    types = {row["type"] for row in rows if row["what"] == TYPE}
    needs = {row["word"] for row in rows if row["what"] == DECISION}
    small = Small(
        context=_context(world, snapshot),
        user_sets=crowds,
        chosen=plan.chosen,
        matters=numbered_matters(plan.chosen, people, types),
        needs=numbered_needs(needs),
    )
    return {**dict(small.all()), "entities": _entities(snapshot), **_large(found, small)}


def _context(world: World, snapshot: Snapshot) -> TaskContext:
    return TaskContext(
        model=world.system.model.name,
        settings=world.system.model.settings,
        memberships=snapshot.coded.memberships,
        ownerships=snapshot.coded.ownerships,
        statements=tuple(snapshot.table.statements.values()),
        now=NOW,
        space=IdSpace.of(len(snapshot.coded.tree), worlds.BITS),
    )


def _with_progress(world: World, blocks: Iterable[CompiledBlock]) -> dict[Compared, BitMap]:
    questions = attribute_comparisons(world.system.model)
    tell = comparison_evaluator(questions)
    said = [row for block in blocks for batch in tell(block) for row in batch.to_pylist()]
    return users_by_comparison(questions, [tuple(row.values()) for row in said])


def _entities(snapshot: Snapshot) -> pa.Table:
    tree = snapshot.coded.tree
    return pa.table(
        {
            "id": range(len(tree)),
            "type": [tree.entity(id).type for id in range(len(tree))],
            "name": tree.names,
            "last": tree.ends - 1,
        }
    )


def _large(found: pa.Table, small: Small) -> dict[str, pa.Table]:
    database = duckdb.connect()
    matters = [{"type": t, "place": p, "number": n} for (t, p), n in small.matters.items()]
    needs = [{"word": text, "number": number} for text, number in small.needs.items()]
    database.register("found", found)
    database.register("matters", pa.Table.from_pylist(matters))
    database.register("numbers", pa.Table.from_pylist(needs))
    return {name: database.sql(text).to_arrow_table() for name, text in _UNROLLED.items()}
