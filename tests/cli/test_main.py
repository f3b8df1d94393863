"""The command as a whole: usage, help, and errors outside of any verb."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest

import lakewarden
from lakewarden import cli as command
from lakewarden import registry
from lakewarden.cli import GROUPS, VERBS, main
from lakewarden.kernel.matrix import Matrix
from tests.cli.realms import Cli

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
ALL_VERBS = [
    *((verb,) for verb in VERBS),
    *((group, *verb.split()) for group, (_, verbs) in GROUPS.items() for verb in verbs),
]


def parameters(text: str) -> list[str]:
    """The long options that a help text lists."""
    return re.findall(r"^│[ *]+(--[a-z-]+)", text, re.MULTILINE)


@pytest.mark.parametrize("verb", ALL_VERBS, ids=" ".join)
def test_the_help_of_every_verb_says_what_it_does_and_has_an_example(
    cli: Cli, verb: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    found = cli(*verb, "--help")
    assert found.code == 0
    assert f"Usage: lakewarden {' '.join(verb)}" in found.out
    assert "For example:" in found.out
    assert f" lakewarden {' '.join(verb)} " in found.out.split("For example:")[1]
    assert "--empty-" not in found.out
    assert "--no-" not in found.out.replace("--no-ui", "")


@pytest.mark.parametrize("verb", ALL_VERBS, ids=" ".join)
def test_the_page_about_the_command_line_has_every_verb_and_option(
    cli: Cli, verb: tuple[str, ...]
) -> None:
    help = cli(*verb, "--help").out
    options = parameters(help)
    assert options or "Arguments" in help
    page = PAGE.read_text("utf-8")
    heading = f"## `lakewarden {' '.join(verb)}`"
    assert heading in page
    section = page.split(heading)[1].split("\n## ")[0]
    shared = "".join(
        part.split("\n## ")[0] for part in re.split(r"## Options shared by the .* verbs", page)
    )
    assert [name for name in options if f"`{name}" not in section + shared] == []


def test_the_help_of_the_command_lists_every_verb(cli: Cli) -> None:
    found = cli("--help")
    assert found.code == 0
    for verb in (*VERBS, *GROUPS):
        line = next(line for line in found.lines if line.startswith(f"│ {verb} "))
        assert line.removeprefix(f"│ {verb}").strip(" │")
    assert cli().out == found.out


def test_the_help_of_the_pipeline_lists_its_verbs(cli: Cli) -> None:
    for words in (("pipeline",), ("pipeline", "--help")):
        found = cli(*words)
        assert found.code == 0
        assert re.search("│ ingest +Reads metadata", found.out)


def test_the_systems_are_listed_with_their_versions(cli: Cli) -> None:
    found = cli("--version", "--systems", "--format", "json")
    assert found.code == 0
    listed = json.loads(found.out)
    assert listed["problems"] == listed["missing_extras"] == {}
    assert {one["name"]: one["version"] for one in listed["systems"]} == dict.fromkeys(
        ("gravitino", "datahub", "cdap", "control"), lakewarden.__version__
    )
    table = cli("--systems", "--version")
    assert table.code == 0
    assert "cdap_parent_write" in table.out


def test_a_system_that_is_broken_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    known = registry.Registry(registry.registry().systems, {"shelf": "it cannot be loaded"})
    monkeypatch.setattr("lakewarden.cli.systems.registry", lambda: known)
    found = cli("--version", "--systems")
    assert found.code == 1
    assert "gravitino" in found.out
    assert "shelf was left out: it cannot be loaded" in found.err


def test_the_version_is_that_of_the_package(cli: Cli) -> None:
    found = cli("--version")
    assert (found.code, found.out) == (0, f"{lakewarden.__version__}\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nope",), "unknown verb `nope`; expected one of: check, list, who, explain"),
        (("checks", "ana"), "unknown verb `checks`; did you mean `check`?"),
        (("pipeline", "nope"), "unknown verb `nope`; expected one of: ingest"),
        (("pipeline", "ingst"), "unknown verb `ingst`; did you mean `ingest`?"),
        (("push", "target", "ad"), "unknown verb `ad`; did you mean `add`?"),
        (("push", "target", "add"), "see `lakewarden push target add --help`"),
        (("a\nb",), "unknown verb `a\\nb`; expected one of"),
        (("check",), "requires an argument; see `lakewarden check --help`"),
        (("check", "ana", "x"), "give --from DIR, or --realm NAME with --server URL or"),
        (("check", "ana", "x", "@cdap", "--form"), "unknown option: --form. Did you mean --format"),
        (("check", "ana", "x", "@cdap", "--format", "xml"), 'choose from: "table", "json"'),
        (("check", "ana", "x", "y", "z", "@cdap"), "unused tokens"),
        (("list", "ana", "x", "@cdap", "--limit", "few"), '"few" into int'),
        (("pipeline", "ingest"), "requires an argument; see `lakewarden pipeline ingest --help`"),
    ],
)  # fmt: skip
def test_bad_usage_is_one_line_and_exit_code_2(
    cli: Cli, words: tuple[str, ...], message: str
) -> None:
    found = cli(*words)
    assert (found.code, found.out) == (2, "")
    assert message.casefold() in found.err.casefold()
    assert found.err.startswith("lakewarden: ")
    assert found.err.count("\n") == 1


def test_a_verb_that_is_missing_stands_in_no_other_verbs_way(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(command.VERBS, "demo", "lakewarden.cli.not_there:demo")
    found = cli("nope")
    assert (found.code, found.out) == (2, "")
    assert "unknown verb `nope`" in found.err
    assert cli("check", "ana", "table.load", "table:lk:c.s.t", "@gravitino").code == 0
    found = cli("demo")
    assert (found.code, found.out) == (2, "")
    message = "lakewarden: the installation is incomplete: No module named"
    assert found.err == f"{message} 'lakewarden.cli.not_there'\n"


@pytest.mark.parametrize(
    ("library", "extra"),
    [("pyarrow", "parquet"), ("sqlalchemy", "sql"), ("uvicorn", "server"), ("pyspark", "spark")],
)
def test_a_library_that_is_missing_is_told_with_what_to_install(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, library: str, extra: str
) -> None:
    def missing(*_: object) -> None:
        raise ModuleNotFoundError("No module", name=f"{library}.x")

    monkeypatch.setattr(Matrix, "decide", missing)
    found = cli("check", "ana", "table.load", "table:lk:c.s.t", "@gravitino")
    assert found.code == 3
    assert found.err == (
        f"lakewarden: `{library}` is not installed; run: pip install 'lakewarden[{extra}]'\n"
    )


def test_a_crash_is_never_an_answer(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(Matrix, "decide", crash)
    found = cli("check", "ana", "table.load", "table:lk:c.s.t", "@gravitino")
    assert (found.code, found.out) == (3, "")
    assert "ZeroDivisionError: oops" in found.err
    assert found.err.endswith("internal error; the lines above say where\n")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (PermissionError(13, "Permission denied", "/x"), "lakewarden: /x: permission denied\n"),
        (OSError("no such luck"), "lakewarden: no such luck\n"),
    ],
)
def test_a_file_that_cannot_be_read_could_not_be_asked(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, error: OSError, message: str
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(Matrix, "decide", fail)
    found = cli("check", "ana", "table.load", "table:lk:c.s.t", "@gravitino")
    assert (found.code, found.err) == (3, message)


def test_an_answer_that_nobody_reads_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Closed())
    assert main(["operations", "--model", "cdap"]) == 3


def test_an_interrupted_verb_leaves_no_trace(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lakewarden.cli.application", interrupt)
    found = cli("check", "ana", "table.load", "table:lk:c.s.t", "@gravitino")
    assert (found.code, found.out, found.err) == (130, "", "")


def test_a_verb_answers_although_the_standard_streams_are_closed() -> None:
    command = f'exec "{sys.executable}" -m lakewarden.cli operations --model nope'
    for closed, code in (("<&- >&- 2>&-", 2), (">&-", 2)):
        done = subprocess.run(["sh", "-c", f"{command} {closed}"], capture_output=True, check=False)
        assert done.returncode == code
        assert b"Traceback" not in done.stderr


def test_the_command_runs_as_a_module() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "lakewarden.cli", "operations", "--model", "nope"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr.startswith("lakewarden: ")


def test_what_the_terminal_cannot_show_is_no_reason_to_fail() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "lakewarden.cli", "explain", "--help"],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert found.returncode == 0


def test_completion_is_installed_for_a_shell(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    found = cli("--install-completion", "--shell", "bash")
    assert found.code == 0
    script = next(
        file for file in tmp_path.rglob("*") if file.is_file() and "lakewarden" in file.name
    )
    text = script.read_text("utf-8")
    assert all(verb in text for verb in VERBS)


def test_asking_loads_neither_spark_nor_what_other_verbs_need() -> None:
    program = (
        "import sys; from lakewarden.cli import main\n"
        "main(['operations', '--model', 'cdap', '--about', 'stream'])\n"
        "print(*sorted({m.partition('.')[0] for m in sys.modules}), file=sys.stderr)"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = set(found.stderr.split())
    assert not loaded & {"pyspark", "py4j", "pandas", "sqlalchemy"}


_IMPORTED_AS = {
    "apache-ranger": "apache_ranger",
    "argon2-cffi": "argon2",
    "hdfs-native": "hdfs_native",
    "opentelemetry-exporter-otlp-proto-http": "opentelemetry",
    "opentelemetry-sdk": "opentelemetry",
    "prometheus-client": "prometheus_client",
    "psycopg[binary]": "psycopg",
    "pydantic-settings": "pydantic_settings",
    "pyiceberg[pyarrow,sql-sqlite]": "pyiceberg",
    "pyyaml": "yaml",
}


def test_every_library_of_an_extra_is_told_with_that_extra() -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    extras["server"] += extras["server-slim"]
    for extra in set(command.EXTRAS.values()):
        for requirement in extras[extra]:
            name = re.split(r"[<>=;! ]", requirement)[0]
            if name.startswith("lakewarden[") or name.startswith("pyspark["):
                continue
            if (extra, name) == ("gateway", "pandas"):  # pinned as in `spark`
                continue
            assert command.EXTRAS[_IMPORTED_AS.get(name, name)] == extra


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("check", "ana", "table.lod", "table:lk:c.s.t", "@gravitino"), 2, "did you mean"),
        (("check", "ana"), 2, "see `lakewarden check --help`"),
        (("chek",), 2, "did you mean `check`?"),
        (("check", "ana", "table.load", "--from", "nowhere"), 2, "nowhere"),
    ],
)
def test_what_is_wrong_is_json_where_the_answer_was_to_be(
    cli: Cli, words: tuple[str, ...], code: int, said: str
) -> None:
    for option in (("--format", "json"), ("--format=json",)):
        found = cli(*words, *option)
        error = found.json["error"]
        assert isinstance(error, dict)
        assert (found.code, error["kind"], error["exit_code"]) == (code, "bad input", code)
        assert said in error["message"]
        assert found.err == f"lakewarden: {error['message']}\n"
    assert cli(*words, "--format", "json", "--format", "table").out == ""


def test_what_could_not_be_found_out_is_json_too(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(Matrix, "decide", crash)
    found = cli("check", "ana", "table.load", "table:lk:c.s.t", "@gravitino", "--format", "json")
    assert found.code == 3
    assert found.json["error"]["kind"] == "could not tell"  # type: ignore[index]  # JSON


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("format", ["table", "json"])
def test_an_answer_that_cannot_be_written_is_no_answer(
    format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with suppress(OSError), Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(["operations", "--model", "cdap", "--format", format]) == 3
