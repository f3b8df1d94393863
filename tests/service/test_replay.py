"""A change feed adds up to the stored rows; a difference is detected."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.kernel.change import (
    AttributeChanged,
    EntityAdded,
    EntityMoved,
    EntityRenamed,
    OwnerChanged,
    RelationChanged,
    StatementRemoved,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import Facts, OwnerRow, RelationRow
from lakewarden.service import realms
from lakewarden.service.effect import FeedRow, LinkChanged, encode
from lakewarden.service.link import Asset, link
from lakewarden.service.ports import FeedTruncated
from lakewarden.service.replay import Disagreement, Replay, ScopeTables, compare
from tests.agreement.conftest import a_share_of_the_examples
from tests.service.opened_services import (
    ADMIN,
    LAKE,
    change_at_random,
    furnish,
    opened,
    prune_feed,
)

seeds = st.integers(0, 2**32 - 1)
few = a_share_of_the_examples(20)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gravitino", "datahub", "cdap"])
@few
@given(seed=seeds)
def test_the_feed_of_any_changes_adds_up(name: str, seed: int) -> None:
    with TemporaryDirectory() as folder, opened(Path(folder), name) as service:
        for _ in change_at_random(service, seed, steps=4):
            pass
        with service.reading() as reading:
            assert compare(reading) == []


def test_a_realm_that_was_dropped_leaves_nothing_to_compare(tmp_path: Path) -> None:
    with opened(tmp_path) as service:
        furnish(service)
        service.write(ADMIN, lambda transaction: realms.drop(transaction, LAKE))
        with service.reading() as reading:
            assert compare(reading) == []


def test_rows_that_only_one_side_has_are_counted_by_table(tmp_path: Path) -> None:
    with opened(tmp_path) as service:
        furnish(service)
        with service.store.writing() as writing:
            writing.apply(LAKE, [StatementRemoved("nope")])
            writing.commit(())
        with service.reading() as reading:
            assert compare(reading) == []
            facts = reading.facts(LAKE, service.state.realm(LAKE).system)
        rows, empty = ScopeTables.of(facts), ScopeTables.of(Facts())
        assert rows.difference(rows) == {}
        assert rows.difference(empty) == {"entities": 7, "principals": 3, "memberships": 3}


class Walked(dict[Entity, Entity | None]):
    """Entities that count the iterations over all of them."""

    walks = 0

    def items(self) -> Any:
        self.walks += 1
        return super().items()


def test_a_rename_takes_along_what_names_it_and_walks_over_no_other_rows() -> None:
    lake, *tables = (Entity("table", name) for name in ("lake", *"abcd"))
    tag, ana = Entity("tag", "x"), Principal("user", "ana")
    rows = ScopeTables()
    for table in tables:
        rows.apply(EntityAdded(table, lake))
        rows.apply(RelationChanged(RelationRow("tag", table, tag), True))
    rows.apply(RelationChanged(RelationRow("tag", tag, tag), True))
    rows.apply(OwnerChanged(OwnerRow(tables[0], ana), True))
    rows.apply(AttributeChanged(tables[0], "status", ("old",)))
    rows.apply(EntityMoved(tables[3], tables[0]))
    rows.entities = walked = Walked(rows.entities)
    for entity, name in (
        *((table, f"{table.name}2") for table in tables),
        *((tag, "y"), (Entity("tag", "y"), "z"), (lake, "pond"), (tables[1], "nothing")),
    ):
        rows.apply(EntityRenamed(entity, name))
    pond, tag = Entity("table", "pond"), Entity("tag", "z")
    a, b, c, d = (Entity("table", f"{name}2") for name in "abcd")
    assert rows.entities == {a: pond, b: pond, c: pond, d: a}
    assert {row for found in rows.relations.values() for row in found} == {
        RelationRow("tag", source, tag) for source in (a, b, c, d, tag)
    }
    assert rows.owners == {a: {OwnerRow(a, ana)}}
    assert rows.attributes == {a: {"status": ("old",)}}
    assert walked.walks == 1


def test_a_link_is_added_without_a_look_at_all_others() -> None:
    ends = [Asset(LAKE, Entity("table", f"lk:c.s.t{number}")) for number in range(3)]
    replay, kept = Replay(), list[object]()
    for number, pair in enumerate((link(ends[0], ends[1]), link(ends[1], ends[2]))):
        replay.apply(FeedRow(1, number, "@main", *encode(LinkChanged(pair, ""))))
        kept.append(replay.links.ends)
    assert kept[0] is kept[1]
    assert replay.links.same(ends[0]) == tuple(ends)


def test_a_feed_that_was_pruned_is_not_compared(tmp_path: Path) -> None:
    with opened(tmp_path) as service:
        furnish(service)
        prune_feed(service)
        with service.reading() as reading, pytest.raises(FeedTruncated):
            compare(reading)
    assert Disagreement("lake", {"entities": 1}).scope == "lake"
