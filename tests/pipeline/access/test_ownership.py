"""Ownership in a report: lists of people that assets share, not a row for each asset."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import GROUP, USER, Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow, OwnerRow
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.service.system import load_system
from lakewarden.testing.worlds import World
from tests.pipeline.access.test_exactness import named_by_lists
from tests.pipeline.access.worlds import decided, export, report, rows
from tests.pipeline.review.whole import compiled

LAKE = Entity("metalake", "m")
CATALOG = Entity("catalog", "m:c")
SCHEMA = Entity("schema", "m:c.s")
USERS = [Principal(USER, f"u{number:02}") for number in range(12)]
CREW = Principal(GROUP, "crew")


def estate(tables: int, crew: Sequence[Principal]) -> World:
    """A schema of the crew, in a catalog of `u00`; the tables belong to three users."""
    leaves = [Entity("table", f"m:c.s.t{number:03}") for number in range(tables)]
    above = {CATALOG: LAKE, SCHEMA: CATALOG, **dict.fromkeys(leaves, SCHEMA)}
    owners = [OwnerRow(CATALOG, USERS[0], ""), OwnerRow(SCHEMA, CREW, "")]
    owners += [OwnerRow(leaf, USERS[n % 3], "") for n, leaf in enumerate(leaves)]
    members = [MembershipRow(user, members_of("m")) for user in USERS]
    to_use = frozenset({"USE_CATALOG", "USE_SCHEMA"})
    everybody = frozenset({members_of("m")})
    facts = Facts(
        entities=[EntityRow(LAKE, None), *(EntityRow(*row) for row in above.items())],
        owners=owners,
        principals=[*USERS, CREW],
        memberships=[*members, *(MembershipRow(user, CREW) for user in crew)],
        statements=[Statement("use", Effect.ALLOW, to_use, On(LAKE), everybody)],
    )
    return World(load_system("gravitino", {"mode": "next"}), facts)


def test_rows_of_ownership_do_not_grow_with_assets(tmp_path: Path) -> None:
    sizes = []
    for tables in (6, 60):
        world = estate(tables, USERS[1:])
        place = tmp_path / str(tables)
        export(place / "export", world, compiled(world))
        result = report(place / "export", place / "out")
        content = result.manifest.tables
        sizes.append([content[name].rows for name in ("owner_sets", "people_lists", "class_sets")])
        expected = decided(Matrix(compiled(world)))
        assert len({asset for _, asset, _ in expected}) > tables
        assets = {row["asset"]: row for row in rows(place / "out", result, "assets")}
        assert named_by_lists(place / "out", result, assets) == expected
    assert sizes[0] == sizes[1]


def test_a_set_names_the_owner_and_what_is_owned(tmp_path: Path) -> None:
    world = estate(3, USERS[1:])
    export(tmp_path / "export", world, compiled(world))
    result = report(tmp_path / "export", tmp_path / "out")
    (asset,) = (
        row for row in rows(tmp_path / "out", result, "assets") if row["asset"].endswith("t001")
    )
    sets = rows(tmp_path / "out", result, "owner_sets")
    of = {(row["reason"], row["holder"]) for row in sets if row["owners"] == asset["read_owners"]}
    assert ("owner of schema", "group:crew") in of
    assert any(holder == "user:u00" for _, holder in of)
    assert any(holder == "user:u01" for _, holder in of)
    (reason,) = (
        row["reason"]
        for row in rows(tmp_path / "out", result, "access")
        if row["asset"] == asset["asset"] and row["way"] == "read" and row["user"] == "u01"
    )
    assert reason.split("; ") == sorted(reason.split("; "))
    assert len(reason.split("; ")) > 1


MOVES = [(USERS[1:], USERS[2:]), (USERS[1:3], USERS[1:]), ([], USERS[:2]), (USERS, [])]
"""The crew, before and now."""


@pytest.mark.by_day(1)
@pytest.mark.parametrize(("before", "now"), MOVES)
def test_changes_of_owners_are_found_by_list(
    before: Sequence[Principal], now: Sequence[Principal], tmp_path: Path
) -> None:
    source, out = tmp_path / "export", tmp_path / "out"
    first, second = estate(7, before), estate(7, now)
    pairs = [decided(Matrix(compiled(world))) for world in (first, second)]
    export(source, first, compiled(first))
    report(source, out, before=out)
    export(source, second, compiled(second))
    result = report(source, out, before=out)
    found: dict[str, dict[tuple[str, str], int]] = {"gained": {}, "lost": {}}
    differ = {"gained": pairs[1] - pairs[0], "lost": pairs[0] - pairs[1]}
    for row in rows(out, result, "changes"):
        counts = found[row["change"]]
        counts[row["way"], row["user"]] = counts.get((row["way"], row["user"]), 0) + row["assets"]
        assert (row["way"], row["example"], row["user"]) in differ[row["change"]]
    for change, expected in differ.items():
        counts = {}
        for way, _, user in expected:
            counts[way, user] = counts.get((way, user), 0) + 1
        assert found[change] == counts
    assert differ["gained"] | differ["lost"]
