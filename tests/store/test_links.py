"""Links in the store: found by either end, under all its names, on either engine."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from lakewarden.kernel.change import EntityAdded, EntityDropped, EntityRenamed
from lakewarden.kernel.entity import Entity
from lakewarden.service.effect import Effect, LinkChanged, RealmChanged
from lakewarden.service.link import Asset, Link, Links, link
from lakewarden.service.state_builder import Scoped, links_after
from lakewarden.store import SqlStore, open_store
from lakewarden.store.backup import restore
from tests.store.lake import REALM, write

LAKES = ("lake", "pond", "sea")


def links(store: SqlStore) -> list[tuple[Link, str]]:
    with store.reading() as reading:
        return sorted(reading.links())


def do(store: SqlStore, scope: str, *effects: Effect) -> None:
    with store.writing() as writing:
        writing.apply(scope, list(effects))
        writing.commit(())


def table(name: str) -> Entity:
    return Entity("table", f"lk:c.s.{name}")


@pytest.mark.by_day(4)
@pytest.mark.parametrize("seed", range(4))
def test_rows_are_the_links_that_the_effects_come_to(store: SqlStore, seed: int) -> None:
    rng = random.Random(seed)
    names = [f"t{number}" for number in range(4)]
    for realm in LAKES:
        do(store, realm, *(EntityAdded(table(name), None) for name in names))
    known = {realm: list(names) for realm in LAKES}
    expected, fresh = Links(), 0

    def asset() -> Asset:
        realm = rng.choice([realm for realm in LAKES if known[realm]])
        return Asset(realm, table(rng.choice(known[realm])))

    for _ in range(60):
        done: Scoped
        kind = rng.choice(["put", "put", "put", "take", "rename", "drop"])
        one, other = asset(), asset()
        if kind in ("put", "take"):
            if one == other:
                continue
            keeper = rng.choice(["", "rules"]) if kind == "put" else None
            done = ("@main", LinkChanged(link(one, other), keeper))
        elif kind == "rename":
            fresh += 1
            new = f"{rng.choice('az')}{fresh}"
            known[one.realm].remove(one.entity.name.rpartition(".")[2])
            known[one.realm].append(new)
            done = (one.realm, EntityRenamed(one.entity, table(new).name))
        elif len(known[one.realm]) > 2:
            known[one.realm].remove(one.entity.name.rpartition(".")[2])
            done = (one.realm, EntityDropped(one.entity))
        else:
            continue
        do(store, *done)
        expected = links_after(expected, [done])
        assert links(store) == list(expected.all())
    do(store, "pond", RealmChanged("pond", None))
    expected = links_after(expected, [("pond", RealmChanged("pond", None))])
    assert links(store) == list(expected.all())


def test_a_backup_carries_links(store: SqlStore, tmp_path: Path) -> None:
    write(store, EntityAdded(table("t"), None))
    ends = Asset(REALM, table("t")), Asset("hub", Entity("dataset", "ü"))
    do(store, "@main", LinkChanged(link(*ends), "rules"))
    before = links(store)
    store.backup(tmp_path / "backup")
    url = f"sqlite:///{tmp_path / 'again.db'}"
    restore(tmp_path / "backup", url)
    with open_store(url) as again:
        assert links(again) == before
