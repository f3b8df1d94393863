"""Files for spreadsheets: foreign text is never evaluated, and nothing is lost."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.pipeline.review import spreadsheet
from lakewarden.pipeline.review.schemas import SCHEMAS
from lakewarden.pipeline.review.spreadsheet import EXPORTED, LONGEST, MEMBERS, export, safe, write

RISKY = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "＝1", "\ufeff=1")  # noqa: RUF001 — the full-width sign is the point


@pytest.mark.parametrize("text", RISKY)
def test_what_looks_like_a_formula_is_text(text: str, tmp_path: Path) -> None:
    assert safe(text) == f"'{text}"
    write(tmp_path / "a.csv", pa.table({"name": [text], "list": [[text, "b"]]}))
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file))[1] == [f"'{text}", f"'{text}; b"]


@given(st.text())
def test_a_text_is_kept_but_for_the_apostrophe(text: str) -> None:
    assert safe(text) in (text, f"'{text}")
    assert not safe(text).startswith(("=", "+", "-", "@", "\t", "\r", "\n"))


@given(st.lists(st.text(), min_size=1))
def test_every_cell_is_read_back_as_one_cell(texts: list[str]) -> None:
    import io

    lines = io.StringIO()
    out = csv.writer(lines, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
    out.writerow([safe(text) for text in texts])
    assert next(csv.reader(io.StringIO(lines.getvalue(), newline=""))) == list(map(safe, texts))


def test_numbers_stay_numbers_and_truths_are_words(tmp_path: Path) -> None:
    table = pa.table({"n": [-5, None], "is": [True, False], "t": ["a", None]})
    write(tmp_path / "a.csv", table)
    text = (tmp_path / "a.csv").read_text("utf-8")
    assert text == '"n","is","t"\n-5,"yes","a"\n"","no",""\n'


@pytest.mark.parametrize("width", [6, 30_000])
def test_a_long_list_says_how_much_is_left_out(width: int, tmp_path: Path) -> None:
    names = [f"user:{n:0{width}}" for n in range(100)]
    write(tmp_path / "a.csv", pa.table({"users": [names]}))
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        (cell,) = list(csv.reader(file))[1]
    assert len(cell) <= LONGEST
    *shown, rest = cell.split("; ")
    assert shown == names[: min(len(shown), MEMBERS)]
    assert shown
    assert rest == f"and {100 - len(shown):,} more"


def test_tables_that_are_too_long_for_spreadsheets_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spreadsheet, "LIMIT", 1)
    for name in EXPORTED:
        rows = {
            field.name: pa.nulls(2 if name == "orphans" else 1, field.type)
            for field in SCHEMAS[name]
        }
        (tmp_path / name).mkdir()
        pq.write_table(pa.table(rows, schema=SCHEMAS[name]), tmp_path / name / "a.parquet")
    (tmp_path / "csv").mkdir()
    files = export(tmp_path, tmp_path / "csv")
    assert {file.stem for file in files} == set(EXPORTED) - {"orphans"}
    header = (tmp_path / "csv" / "review.csv").read_text("utf-8").splitlines()[0]
    assert "statements" in header
    assert '"users"' not in header
