"""`lakewarden who --since`: the permitted users and the times, from the revisions of a database."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, cast

import pytest

from lakewarden.cli import main, question, who
from lakewarden.cli.question import ParsedQuestion, Realm
from lakewarden.kernel.errors import Unknown
from tests.cli.realms import Cli

GRANT = """
realm = "cdap"
[[statement]]
id = "ben-reads"
privileges = ["READ"]
to = ["user:ben"]
on = "dataset:sales.orders"
"""
ASKED = ("who", "dataset.read", "dataset:sales.orders")
SINCE = ("--since", "2020-01-01")


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the database, to be copied."""
    folder = tmp_path_factory.mktemp("in_time")
    at = ("--database", f"sqlite:///{folder}/estate.db")
    (folder / "grant.toml").write_text(GRANT, "utf-8")
    plan = str(folder / "plan.json")
    with redirect_stdout(StringIO()):
        for words in (
            ("init", "--admin", "ana"),
            ("user", "add", "ben"),
            ("plan", str(folder / "grant.toml"), "--realm", "cdap", "--out", plan),
            ("apply", plan),
            ("user", "remove", "ben"),
        ):
            assert main([*words, *at]) in {0, 1}
    return folder / "estate.db"


@pytest.fixture(name="at")
def _at(furnished: Path, tmp_path: Path) -> Sequence[str]:
    """The database: ben could read from revision 4 until he left with revision 5."""
    file = shutil.copy(furnished, tmp_path)
    return ("--database", f"sqlite:///{file}", "--realm", "cdap")


def test_who_could_is_shown_with_the_revisions_that_began_and_ended_it(
    cli: Cli, at: Sequence[str]
) -> None:
    found = cli(*ASKED, *SINCE, *at, "--format", "json")
    assert (found.code, found.json["total"]) == (0, 1)
    (period,) = cast("list[Any]", found.json["periods"])
    assert period["since"] < period["until"]
    assert (period["user"], period["ended_by"] - period["revision"]) == ("ben", 1)
    rows = cli(*ASKED, *SINCE, *at, "--format", "csv").lines
    assert rows[0] == "user,since,until,revision,ended_by"
    assert rows[1].startswith(f"ben,{period['since']},")
    (_, row) = cli(*ASKED, *SINCE, *at).lines
    assert row.split()[0] == "ben"


def test_nobody_is_exit_code_1(cli: Cli, at: Sequence[str]) -> None:
    found = cli(*ASKED, "--until", "2020-01-01", *at)
    assert (found.code, found.out, found.err) == (1, "", "note: nobody could\n")
    lake = (*at[:2], "--realm", "gravitino")
    found = cli("who", "--unmasked", "column:lk:c.s.t.iban", *SINCE, *lake)
    assert (found.code, found.err) == (1, "note: nobody could\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--since", "yesterday"), "--since: expected a date or a time"),
        (("--since", "2999-01-01"), "--since: expected a moment before `--until`, and before now"),
        ((*SINCE, "--until", "2019-01-01"), "--since: expected a moment before `--until`"),
        ((*SINCE, "--all-realms"), "--since: takes one `--realm NAME` with `--database URL`"),
        ((*SINCE, "--realm", "datahub"), "--since: takes one `--realm NAME`"),
        ((*SINCE, "--server", "http://127.0.0.1:1"), "--since: takes one `--realm NAME`"),
    ],
)
def test_what_cannot_be_asked_is_bad_input(
    cli: Cli, at: Sequence[str], words: Sequence[str], said: str
) -> None:
    found = cli(*ASKED, *words, *at)
    assert found.code == 2
    assert said in found.err


def test_what_an_earlier_edition_of_the_model_does_not_have_nobody_could_then(
    cli: Cli, at: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(realm: Realm, *words: Any) -> ParsedQuestion:
        if realm.matrix.revision < 2:
            raise Unknown("operation or privilege", "dataset.read")
        return question.ask(realm, *words)

    monkeypatch.setattr(who, "ask", ask)
    found = cli(*ASKED, *SINCE, *at, "--format", "json")
    assert (found.code, found.json["total"]) == (0, 1)
    never = cli("who", "dataset.nothing", ASKED[2], *SINCE, *at)
    assert (never.code, "unknown operation or privilege" in never.err) == (2, True)
