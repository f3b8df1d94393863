"""Random changes: of every kind, valid, and followed by the rows that they announce."""

from __future__ import annotations

from collections import Counter
from typing import get_args

import pytest

from lakewarden.kernel import incremental_compile
from lakewarden.kernel.change import Change, EntityDropped, EntityRenamed
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement import On
from lakewarden.testing.changes import after, change
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import make
from tests.agreement import harness


@pytest.mark.by_day(2)
@pytest.mark.parametrize("name", ["gravitino", "cdap", "datahub", "everything"])
def test_a_change_is_possible_and_leaves_rows_that_the_kernel_takes(name: str) -> None:
    system = harness.system(name)
    for seed in range(40):
        facts = make(system, seed, harness.SMALL).facts
        made, later = change(system, facts, seed)
        before = compile(facts, system.model, system.spelling, now=NOW, revision=1)
        incremental_compile.apply(Matrix(before), [made], now=NOW, revision=2)
        compile(later, system.model, system.spelling, now=NOW, revision=2)


def test_every_kind_of_change_happens() -> None:
    system = harness.system("everything")
    facts = make(system, 3).facts
    kinds = Counter(type(change(system, facts, seed)[0]) for seed in range(300))
    assert set(kinds) == set(get_args(Change))


def test_the_same_seed_draws_the_same_change() -> None:
    system = harness.system("datahub")
    facts = make(system, 3).facts
    assert [change(system, facts, 7)] == [change(system, facts, 7)]


def test_what_is_dropped_takes_along_what_was_known_about_it() -> None:
    system = harness.system("gravitino")
    for seed in range(20):
        facts = make(system, seed).facts
        schema = next((r.entity for r in facts.entities if r.entity.type == "schema"), None)
        if schema is not None:
            later = after(system, facts, EntityDropped(schema))
            gone = {r.entity for r in facts.entities} - {r.entity for r in later.entities}
            assert schema in gone
            assert not gone & {row.entity for row in later.owners}
            grants = [s for s in later.statements if not s.obliges]
            assert not gone & {s.scope.entity for s in grants if isinstance(s.scope, On)}
            assert not gone & {row.parent for row in later.entities}


def test_what_is_renamed_is_known_by_its_new_name_alone() -> None:
    system = harness.system("gravitino")
    facts = make(system, 4).facts
    schema = next(r.entity for r in facts.entities if r.entity.type == "schema")
    later = after(system, facts, EntityRenamed(schema, schema.name + "_new"))
    assert str(schema) not in str(later)
    assert Entity("schema", schema.name + "_new") in {row.entity for row in later.entities}
