"""Several jobs in one run: their composition, refused combinations, and their results."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakewarden.cli.pipeline import run
from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline import session
from lakewarden.pipeline.index.index import open_index
from lakewarden.pipeline.storage.location import location
from tests.cli.realms import Cli
from tests.pipeline import spared

TABLES = {
    "entities.csv": "type,name\nmetalake,lk\ncatalog,lk:c\nschema,lk:c.s\n",
    "owners.csv": "type,name,owner_kind,owner_name,ownership\ncatalog,lk:c,user,ana,\n",
}

JOBS = """
[[job]]
verb = "ingest"
arguments = ["{folder}/in"]
source = "csv"
model = "gravitino"
setting = ["mode=next"]
out = "{folder}/lake"
fresh = true

[[job]]
verb = "index"
arguments = ["{folder}/lake"]
out = "{folder}/index"
now = 1.5
"""


@pytest.fixture(autouse=True)
def _no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    spared.spare(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    for name, text in TABLES.items():
        (tmp_path / "in" / name).write_text(text, "utf-8")
    return tmp_path


def jobfile(folder: Path, text: str = JOBS) -> str:
    file = folder / "jobs.toml"
    file.write_text(text.replace("{folder}", str(folder)), "utf-8")
    return str(file)


def test_the_jobs_of_a_file_run_in_order(cli: Cli, folder: Path) -> None:
    found = cli("pipeline", "run", jobfile(folder))
    assert found.code == 0, found.err
    made = open_index(folder / "index")
    assert made.system.model.settings["mode"] == "next"
    begun = [line for line in found.err.splitlines() if line.startswith("[")]
    assert [line.partition(" ")[0] for line in begun] == ["[1/2]"] * 2 + ["[2/2]"] * 2
    assert begun[0].endswith(f"--out={folder}/lake --fresh")
    assert "version 1" in found.out


def test_jobs_are_joined_by_a_plus(cli: Cli, folder: Path) -> None:
    lake, index = str(folder / "lake"), str(folder / "index")
    first = ["ingest", str(folder / "in"), "--source", "csv", "--model", "gravitino", "--out", lake]
    found = cli("pipeline", *first, "+", "index", lake, "--out", index)
    assert found.code == 0, found.err
    assert open_index(Path(index)).realm == "gravitino"


def test_a_dry_run_prints_what_could_be_typed_and_runs_nothing(cli: Cli, folder: Path) -> None:
    found = cli("pipeline", "run", jobfile(folder), "--dry-run")
    assert found.code == 0, found.err
    assert found.lines == [
        f"lakewarden pipeline ingest {folder}/in --source=csv --model=gravitino"
        f" --setting=mode=next --out={folder}/lake --fresh",
        f"lakewarden pipeline index {folder}/lake --out={folder}/index --now=1.5",
    ]
    assert sorted(file.name for file in folder.iterdir()) == ["in", "jobs.toml"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "jobs.toml: expected a table `[[job]]`"),
        ("[[job]", "jobs.toml: "),
        ("jobs = 1", "jobs"),
        ("[[job]]\nout = 'x'", "job[0].verb"),
        ("[[job]]\nverb = 'ingesting'", "job 1 (ingesting): no job `ingesting`; expected one of"),
        ("[[job]]\nverb = 'run'\narguments = ['x']", "job 1 (run): no job `run`"),
        ("{ok}[[job]]\nverb = 'index'\nout = 'x'", "job 3 (index): "),
        ("{ok}[[job]]\nverb = 'index'\narguments = ['x']\nouts = 'x'", "--outs"),
        ("{ok}[[job]]\nverb = 'index'\narguments = ['x']\nout = 'y'\nnow = 'z'", "--now"),
        ("[[job]]\nverb = 'index'\narguments = ['x']\nout = {a = 1}", "job[0].out: expected"),
        ("[[job]]\nverb = 'index'\narguments = 1\nout = 'y'", "job[0].arguments"),
    ],
)
def test_a_malformed_job_is_refused_by_name_before_any_runs(
    cli: Cli, folder: Path, text: str, said: str
) -> None:
    found = cli("pipeline", "run", jobfile(folder, text.replace("{ok}", JOBS)))
    assert (found.code, found.out) == (2, "")
    assert said in found.err, found.err
    assert not (folder / "lake").exists()


def test_a_job_that_fails_ends_the_run_under_its_name(cli: Cli, folder: Path) -> None:
    text = JOBS.replace("{folder}/in", "{folder}/nothing")
    found = cli("pipeline", "run", jobfile(folder, text))
    assert found.code == 2
    assert f"{folder}/jobs.toml: job 1 (ingest): " in found.err
    assert "no such file or folder" in found.err
    assert not (folder / "index").exists()


def test_a_crash_is_told_under_the_name_of_its_job(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object, **__: object) -> None:
        raise RuntimeError("unforeseen")

    monkeypatch.setattr("lakewarden.pipeline.ingest.run.ingest", crash)
    found = cli("pipeline", "run", jobfile(folder))
    assert found.code == 3
    assert f"{folder}/jobs.toml: job 1 (ingest): internal error; the lines above" in found.err
    assert "RuntimeError: unforeseen" in found.err


def test_an_answer_that_is_a_no_lets_the_next_job_run(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakewarden.cli.pipeline.ingest_sources.YES", 1)
    found = cli("pipeline", "run", jobfile(folder))
    assert found.code == 1, found.err
    assert open_index(folder / "index").realm == "gravitino"


@pytest.mark.parametrize("words", [["+"], ["index", "+"], ["+", "index", "x", "--out", "y"]])
def test_a_plus_stands_between_jobs(cli: Cli, words: list[str]) -> None:
    found = cli("pipeline", *words)
    assert found.code == 2
    assert "job " in found.err


def test_all_jobs_run_in_one_place(cli: Cli, folder: Path) -> None:
    one = ["index", "x", "--out", "y", "--master"]
    found = cli("pipeline", *one, "local[1]", "+", *one, "local[2]")
    assert found.code == 2
    assert "share one session" in found.err


def test_a_session_inside_another_is_that_one() -> None:
    with session.session("outer", "local[1]") as outer, session.session("inner") as inner:
        assert inner is outer
    with (
        session.session("outer") as outer,
        pytest.raises(BadInput, match="share one session"),
        session.session("inner", "local[1]"),
    ):
        pass


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("review", "index", "--used"), "used"),
        (("access", "tables", "--used"), "used"),
        (("access", "tables", "--before"), "before"),
        (("lint", "index", "--from"), "from_"),
    ],
)
def test_other_folders_may_be_addresses_too(words: tuple[str, ...], option: str) -> None:
    (job,) = run.bind([run.Job("job 1", (*words, "s3://estate/other", "--out", "s3://estate/o"))])
    places = {name: job.bound.arguments[name] for name in (option, "out")}
    assert places == {option: location("s3://estate/other"), "out": location("s3://estate/o")}
