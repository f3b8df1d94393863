"""The page on installation shows the committed sizes, of every extra."""

from __future__ import annotations

import json
from pathlib import Path

from bench import installing


def test_the_page_shows_the_committed_sizes() -> None:
    assert installing.main(["--page", "--check"]) == 0, "run `python -m bench.installing --page`"


def test_every_extra_was_measured() -> None:
    result = json.loads(installing.RESULT.read_text("utf-8"))
    assert result["extras"].keys() == {*installing.extras()}


def test_a_table_goes_from_small_to_large_and_replaces_the_last_one() -> None:
    row = {"packages": 3, "cpu_s": 4.4, "wall_s": 9.0}
    result = {
        "files": {"wheel_mb": 4.2, "sdist_mb": 9.0},
        "extras": {"all": row | {"mb": 1500}, "none": row | {"mb": 150}},
    }
    text = f"# Install\n\n{installing.START}\nold\n{installing.END}\n"
    now = installing.written(text, result)
    rows = [line for line in now.splitlines() if "MB | " in line]
    assert rows == ["| none | 150 MB | 3 | 4 s |", "| `all` | 1,500 MB | 3 | 4 s |"]
    assert "The wheel has 4.2 MB, the sdist 9.0 MB." in now
    assert "old" not in now
    assert installing.written(now, result) == now


def test_links_count_once_and_are_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "large").write_bytes(b"x" * 1_000_000)
    (folder / "small").write_bytes(b"x" * 4096)
    (folder / "link").symlink_to(tmp_path / "large")
    assert installing.on_disk(folder) < 100_000
