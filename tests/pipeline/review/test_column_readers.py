"""A review lists as a column's readers the users whom the kernel allows without a mask.

And no users to whom a DENY closes the column.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.model import READ
from lakewarden.kernel.obligations import obligations
from lakewarden.kernel.principal import ALL_USERS, USER, Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Effect, Matching, On, Owners, Scope, Statement
from lakewarden.kernel.who import who
from lakewarden.pipeline.review.labels import TAGS, TERMS
from lakewarden.service.effective_read import denied_columns
from lakewarden.testing.statement_generator import StatementGenerator
from lakewarden.testing.world_draft import NOW, WorldDraft
from lakewarden.testing.worlds import Size, World
from tests.pipeline.review.whole import Reviewed, review, some

SIZE = Size(entities=60, users=8, groups=3, roles=4, statements=30, goals=20)
MASKS = 8
DENIES = 12
DENIED = ("SELECT_COLUMN", "SELECT_TABLE", "MODIFY_TABLE")
"""The privileges in the rule for the values of Gravitino's columns."""
OWNED = (Owners(), None, None)
"""Some masks bind owners, some spare them."""


def masked(name: str, first: int, count: int) -> Iterator[World]:
    """Worlds with columns, and masks on them."""
    for world in some(name, first, count, SIZE):
        draft = WorldDraft.of(world.system, world.facts, random.Random(first))
        drawn = (StatementGenerator(draft).obligation(Effect.MASK) for _ in range(MASKS))
        masks = [
            replace(mask, id=f"mask-{n}", owners=OWNED[n % 3], except_owners=OWNED[(n + 1) % 3])
            for n, mask in enumerate(drawn)
            if mask
        ]
        facts = replace(world.facts, statements=(*world.facts.statements, *masks))
        yield replace(world, facts=facts)


def denied(first: int, count: int) -> Iterator[World]:
    """Worlds with columns, masks on them, and DENYs on them and on what they lie in."""
    for world in masked("gravitino", first, count):
        draft = WorldDraft.of(world.system, world.facts, random.Random(first + 1))
        masks = [one for one in world.facts.statements if one.effect is Effect.MASK]
        columns = [one.scope.entity for one in masks if isinstance(one.scope, On)]
        opening = Statement(
            id="opening",
            effect=Effect.ALLOW,
            privileges=frozenset({"USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"}),
            scope=On(next(one for one, parent in world.facts.entities if parent is None)),
            principals=frozenset({ALL_USERS}),
        )
        denies = (denying(draft, draft.rng.choice(columns), n) for n in range(DENIES))
        stated = (*world.facts.statements, opening, *denies)
        yield replace(world, facts=replace(world.facts, statements=stated))


def denying(draft: WorldDraft, column: Entity, number: int) -> Statement:
    """A DENY to some of the people, on a column or on what reaches it."""
    rng, spelling = draft.rng, draft.system.spelling
    parts = spelling.parts(column)
    starred = tuple(rng.choice((part, "*", part[:1] + "*")) for part in parts)
    scopes: tuple[Scope, ...] = (
        *(On(column), Matching(column.type, starred)) * 4,
        On(rng.choice(draft.path(column))),
    )
    return Statement(
        id=f"deny-{number}",
        effect=Effect.DENY,
        privileges=frozenset({DENIED[0] if number % 3 else rng.choice(DENIED[1:])}),
        scope=rng.choice(scopes),
        principals=frozenset(StatementGenerator(draft).actors()),
        valid_until=NOW + rng.choice((-50.0, 50.0)) if draft.often(0.2) else None,
    )


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    ("name", "first", "count"),
    [("gravitino", 9_000, 1), ("gravitino", 9_001, 2), ("datahub", 9_200, 1)],
)
def test_columns_are_told_with_who_reads_their_values(name: str, first: int, count: int) -> None:
    reviews = [review(world) for world in masked(name, first, count)]
    bound, _ = map(sum, zip(*map(told, reviews), strict=True))
    assert any(found.columns for found in reviews)
    assert bound or name != "gravitino"


@pytest.mark.by_day(1)
@pytest.mark.parametrize(("first", "count"), [(9_302, 1), (9_300, 3)])
def test_nobody_is_told_to_read_what_a_deny_closes(first: int, count: int) -> None:
    found = [told(review(world)) for world in denied(first, count)]
    bound, closed = map(sum, zip(*found, strict=True))
    assert bound
    assert closed


def told(found: Reviewed) -> tuple[int, int]:
    """Compares the rows with the kernel.

    Returns how often somebody reads masked values, and to how many readers of a table a column is
    closed.
    """
    bound = closed = 0
    snapshot, model = found.matrix.snapshot, found.model
    coded, types = snapshot.coded, found.model.types
    labels = {*TAGS, *TERMS} & coded.relations.keys()
    for id in coded.tree.stored:
        column = coded.tree.entity(id)
        if column.type not in types or not types[column.type].masked:
            assert id not in found.columns
            continue
        masks = [
            mask for mask in snapshot.table.obligations(Effect.MASK) if snapshot.lies_in(id, mask)
        ]
        table = next((e for e in coded.ancestors(column) if types[e.type].filtered), None)
        is_told = table and (masks or any(coded.relations[label].of(id) for label in labels))
        assert (id in found.columns) == bool(is_told), column
        if table is None or id not in found.columns:
            continue
        ids, unmasked, masked = found.columns[id]
        assert ids == sorted(mask.statement.id for mask in masks)
        request = Request(Principal(USER, ""), model.reaching(READ, table.type) or "", table, NOW)
        all_readers = set(who(found.matrix, request)) if request.operation else set()
        readers = {
            one
            for one in all_readers
            if not denied_columns(found.matrix, replace(request, principal=one), [column])
        }
        on_it = replace(request, target=column)
        seeing = {
            one
            for one in readers
            if not obligations(found.matrix, replace(on_it, principal=one), Effect.MASK)
        }
        principals = coded.memberships.principals
        assert {principals[user] for user in unmasked} == seeing, column
        assert {principals[user] for user in masked} == readers - seeing, column
        bound += len(masked)
        closed += len(all_readers) - len(readers)
    return bound, closed
