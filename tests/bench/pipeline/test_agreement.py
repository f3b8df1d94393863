"""Targeted requests, and an index that answers them differently from the kernel."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from bench.literal import Void
from bench.pipeline import agreement, opening
from bench.pipeline.agreement import compared, compiled, reason_not_to
from bench.pipeline.aiming import AIMS, Aiming
from bench.pipeline.stages import EVERY
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.snapshot import Snapshot, compile
from lakewarden.kernel.statement import Effect
from lakewarden.pipeline.directory import Loaded, load
from tests.bench.pipeline.worlds import TINY, WORLDS
from tests.oracle.oracle import Oracle

KINDS = tuple(world.kind for world in WORLDS)
NOW = 1_000.0


@pytest.fixture(name="loaded", scope="module")
def _loaded(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Loaded]:
    folder = tmp_path_factory.mktemp("worlds")
    for world in WORLDS:
        world.write(folder / world.kind, TINY, seed=1)
    return {kind: load(folder / kind) for kind in KINDS}


def snapshot(loaded: Loaded, facts: Facts | None = None) -> Snapshot:
    system = loaded.system
    return compile(facts or loaded.facts, system.model, system.spelling, now=NOW)


@pytest.mark.by_day(1)
@pytest.mark.parametrize("kind", KINDS)
def test_the_oracle_answers_aimed_questions_as_the_kernel_does(
    kind: str, loaded: Mapping[str, Loaded]
) -> None:
    one = loaded[kind]
    oracle = Oracle(one.facts, one.system.model, one.system.spelling)
    kernel = snapshot(one)
    matrix = Matrix(kernel)
    for _, request in Aiming(kernel, Random(2), NOW).questions(150):
        assert oracle.check(request) is matrix.decide(request).allow, request


@pytest.mark.by_day(1)
@pytest.mark.parametrize("kind", KINDS)
def test_a_good_part_of_every_aim_hits(kind: str, loaded: Mapping[str, Loaded]) -> None:
    kernel = snapshot(loaded[kind])
    found = compared(kernel, kernel, Random(1), NOW, 1_000)
    assert found["asked"] == 1_000
    assert found["by_aim"].keys() == AIMS.keys()
    for aim in ("allow", "owner", "depth"):
        asked, allowed = found["by_aim"][aim]
        assert 0.1 < allowed / asked < 0.9, aim


def test_many_questions_are_decided_by_a_denial(loaded: Mapping[str, Loaded]) -> None:
    one = loaded["grants"]
    allowing = [s for s in one.facts.statements if s.effect is Effect.ALLOW]
    kernel = snapshot(one)
    strict, open = Matrix(kernel), Matrix(snapshot(one, replace(one.facts, statements=allowing)))
    decided = Counter(
        aim
        for aim, request in Aiming(kernel, Random(1), NOW).questions(1_000)
        if open.decide(request).allow and not strict.decide(request).allow
    )
    assert decided["deny"] >= 10


def test_the_same_seed_asks_the_same_questions(loaded: Mapping[str, Loaded]) -> None:
    kernel = snapshot(loaded["attributes"])
    first = list(Aiming(kernel, Random(3), NOW).questions(50))
    assert list(Aiming(kernel, Random(3), NOW).questions(50)) == first
    assert list(Aiming(kernel, Random(4), NOW).questions(50)) != first


def test_questions_bring_active_roles_or_sub_resources(loaded: Mapping[str, Loaded]) -> None:
    brought = {
        kind: [r for _, r in Aiming(snapshot(one), Random(1), NOW).questions(300)]
        for kind, one in loaded.items()
    }
    assert any(request.roles for request in brought["grants"])
    assert any(request.subresources for request in brought["attributes"])


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_that_lost_some_statements_is_found_out(
    kind: str, loaded: Mapping[str, Loaded]
) -> None:
    one = loaded[kind]
    fewer = replace(one.facts, statements=one.facts.statements[:-5])
    with pytest.raises(Void, match="the index says"):
        compared(snapshot(one), snapshot(one, fewer), Random(1), NOW, 2_000)


def test_an_index_that_lost_the_owners_is_found_out(loaded: Mapping[str, Loaded]) -> None:
    one = loaded["grants"]
    other = snapshot(one, replace(one.facts, owners=()))
    with pytest.raises(Void, match="the index says"):
        compared(snapshot(one), other, Random(1), NOW, 2_000)


def test_answers_that_are_all_alike_show_nothing(loaded: Mapping[str, Loaded]) -> None:
    kernel = snapshot(loaded["attributes"])
    with pytest.raises(Void, match="all answers are alike"):
        compared(kernel, kernel, Random(1), NOW, 1)


def test_what_the_index_holds_is_compared_with_what_the_directory_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    WORLDS[0].write(tmp_path / "world", TINY, seed=1)
    monkeypatch.setattr(opening, "read", lambda path: compiled(path, time.time()))
    found = agreement.agree(tmp_path / "world", tmp_path / "world", seed=1, count=200)
    assert found["asked"] == 200


def test_an_index_that_cannot_be_read_voids_what_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(path: Path) -> Snapshot:
        raise ValueError("it is damaged")

    monkeypatch.setattr(opening, "read", damaged)
    with pytest.raises(Void, match="cannot be read: ValueError: it is damaged"):
        agreement.agree(tmp_path, tmp_path, seed=1)


def test_the_reason_for_not_comparing_answers_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "can_read", lambda: False)
    assert reason_not_to(1_000) == "there is no `lakewarden.pipeline.index.index` yet"
    assert EVERY["snapshot"].missing() == reason_not_to(1_000)
    monkeypatch.setattr(opening, "can_read", lambda: True)
    assert reason_not_to(1_000) == ""
    monkeypatch.setattr(agreement, "_available_mib", lambda: 100.0)
    assert reason_not_to(1_000_000) == "needs 6,000 MiB of memory, 100 are there"
    assert reason_not_to(10_000_000) == "needs 6,600 MiB of memory, 100 are there"


def test_opening_tells_seconds_until_the_first_answer(
    loaded: Mapping[str, Loaded], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "INDEX", "bench.pipeline.opening")
    monkeypatch.setattr(opening, "read", lambda path: snapshot(loaded["grants"]))
    found = opening.opened(Path("index"))
    assert found["seconds"].keys() == {"read", "first answer"}
    assert found["entities"] > TINY.entities


def test_opening_needs_to_know_which_index(capsys: pytest.CaptureFixture[str]) -> None:
    assert opening.main([]) == 2
    assert "INDEX" in capsys.readouterr().err
