"""The rivals: W in their format, their answers compared, a page that shows the committed result."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.result import LAST
from bench.rivals import build, page
from bench.rivals.__main__ import arguments, measured, merged
from bench.rivals.chart import Chart, Line
from bench.rivals.compare import compared, listed, passed, wrong_answers
from bench.rivals.rows import QUICK, ROWS, Bench, prepared
from bench.rivals.world import Truth, lines
from lakewarden.testing.workload import PRIVILEGES, Workload, draw, user

TRUTH = Truth("0110", {"u0000": frozenset({"a", "b"})})
PASS = {"from": 0, "answers": "011", "seconds": 2.0, "cpu_s": 0.3, "store_cpu_s": 0.0}
LIST = {
    "user": "u0000",
    "complete": True,
    "seconds": 1.0,
    "cpu_s": 0.5,
    "store_cpu_s": 0.0,
}


def read(rows: list[dict[str, Any]]) -> Workload:
    """The workload from the rows of the file, by names alone."""
    kinds: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        kinds.setdefault(row["kind"], []).append(row)
    nodes = {row["name"]: number for number, row in enumerate(kinds["node"])}
    grants: dict[int, list[tuple[int, int, int]]] = {}
    for row in kinds["grant"]:
        grant = (nodes[row["on"]], PRIVILEGES.index(row["privilege"]), int(row["deny"]))
        grants.setdefault(_number(row["role"]), []).append(grant)
    tables = sum(row["type"] == "table" for row in kinds["node"])
    schemas = sum(row["type"] == "schema" for row in kinds["node"])
    return Workload(
        tables // schemas,
        [[_number(each) for each in row["groups"]] for row in kinds["user"]],
        [[_number(each) for each in row["roles"]] for row in kinds["user"]],
        [[_number(each) for each in row["roles"]] for row in kinds["group"]],
        [grants[role] for role in sorted(grants)],
        {nodes[row["name"]]: _number(row["owner"]) for row in kinds["node"] if row["owner"]},
        [(_number(row["user"]), nodes[row["table"]]) for row in kinds["question"]],
    )


def _number(name: str) -> int:
    return int(name[1:])


def test_the_file_says_the_whole_workload() -> None:
    workload = draw(2)
    rows = json.loads(json.dumps(list(lines(workload, [user(3).name]))))
    assert read(rows).digest() == workload.digest()
    parents = {row["name"]: row["parent"] for row in rows if row["kind"] == "node"}
    assert parents["c00.s00.t0001"] == "c00.s00"
    assert parents["c00"] == "m"
    assert [row["user"] for row in rows if row["kind"] == "list"] == ["u0003"]


def test_right_answers_have_figures() -> None:
    assert passed(PASS, TRUTH) == {
        "n": 3,
        "wrong": 0,
        "per_s": 1.5,
        "cpu_us": pytest.approx(100_000),
        "store_cpu_us": 0.0,
    }


def test_questions_go_on_where_others_ended() -> None:
    assert passed({**PASS, "from": 2, "answers": "1001"}, TRUTH)["wrong"] == 0


def test_one_wrong_answer_leaves_no_figure() -> None:
    assert passed({**PASS, "answers": "010"}, TRUTH) == {"n": 3, "wrong": 1}


def test_a_list_that_lacks_tables_says_how_many_it_has() -> None:
    found = listed({**LIST, "tables": ["a"]}, TRUTH, 9)
    assert (found["tables"], found["found"], found["wrong"]) == (2, 1, 0)
    assert found["told_complete"]
    assert found["seconds"] == 1.0


@pytest.mark.parametrize(("limit", "by_clock"), [(9, True), (0.5, False)])
def test_a_list_that_the_clock_ended_is_told_from_one_that_took_too_much(
    limit: float, by_clock: bool
) -> None:
    found = listed({**LIST, "complete": False, "tables": ["a"]}, TRUTH, limit)
    assert found.get("stopped_by_clock", False) is by_clock


@pytest.mark.parametrize("tables", [["a", "c"], ["a", "a"]])
def test_a_list_with_a_table_too_many_leaves_no_figure(tables: list[str]) -> None:
    found = listed({**LIST, "tables": tables}, TRUTH, 9)
    assert found["wrong"] == 1
    assert "seconds" not in found


def test_wrong_answers_are_counted_over_all_kinds() -> None:
    wrong = {**PASS, "answers": "111"}
    given = {"load_s": 1, "peak_mib": 1, "single": PASS, "batch": wrong, "lists": []}
    rates = [{**wrong, "connections": 8}]
    assert wrong_answers(compared({**given, "rates": rates}, TRUTH, 9)) == 2


def test_a_missing_toolchain_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(build, "USUAL", ())
    bench = Bench(draw(1), tmp_path, TRUTH, QUICK)
    said = {row.name: measured(bench, row).get("missing") for row in ROWS if row.version}
    assert said.pop("cedar") == "`cargo` is not installed"
    assert set(said.values()) == {"`go` is not installed"}


def test_rows_of_another_run_stay_where_the_workload_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "rivals.json"
    path.write_text(json.dumps({"workload": {"tables": 1}, "rows": {"opa": {"n": 1}}}))
    new = {"workload": {"tables": 1}, "rows": {"cedar": {"n": 2}}}
    assert list(merged(new, str(path))) == ["cedar", "opa"]
    assert list(merged({**new, "workload": {"tables": 2}}, str(path))) == ["cedar"]


def test_an_unknown_rival_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        arguments(["--only", "cedar,nobody"])
    assert "no rival `nobody`" in capsys.readouterr().err


def test_the_page_and_its_charts_show_the_committed_result() -> None:
    assert page.main(["--check"]) == 0, "run `python -m bench.rivals.page`"


def test_what_the_committed_result_has_is_of_the_pinned_versions() -> None:
    rows = json.loads((LAST / "rivals.json").read_text())["rows"]
    pinned = build.versions()
    assert list(rows) == [row.name for row in ROWS if row.name in rows]
    for row in ROWS:
        if row.version and row.name in rows:
            assert rows[row.name]["version"] == pinned[row.version]


def test_a_row_that_was_not_measured_is_named_on_the_page() -> None:
    result = json.loads((LAST / "rivals.json").read_text())
    text = page.figures({**result, "rows": {"lakewarden": result["rows"]["lakewarden"]}})
    others = ", ".join(row.title for row in ROWS if row.name != "lakewarden")
    assert f"Not measured in this result: {others}." in text


def test_the_charts_are_on_the_page() -> None:
    result = json.loads((LAST / "rivals.json").read_text())
    text = page.PAGE.read_text()
    assert all(f"(pictures/rivals/{name})" in text for name in page.charts(result))


def test_a_chart_says_everything_without_color() -> None:
    chart = Chart("t", ("a", "b"), [Line("lakewarden", [1.5, 20.0]), Line("x", [], "none")])
    svg = chart.svg()
    assert ">1.5 · 20<" in svg
    assert ">none<" in svg
    assert svg.count("<circle") == svg.count("<rect") == 2
    assert "prefers-color-scheme: dark" in svg
    assert "lakewarden: 1.5 · 20; x: none" in svg


def _is_here(program: str) -> bool:
    try:
        build.tool(program)
    except build.Missing:
        return False
    return True


@pytest.mark.nightly
@pytest.mark.postgres
def test_every_rival_whose_toolchain_is_here_answers_rightly() -> None:
    whole = _is_here("go") and _is_here("cargo")
    with prepared(replace(QUICK, tables=3, list_seconds=60)) as bench:
        for row in ROWS:
            found = measured(bench, row)
            if "missing" in found and not whole:
                continue
            assert not {"failed", "missing"} & found.keys(), found
            assert found["single"]["n"] > 0
            assert wrong_answers(found) == 0, found
