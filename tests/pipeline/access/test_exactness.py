"""A report lists exactly the kernel's pairs, and its counts are their number."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lakewarden.kernel.matrix import Matrix
from lakewarden.pipeline.job import Result
from tests.agreement import harness
from tests.pipeline.access.worlds import Pair, decided, export, report, rows
from tests.pipeline.review.whole import compiled, some

SHIPPED = [name for name in harness.SYSTEMS if not name.startswith("everything")]


def named(*by_day: str) -> list[object]:
    """Every shipped system; those that are not named run nightly."""
    night = pytest.mark.nightly
    return [n if n in by_day else pytest.param(n, marks=night) for n in SHIPPED]


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", named("gravitino", "datahub"))
def test_every_table_agrees_with_the_kernel(name: str, tmp_path: Path) -> None:
    (world,) = some(name, 9_130, 1)
    snapshot = compiled(world)
    export(tmp_path / "export", world, snapshot)
    out = tmp_path / "access"
    result = report(tmp_path / "export", out)
    expected = decided(Matrix(snapshot))
    assert expected
    found = [(row["way"], row["asset"], row["user"]) for row in rows(out, result, "access")]
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert all(row["reason"] for row in rows(out, result, "access"))
    assets = {row["asset"]: row for row in rows(out, result, "assets")}
    counted = Counter((way, asset) for way, asset, _ in expected)
    for (way, asset), n in counted.items():
        assert assets[asset][f"{way}_users"] == n
    assert named_by_lists(out, result, assets) == expected
    by_person = Counter((way, user) for way, _, user in expected)
    told = {(r["way"], r["user"]): r["assets"] for r in rows(out, result, "people")}
    assert {key: n for key, n in told.items() if n} == dict(by_person)
    by_tag = Counter(
        (tag, way, user) for way, asset, user in expected for tag in assets[asset]["tags"]
    )
    assert by_tag or name.startswith("cdap")
    assert {
        (r["tag"], r["way"], r["user"]): r["assets"] for r in rows(out, result, "by_tag")
    } == dict(by_tag)
    by_owner = Counter(
        (owner, way, user) for way, asset, user in expected for owner in assets[asset]["owners"]
    )
    assert {
        (r["owner"], r["way"], r["user"]): r["assets"] for r in rows(out, result, "by_owner")
    } == dict(by_owner)


def named_by_lists(out: Path, result: Result, assets: dict[str, dict[str, Any]]) -> set[Pair]:
    """Every pair, from classes and owner sets in `assets`, and their lists of people."""
    lists: dict[str, set[str]] = {}
    found = rows(out, result, "people_lists")
    for row in found:
        lists.setdefault(row["people"], set()).add(row["user"])
    assert sum(map(len, lists.values())) == len(found)
    sets = [(row["class"], row["people"]) for row in rows(out, result, "class_sets")]
    sets += [(row["owners"], row["people"]) for row in rows(out, result, "owner_sets")]
    assert {people for _, people in sets} == set(lists)
    users: dict[str, set[str]] = {}
    for name, people in sets:
        users.setdefault(name, set()).update(lists[people])
    return {
        (way, asset, user)
        for asset, row in assets.items()
        for way in ("see", "read", "change")
        for kind in ("class", "owners")
        for user in users.get(row[f"{way}_{kind}"], ())
    }


@pytest.mark.parametrize("name", named("gravitino"))
def test_changes_are_the_difference_of_what_the_kernel_decides(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = some(name, 9_200, 2)
    monkeypatch.chdir(tmp_path)
    source, out = Path("export"), Path("access")
    before, now = (decided(Matrix(compiled(world))) for world in (first, second))
    export(source, first, compiled(first))
    assert rows(out, report(source, out, before=out), "changes") == []
    export(source, second, compiled(second))
    result = report(source, out, before=out)
    changes = rows(out, result, "changes")
    for change, pairs in (("gained", now - before), ("lost", before - now)):
        counted: Counter[tuple[str, str]] = Counter()
        assert pairs
        for row in changes:
            if row["change"] == change:
                counted[row["way"], row["user"]] += row["assets"]
                assert (row["way"], row["example"], row["user"]) in pairs
        assert counted == Counter((way, user) for way, _, user in pairs)
    again = report(source, out, before=out)
    assert rows(out, again, "changes") == rows(out, again, "joiners_leavers") == []
