"""Events for drawn worlds: a log of permitted accesses, a policy to plan, a feed."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bench.pipeline import happening
from bench.pipeline.estate import World
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement_file import read_statements
from lakewarden.pipeline.directory import load
from lakewarden.pipeline.index.index import Index, snapshot
from lakewarden.pipeline.stream.events import Line, events_after
from tests.bench.pipeline.worlds import TINY, WORLDS
from tests.pipeline.stream import offline

AT = {"revision": 1, "store": "drawn"}
EVENTS = {"owner": 5, "member": 2, "added": 3, "dropped": 2, "stated": 4}


@pytest.fixture(name="index", scope="module", params=WORLDS, ids=lambda world: world.kind)
def _index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Index:
    world: World = request.param
    folder = tmp_path_factory.mktemp(world.kind)
    world.write(folder / "world", TINY, seed=1)
    loaded = load(folder / "world")
    told = {"realm": world.kind, **AT}
    return offline.indexed(folder / "index", loaded.system, loaded.facts, told, bits=7)


@pytest.fixture(name="happened")
def _happened(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(happening, "QUESTIONS", 300)
    monkeypatch.setattr(happening, "STATEMENTS", 5)
    monkeypatch.setattr(happening, "EVENTS", EVENTS)
    happening.write(index.out, tmp_path)
    return tmp_path


@pytest.mark.by_day(1)
def test_whatever_is_logged_is_allowed(index: Index, happened: Path) -> None:
    matrix = Matrix(snapshot(index))
    rows = pq.read_table(happened / happening.USAGE).to_pylist()
    assert rows
    for row in rows:
        who, target = Principal(USER, row["user"]), Entity(row["type"], row["name"])
        assert row["realm"] == index.realm
        assert matrix.decide(Request(who, row["operation"], target, index.now)).allow


@pytest.mark.by_day(1, turns=True)
def test_the_other_policy_says_less(index: Index, happened: Path) -> None:
    table = tomllib.loads((happened / happening.POLICY).read_text("utf-8"))
    system = index.system
    read = read_statements(table["statement"], system.model, system.spelling, "policy")
    before = {statement.id: statement for statement in index.statements()}
    assert len(read) == 5
    assert all(one.privileges < before[one.id].privileges for one in read)


@pytest.mark.by_day(1, turns=True)
def test_the_feed_follows_on_the_index(index: Index, happened: Path) -> None:
    (file,) = (happened / happening.FEED).iterdir()
    lines = [Line(f"line {n}", text) for n, text in enumerate(file.read_text().splitlines())]
    ((stretch,), waiting, passed) = events_after(lines, index, whole=True)
    assert not waiting
    assert not passed
    kinds = Counter(type(event.effect).__name__ for event in stretch.events)
    stated = kinds.pop("StatementAdded", 0) + kinds.pop("StatementRemoved", 0)
    assert stated == EVENTS["stated"]
    assert kinds == {
        "OwnerChanged": EVENTS["owner"],
        "MembershipChanged": EVENTS["member"],
        "EntityAdded": EVENTS["added"],
        "EntityDropped": EVENTS["dropped"],
    }
