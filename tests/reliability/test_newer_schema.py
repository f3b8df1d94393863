"""A release refuses a store with a newer schema and does not change it (F-10)."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from lakewarden.store import SqlStore, open_store
from lakewarden.store.engine import create
from tests.app.serving import server
from tests.cli.realms import Cli
from tests.reliability.estate import sqlite_url
from tests.reliability.migrating import shape

WHY = "requires a release with schema `9999`"


@pytest.fixture
def newer(tmp_path: Path) -> str:
    """The URL of a store with a schema that is unknown to this release."""
    url = sqlite_url(tmp_path)
    with open_store(url) as store, store.engine.begin() as connection:
        connection.exec_driver_sql("update alembic_version set version_num = '9999'")
        connection.exec_driver_sql("update counter set usable_from = '9999'")
    return url


@pytest.mark.slow
def test_a_server_is_not_ready_and_its_log_says_why(newer: str, tmp_path: Path) -> None:
    with server(tmp_path / "s", database=newer, ready=False) as served:
        served.wait_listening()
        assert served.ask("GET", "/readyz").status == 503
        assert served.ask("GET", "/api/metalakes", user="admin").status == 503
        assert served.stop() == 0
        assert WHY in served.log.read_text()


@pytest.mark.parametrize("words", [["audit", "tail"], ["init"], ["realm", "list"], ["backup", "b"]])
def test_the_command_line_says_why_with_a_3(
    newer: str,
    tmp_path: Path,
    words: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(SqlStore(create(newer))) as store:
        before = shape(store.engine)
        ran = Cli(capsys, {})(*words, "--database", newer)
        assert (ran.code, ran.out) == (3, "")
        assert WHY in ran.err
        assert shape(store.engine) == before
