"""The changes as a comment on a pull request and as a code scanning log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap

from lakewarden.cli.pipeline.diff_summary import files_of, markdown, part, parts_of, sarif

ROW: dict[str, Any] = {
    "gained": True,
    "kind": "privilege",
    "name": "SELECT_TABLE",
    "type": "table",
    "principals": ["role:lk:readers"],
    "statements": ["read", "more"],
    "n_users": 3,
    "others": False,
    "entities": 2,
    "example": "lk:c.s.t",
    "pairs": 6,
}
LOST = {**ROW, "gained": False, "others": True, "n_users": 0, "entities": 1, "statements": []}


def side(parts: int, pairs: int) -> dict[str, int]:
    return {"parts": parts, "pairs": pairs}


def changes(gained: int, lost: int) -> dict[str, Any]:
    by_sign = {"gained": side(gained, 6 * gained), "lost": side(lost, 2 * lost)}
    return {
        "privilege": by_sign,
        "operation": {"gained": side(0, 0), "lost": side(0, 0)},
        "users": 3,
        "others": True,
        "entities": 2,
    }


def test_a_comment_has_the_totals_and_the_largest_parts() -> None:
    said = markdown(changes(1, 1), [part(ROW), part(LOST)], 7).splitlines()
    assert "| privileges | 6 | 2 |" in said
    assert "| operations | 0 | 0 |" in said
    assert (
        "| gains | 3 users | SELECT\\_TABLE | 2 × table, such as table:lk:c.s.t |"
        " role:lk:readers by read, more |"
    ) in said
    assert said[-3].startswith("| **loses** | whoever is not stored |")
    assert said[-1] == "And 5 parts more, in the table `parts`."
    assert "Pairs of a user and an entity, by 3 users, and whoever is not stored" in "".join(said)


def test_a_comment_says_that_nothing_changes() -> None:
    assert markdown(changes(0, 0), [], 0) == "**Access:** nobody gains or loses anything."


@pytest.mark.parametrize(
    "name", ["a|b", "<script>", "[x](y)", "`code`", "two\nlines", "@team", "#1"]
)
def test_names_are_no_markup(name: str) -> None:
    cells = {**ROW, "example": f"lk:{name}", "principals": [f"role:{name}"], "statements": [name]}
    rows = markdown(changes(1, 0), [part(cells)], 1).splitlines()[-1]
    assert rows.startswith("| gains | ")
    plain = rows
    for character in "\\|<>[]()`@#":
        plain = plain.replace(f"\\{character}", "")
    assert plain.count("|") == 6
    assert not {*plain} & {*"<>[]()`@#\n"}


def test_a_log_has_a_result_for_each_part_at_its_file() -> None:
    files = files_of(
        [("policies/sales team.toml", {"statement": [{"id": "more"}, {"id": 3}, "x"]}), ("b", 1)]
    )
    assert files == {"more": "policies/sales team.toml"}
    log: Any = sarif([part(ROW), part(LOST)], "lake", "1.2.3", files)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    first, second = run["results"]
    assert [rules[one["ruleIndex"]]["id"] for one in (first, second)] == [
        "access-gained",
        "access-lost",
    ]
    assert (first["level"], second["level"]) == ("warning", "note")
    (place,) = first["locations"]
    uri = place["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "policies/sales%20team.toml"
    assert "physicalLocation" not in second["locations"][0]
    assert first["message"]["text"].startswith("3 users gain SELECT_TABLE on 2 × table")
    assert first["partialFingerprints"] != second["partialFingerprints"]


def test_the_largest_parts_come_first_and_operations_tell_of_further_people(
    tmp_path: Path,
) -> None:
    def row(name: str, pairs: int, *users: int, **more: Any) -> dict[str, Any]:
        bits = BitMap(users).serialize()
        return {**ROW, "name": name, "pairs": pairs, "class": "c", "users": bits, **more}

    rows = [
        row("A", 1, 1, 2),
        row("B", 9, 3),
        row("C", 5, 3),
        row("told", 99, 1, 3, kind="operation"),
        row("owners", 7, 1, 4, kind="operation"),
        row("elsewhere", 6, 1, kind="operation", **{"class": "d"}),
        row("lost", 4, 1, kind="operation", gained=False),
        row("others", 3, kind="operation", others=True),
    ]
    (tmp_path / "parts").mkdir()
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "parts" / "one.parquet")
    parts, count = parts_of(tmp_path / "parts", 6)
    assert [one.name for one in parts] == ["B", "owners", "elsewhere", "C", "lost", "others"]
    assert count == 7
    pq.write_table(pa.Table.from_pylist(rows[3:4]), tmp_path / "parts" / "one.parquet")
    assert [one.name for one in parts_of(tmp_path / "parts", 6)[0]] == ["told"]
