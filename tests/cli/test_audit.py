"""`lakewarden audit`."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lakewarden.cli import audit
from lakewarden.service import audit_reading
from tests.cli.stores import Admin


@pytest.fixture
def busy(admin: Admin) -> Admin:
    """A store with some events."""
    for name in ("ana", "ben", "cid"):
        admin("user", "add", name)
    return admin


def damage(admin: Admin, sql: str) -> None:
    with sqlite3.connect(admin.url.removeprefix("sqlite:///")) as database:
        triggers = database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for (name,) in triggers.fetchall():
            database.execute(f'DROP TRIGGER "{name}"')
        database.execute(sql)


def test_a_trail_is_whole_while_nobody_touches_it(busy: Admin) -> None:
    found = busy("audit", "verify")
    assert (found.code, found.out) == (0, "valid: 4 rows\n")
    assert "without anchors: rows can have been removed from the end" in found.err
    assert busy("audit", "verify", "--format", "json").json["whole"] is True


def anchored(admin: Admin, file: Path) -> Path:
    """A file with an anchor at the end of the trail."""
    (last,) = json.loads(admin("audit", "tail", "--last", "1", "--format", "json").out)
    anchor = {name: last[name] for name in ("seq", "digest", "seal")}
    file.write_text(json.dumps({"time": 1.0, **anchor}) + "\n", "utf-8")
    return file


def test_anchors_tell_of_rows_that_were_cut_off_with_the_counter(
    busy: Admin, tmp_path: Path
) -> None:
    file = anchored(busy, tmp_path / "anchors.jsonl")
    whole = busy("audit", "verify", "--against", str(file))
    assert (whole.code, whole.err) == (0, "")
    damage(busy, "DELETE FROM audit WHERE seq > 2")
    damage(busy, "UPDATE counter SET audit_seq = 2, audit_digest = "
                 "(SELECT digest FROM audit WHERE seq = 2)")  # fmt: skip
    assert busy("audit", "verify").code == 0
    found = busy("audit", "verify", "--against", str(file))
    assert found.code == 1
    assert found.out.startswith("invalid: row 3 is missing; row 4 was anchored")
    file.write_text("{}\n", "utf-8")
    assert busy.ask("audit", "verify", "--against", str(file)).code == 2


def test_a_trail_is_sealed_with_the_key_beside_the_database(busy: Admin) -> None:
    key = Path(f"{busy.url.removeprefix('sqlite:///')}-key")
    assert key.stat().st_mode & 0o077 == 0
    rows = json.loads(busy("audit", "tail", "--format", "json").out)
    assert len({row["seal"].partition(":")[0] for row in rows} - {""}) == 1
    key.unlink()
    found = busy("audit", "verify")
    assert (found.code, "is sealed with the unknown key" in found.out) == (1, True)


@pytest.mark.parametrize(
    ("sql", "row"),
    [
        ("UPDATE audit SET body = replace(body, 'ben', 'eve') WHERE seq = 3", 3),
        ("DELETE FROM audit WHERE seq = 2", 2),
        ("DELETE FROM audit WHERE seq = 4", 4),
        ("UPDATE audit SET revision = revision + 1 WHERE seq = 2", 2),
    ],
)
def test_a_row_that_was_touched_is_named(busy: Admin, sql: str, row: int) -> None:
    damage(busy, sql)
    found = busy("audit", "verify")
    assert found.code == 1
    assert found.out.startswith(f"invalid: row {row} ")
    assert busy("audit", "verify", "--format", "json").json["row"] == row


def test_the_tail_shows_the_newest_rows_last(busy: Admin) -> None:
    found = busy("audit", "tail", "--last", "2", "--format", "json")
    rows = json.loads(found.out)
    assert [row["seq"] for row in rows] == [3, 4]
    assert rows[-1]["event"]["actor"] == "root"
    assert rows[-1]["event"]["details"]["credential"] == "database"
    assert "person.add" in busy("audit", "tail").lines[-1]
    assert busy.ask("audit", "tail", "--last", "0").code == 2


def test_the_trail_is_exported_line_by_line(busy: Admin, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in busy("audit", "export").lines]
    assert [row["seq"] for row in lines] == [1, 2, 3, 4]
    file = tmp_path / "trail.jsonl"
    busy("audit", "export", "--out", str(file))
    assert [json.loads(line) for line in file.read_text("utf-8").splitlines()] == lines
    assert file.stat().st_mode & 0o077 == 0
    assert busy.ask("audit", "export", "--out", str(file)).code == 2


def test_an_export_writes_a_part_before_it_reads_the_next(
    busy: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    read = audit_reading.read

    def reading(*arguments: Any, **named: Any) -> object:
        done.append("read")
        return read(*arguments, **named)

    monkeypatch.setattr(audit_reading, "read", reading)
    monkeypatch.setattr(audit, "MAX_PAGE", 2)
    monkeypatch.setattr(audit, "print", lambda _: done.append("line"), raising=False)
    busy("audit", "export")
    assert done[:6] == ["read", "line", "line"] * 2
    assert done.count("line") == 4


def test_an_export_is_of_a_span_of_time(busy: Admin) -> None:
    rows = [json.loads(line) for line in busy("audit", "export").lines]
    time = rows[2]["event"]["time"]
    # Times are written to the microsecond: this is just before the row, and after the one before.
    at = datetime.fromtimestamp(time - 2e-6, UTC).isoformat()
    later = [row["seq"] for row in rows if row["event"]["time"] >= time]
    found = busy("audit", "export", "--since", at)
    assert [json.loads(line)["seq"] for line in found.lines] == later
    found = busy("audit", "export", "--until", at)
    assert [json.loads(line)["seq"] for line in found.lines] == [
        row["seq"] for row in rows if row["seq"] not in later
    ]
    assert busy("audit", "export", "--since", "2001-01-01", "--until", "2001-01-02").out == ""
    assert busy.ask("audit", "export", "--since", "soon").code == 2


def test_only_what_was_done_in_a_realm_is_shown(busy: Admin) -> None:
    busy("realm", "create", "lake", "--model", "cdap")
    rows = json.loads(busy("audit", "tail", "--realm", "_server", "--format", "json").out)
    assert len(rows) == 5
    assert busy("audit", "tail", "--realm", "cdap").code == 1
    busy("realm", "drop", "lake", "--yes")
    busy("user", "add", "dan")
    tail = busy("audit", "tail", "--last", "1", "--realm", "lake", "--format", "json")
    assert [row["event"]["operation"] for row in json.loads(tail.out)] == ["realm.drop"]
