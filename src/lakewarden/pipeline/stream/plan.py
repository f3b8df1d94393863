"""The effect of a batch of events on an index, computed on the driver in numbers.

Nothing is written here: see `lakewarden.pipeline.stream.batch`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 — the usual alias

from lakewarden.kernel.change import (
    AttributeChanged,
    EntityAdded,
    EntityDropped,
    EntityMoved,
    EntityRenamed,
    OwnerChanged,
    RelationChanged,
)
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.facts import ROOT, spelled_parent
from lakewarden.kernel.grants import Table, interval
from lakewarden.kernel.memberships import Memberships
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.scopes import Reaching
from lakewarden.kernel.statement import Statement
from lakewarden.pipeline.index import guests, index
from lakewarden.pipeline.index.block import ENTITY
from lakewarden.pipeline.index.guests import Pairs
from lakewarden.pipeline.index.id_space import IdSpace, IdWidth, block_number
from lakewarden.pipeline.index.index import Index
from lakewarden.pipeline.index.preorder import TOP
from lakewarden.pipeline.index.task_context import TaskContext, blocks_of, prepared, task_context_of
from lakewarden.pipeline.stream import affected_blocks, reused_matches, row_changes
from lakewarden.pipeline.stream.events import Event, EventRange
from lakewarden.pipeline.stream.id_shift import Shift, shifted
from lakewarden.pipeline.stream.nodes import Changed, Nodes, changed
from lakewarden.pipeline.stream.policy import Policy, effects
from lakewarden.pipeline.stream.row_changes import CurrentRows, Edge, Owner, Translation
from lakewarden.pipeline.stream.skeleton import Ints, Skeleton, read_skeleton
from lakewarden.service.effect import Effect
from lakewarden.service.system import System

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Plan:
    """The contents of the next version.

    `dirty` blocks are judged again. The other blocks in `rewritten` get new rows; `untouched` are
    files that stay. `reused_scopes` keep their matches; `anew` are matched in all blocks: those of
    `stated_anew`. `loses`: some scopes are no longer used by any statement.
    """

    context: TaskContext
    policy: Policy
    facts: Mapping[str, Any]
    shift: Shift
    is_shifted: bool
    translation: Translation
    new_rows: pa.Table
    pairs: Pairs
    dirty: frozenset[int]
    rewritten: frozenset[int]
    untouched: Sequence[Any]
    reused_scopes: Mapping[int, int]
    anew: Mapping[Reaching, int]
    stated_anew: tuple[Statement, ...]
    loses: bool

    @property
    def clean(self) -> frozenset[int]:
        """The blocks that are not judged again."""
        return frozenset(self.context.space.blocks) - self.dirty


def plan(known: Index, stretches: Sequence[EventRange], spark: SparkSession, now: float) -> Plan:
    """The next version after the events. Raises `BadInput` for one that does not fit."""
    width, bits = known.space.width, known.space.bits
    before = task_context_of(known)
    old = prepared(before).table
    if index.scopes_digest(old) != known.manifest.facts["scopes"]:
        raise BadInput("was made of other statements; rebuild the index", where=str(known.out))
    events = [event for event_range in stretches for event in event_range.events]
    policy = Policy.of(known, before.memberships)
    policy.take(effects(events))
    start, end = interval(policy.stated(), now)
    moment = index.moment(start, end)
    scopes = policy.table(moment)
    anchors = guests.anchors(scopes.scopes, known.system.spelling)
    nodes = _nodes(known, spark, events, anchors)
    skeleton = nodes.skeleton
    tree = changed(nodes)
    shift = _shift(nodes, tree, blocks_of(known, spark), known.space)
    space = replace(known.space, count=shift.count)
    edges = row_changes.current_edges(nodes)
    owners = row_changes.current_owners(nodes, before.memberships.principals)
    memberships = policy.closed_memberships(_owning(skeleton, owners, before.memberships))
    ownerships = _ownerships(skeleton, owners)
    numbers = np.array(
        [memberships.ids.get(p, -1) for p in before.memberships.principals], np.int64
    )
    common = _common(nodes, shift, anchors)
    pairs = affected_blocks.guests_now(nodes, tree, shift, edges, common, space)
    touched = affected_blocks.changed_ids(nodes, tree, (edges, owners), shift)
    dirty = affected_blocks.affected_blocks(touched, pairs, skeleton, tree.removed, shift, bits)
    context = _next_context(known, policy, memberships, ownerships, moment, space)
    rewritten = (
        frozenset(space.blocks)
        if tree.is_any
        else affected_blocks.rewritten(dirty, pairs, skeleton, numbers, bits)
    )
    table = prepared(context).table
    regrouped = index.direct_groups(before.memberships) != index.direct_groups(memberships)
    reused_scopes = reused_matches.reused_scopes(old, table, regrouped=regrouped)
    anew = {s: n for s, n in table.numbers.items() if n not in set(reused_scopes.values())}
    return Plan(
        context=context,
        policy=policy,
        facts=_facts(known, stretches, context, policy, table, (start, end)),
        shift=shift,
        is_shifted=tree.is_any,
        translation=_translation(nodes, tree, shift, edges, owners, numbers, width),
        new_rows=row_changes.new_rows(nodes, tree, shift, (edges, owners), memberships.ids, width),
        pairs=pairs,
        dirty=dirty,
        rewritten=rewritten,
        untouched=affected_blocks.untouched(skeleton, rewritten),
        reused_scopes=reused_scopes,
        anew=anew,
        stated_anew=_stating(table, frozenset(anew.values())),
        loses=len(reused_scopes) < len(old.scopes),
    )


def _next_context(
    known: Index,
    policy: Policy,
    memberships: Memberships,
    ownerships: tuple[str, ...],
    moment: float,
    space: IdSpace,
) -> TaskContext:
    system = known.system
    return TaskContext(
        model=system.model.name,
        settings=system.model.settings,
        model_text=system.text,
        memberships=memberships,
        ownerships=ownerships,
        statements=policy.everything(),
        now=moment,
        space=space,
    )


def _facts(
    known: Index,
    stretches: Sequence[EventRange],
    context: TaskContext,
    policy: Policy,
    table: Table,
    times: tuple[float, float],
) -> dict[str, Any]:
    start, end = times
    last = stretches[-1]
    return {
        **known.manifest.facts,
        "revision": last.until,
        "store": last.store,
        "from": start if isfinite(start) else None,
        "until": end if isfinite(end) else None,
        **context.space.facts(),
        "members": [list(entity) for entity in sorted(policy.members)],
        "ownerships": list(context.ownerships),
        "scopes": index.scopes_digest(table),
    }


def _nodes(
    known: Index, spark: SparkSession, events: Iterable[Event], anchors: Iterable[Entity]
) -> Nodes:
    bits = known.space.bits
    skeleton = read_skeleton(known.folder / index.BLOCKS, bits, known.space.count)
    happened = list(events)
    selected = {NO_RESOURCE, *anchors}
    for event in happened:
        selected |= _named_by(event.effect, known.system)
    batch_nodes = Nodes(skeleton, known.system, _names_of(blocks_of(known, spark), selected, bits))
    for event in happened:
        batch_nodes.take(event)
    return batch_nodes


def _named_by(effect: Effect, system: System) -> set[Entity]:
    """All entities that an effect names, and their ancestors according to their names."""
    named: list[Entity | None]
    match effect:
        case EntityAdded(entity, parent) | EntityMoved(entity, parent):
            named = [entity, parent]
        case EntityDropped(entity) | AttributeChanged(entity):
            named = [entity]
        case EntityRenamed(entity, name):
            named = [entity, Entity(entity.type, name)]
        case RelationChanged(row):
            named = [row.source, row.target]
        case OwnerChanged(owner):
            named = [owner.entity]
        case _:
            named = []
    entities: set[Entity] = set()
    for named_entity in named:
        at = named_entity
        while at is not None and at not in entities:
            entities.add(at)
            at = None if at == NO_RESOURCE else spelled_parent(system.spelling, at)
    return entities


def _names_of(blocks: DataFrame, selected: Iterable[Entity], bits: int) -> dict[int, Entity]:
    """The names of the selected entities, and of all that are not stored, by id."""
    names = sorted(selected)
    table = pa.table({"s": [e.type for e in names], "t": [e.name for e in names]})
    wanted_entities = F.broadcast(
        blocks.sparkSession.createDataFrame(table).withColumn("wanted", F.lit(True))
    )
    rows = _own_entities(blocks, bits).join(wanted_entities, ["s", "t"], "left")
    matching = rows.where("wanted or not flag").select("id", "s", "t").toArrow()
    columns = (column.to_pylist() for column in matching.columns)
    return {id: Entity(type, name) for id, type, name in zip(*columns, strict=True)}


def _own_entities(blocks: DataFrame, bits: int) -> DataFrame:
    own = block_number("id", bits) == F.col("block")
    return blocks.where(own & (F.col("what") == ENTITY))


def _shift(nodes: Nodes, tree: Changed, blocks: DataFrame, space: IdSpace) -> Shift:
    skeleton = nodes.skeleton
    placed = {
        node: parent
        for node, parent in (*tree.moved.items(), *tree.fresh.items())
        if parent < skeleton.count
    }
    before = _before(blocks, placed, nodes.names, {*tree.moved, *tree.removed}, space)
    return shifted(skeleton.parents, skeleton.ends, tree, nodes.names, before, space.most)


def _before(
    blocks: DataFrame,
    placed: Mapping[int, int],
    names: Mapping[int, Entity],
    leaving: set[int],
    space: IdSpace,
) -> dict[int, int]:
    """By node: the first remaining member of its container that follows it."""
    if not placed:
        return {}
    spark = blocks.sparkSession
    order = sorted(placed)
    first_leaves = pa.table(
        {
            "node": pa.array(order, pa.int64()),
            "a": pa.array([placed[node] for node in order], space.width.arrow),
            "name": pa.array([names[node].name for node in order], pa.string()),
            "type": pa.array([names[node].type for node in order], pa.string()),
        }
    )
    members = _own_entities(blocks, space.bits).select("id", "a", "s", "t")
    if leaving:
        removed = pa.table({"id": pa.array(sorted(leaving), space.width.arrow)})
        members = members.join(F.broadcast(spark.createDataFrame(removed)), "id", "left_anti")
    follows = (F.col("t") > F.col("name")) | (
        (F.col("t") == F.col("name")) & (F.col("s") > F.col("type"))
    )
    joined = members.join(F.broadcast(spark.createDataFrame(first_leaves)), "a").where(follows)
    followers = joined.groupBy("node").agg(F.min("id").alias("id")).toArrow()
    return dict(zip(*(followers.column(c).to_pylist() for c in ("node", "id")), strict=True))


def _owning(
    skeleton: Skeleton, owners: CurrentRows[Owner], memberships: Memberships
) -> set[Principal]:
    numbers = np.unique(skeleton.owners.to[owners.rest]).tolist()
    owners_named = {memberships.principals[number] for number in numbers}
    return owners_named | {owner for _, owner, _ in owners.rows}


def _ownerships(skeleton: Skeleton, owners: CurrentRows[Owner]) -> tuple[str, ...]:
    codes = np.unique(skeleton.owners.codes[owners.rest]).tolist()
    names = {skeleton.owners.texts[code] for code in codes} | {
        ownership for _, _, ownership in owners.rows
    }
    return ("", *sorted(names - {""}))


def _common(nodes: Nodes, shift: Shift, anchors: Iterable[Entity]) -> Ints:
    """The guests of every block, as in `block_rows.everywhere`."""
    types = {node for node, entity in nodes.names.items() if not entity.name}
    named = {nodes.at[entity] for entity in anchors if entity in nodes.at}
    ids = {shift.id(node) for node in types | named} | affected_blocks.described_subjects(
        nodes, shift
    )
    return np.array(sorted((ids | {ROOT}) - {TOP}), np.int64)


def _translation(
    nodes: Nodes,
    tree: Changed,
    shift: Shift,
    edges: CurrentRows[Edge],
    owners: CurrentRows[Owner],
    numbers: Ints,
    width: IdWidth,
) -> Translation:
    def ids(numbers: Iterable[int]) -> Ints:
        return np.array(sorted(numbers), np.int64)

    return Translation(
        width=width,
        shift=shift,
        entities=ids({*tree.moved, *tree.restated}),
        sources=ids(edges.nodes),
        owned=ids(owners.nodes),
        emptied=ids(nodes.emptied),
        attributes=frozenset(nodes.attributes),
        owners=numbers,
    )


def _stating(table: Table, scopes: frozenset[int]) -> tuple[Statement, ...]:
    """The statements that use one of these scopes, including filters and masks."""
    sides = [grouped for side in table.sides.values() for grouped in side.values()]
    statement_ids = {g.statement.id for side in sides for g in side.every if g.scope in scopes}
    return tuple(table.statements[id] for id in table.statements if id in statement_ids)
