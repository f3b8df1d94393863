"""The admin verbs on PostgreSQL, and a transfer from it to SQLite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from lakewarden.store.engine import create
from tests.cli.policies import POLICY, write
from tests.cli.realms import Cli
from tests.cli.stores import Admin
from tests.servers import fresh_database

pytestmark = pytest.mark.postgres


@pytest.fixture
def there(cli: Cli, postgres_url: str) -> Iterator[Admin]:
    """A fresh store in PostgreSQL."""
    with fresh_database(postgres_url) as url:
        admin = Admin(cli, url)
        admin("init", "--admin", "root")
        yield admin


def test_a_realm_is_loaded_planned_and_backed_up(there: Admin, tmp_path: Path) -> None:
    of, folder = ("--realm", "gravitino"), str(there.cli.folders["gravitino"])
    assert there("load", folder, *of, "--format", "json").json["new"] is True
    revision = there.revision()
    assert there("load", folder, *of, "--prune", "--format", "json").json["new"] is False
    assert there.revision() == revision
    plan = str(tmp_path / "plan.json")
    assert there("plan", write(tmp_path, POLICY), *of, "--out", plan).code == 1
    assert there("apply", plan).code == 0
    assert there("plan", str(tmp_path / "policy.toml"), *of).code == 0
    assert there.ask("apply", plan).code == 2
    assert there("token", "create", "ana", "--new").out.startswith("lw_")
    assert there("audit", "verify").code == 0
    assert there("doctor").code == 0
    file, other = str(tmp_path / "b"), f"sqlite:///{tmp_path / 'other.db'}"
    there("backup", file)
    assert there.cli("restore", file, "--database", other).code == 0
    assert there.cli("doctor", "--database", other).code == 0
    assert there("export", *of).out == there.cli("export", *of, "--database", other).out


def test_every_system_is_loaded_and_pruned_to_nothing_new(there: Admin) -> None:
    for name in ("datahub", "cdap"):
        words = ("load", str(there.cli.folders[name]), "--realm", name, "--prune")
        assert there(*words, "--format", "json").json["new"] is True
        assert there(*words, "--format", "json").json["new"] is False
    assert there("doctor").code == 0


@pytest.mark.parametrize(
    "words", ["audit tail", "realm list", "token list", "export --realm lake", "user list"]
)
def test_a_verb_that_only_looks_leaves_an_empty_database_as_it_is(
    cli: Cli, postgres_url: str, words: str
) -> None:
    with fresh_database(postgres_url) as url:
        ran = cli(*words.split(), "--database", url)
        assert (ran.code, ran.out) == (3, "")
        assert "is empty; run `lakewarden init`" in ran.err
        engine = create(url)
        assert sa.inspect(engine).get_table_names() == []
        engine.dispose()
