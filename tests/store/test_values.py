"""Time series: stored by entity, aspect, time and mark, in order, on either engine."""

from __future__ import annotations

from lakewarden.kernel.change import EntityDropped, EntityRenamed
from lakewarden.kernel.entity import Entity
from lakewarden.service.effect import RealmChanged, ValueChanged, ValuePlace, ValueSize
from lakewarden.store import SqlStore
from tests.store.lake import REALM, TABLE, tables, with_realm, write

OTHER = Entity("table", "lk:c.s.u")
EVER = (-(2**53), 2**53)


def value(
    time: int, mark: str = "", entity: Entity = TABLE, aspect: str = "profile"
) -> ValueChanged:
    return ValueChanged(entity, aspect, time, mark, {"at": time, "mark": mark})


def kept(store: SqlStore, entity: Entity = TABLE, limit: int = 99, skip: int = 0) -> list[object]:
    with store.reading() as reading:
        rows = reading.values(REALM, entity, "profile", *EVER, limit, skip)
    assert all(row.body["at"] == row.time for row in rows)
    return [(row.time, row.mark) for row in rows]


def test_values_come_back_the_newest_first(store: SqlStore) -> None:
    with_realm(store, value(2), value(1, "b"), value(1, "a"), value(-(2**53)), value(2**53))
    everything = [(2**53, ""), (2, ""), (1, "a"), (1, "b"), (-(2**53), "")]
    assert kept(store) == everything
    assert kept(store, limit=2, skip=1) == everything[1:3]
    with store.reading() as reading:
        assert [row.time for row in reading.values(REALM, TABLE, "profile", 1, 1, 9)] == [1, 1]
        assert reading.values(REALM, TABLE, "operation", *EVER, 9) == []
        assert reading.values("sea", TABLE, "profile", *EVER, 9) == []
        assert reading.value_counts(REALM, TABLE) == {"profile": 5}


def test_one_of_the_same_time_and_mark_takes_the_place_of_the_other(store: SqlStore) -> None:
    with_realm(store, value(1, "a"), ValueChanged(TABLE, "profile", 1, "a", {"at": 1, "x": 2}))
    with store.reading() as reading:
        (row,) = reading.values(REALM, TABLE, "profile", *EVER, 9)
    assert row.body == {"at": 1, "x": 2}
    write(store, ValueChanged(TABLE, "profile", 1, "b", None))
    assert kept(store) == [(1, "a")]
    write(store, ValueChanged(TABLE, "profile", 1, "a", None))
    assert kept(store) == []


def test_values_of_a_type_are_paged(store: SqlStore) -> None:
    with_realm(
        store, value(1), value(2, "b"), value(2, "a"), value(2, "", OTHER), value(9, "", OTHER, "x")
    )
    wanted = [(2, TABLE.name, "a"), (2, TABLE.name, "b"), (2, OTHER.name, ""), (1, TABLE.name, "")]
    after: ValuePlace | None = None
    found: list[ValuePlace] = []
    with store.reading() as reading:
        for _ in wanted:
            row = next(reading.values_of(REALM, "table", "profile", *EVER, after))
            after = ValuePlace(row.time, row.entity.name, row.mark)
            found.append(after)
        assert list(reading.values_of(REALM, "table", "profile", *EVER, after)) == []
        sizes = reading.value_sizes(REALM)
    assert found == wanted
    assert [(size.aspect, size.rows) for size in sizes] == [("profile", 4), ("x", 1)]
    assert isinstance(sizes[0], ValueSize)
    assert sizes[1].size == len('{"at":9,"mark":""}')


def test_values_go_with_the_entity_follow_its_name_and_end_with_the_realm(store: SqlStore) -> None:
    with_realm(store, *tables(1), value(1))
    entity = tables(1)[0].entity  # type: ignore[union-attr]
    write(store, value(2, "", entity))
    renamed = Entity("table", f"{entity.name}x")
    write(store, EntityRenamed(entity, renamed.name))
    assert kept(store, renamed) == [(2, "")]
    assert kept(store, entity) == []
    with store.reading() as reading:
        rows = list(reading.values_of(REALM, "table", "profile", 2, 2, None))
    assert [row.entity for row in rows] == [renamed]
    write(store, EntityDropped(renamed))
    assert kept(store, renamed) == []
    write(store, RealmChanged(REALM, None))
    assert kept(store) == []
