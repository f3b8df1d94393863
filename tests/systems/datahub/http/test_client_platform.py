"""The client from PyPI, with assertions, operations, secrets, connections and recipes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lakewarden.store.secrets import new_key
from tests.systems.datahub.http.commands import CLIENT, TOKEN, check_answered, run
from tests.systems.datahub.http.recorder import Recorder

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("datahub client")]


@pytest.fixture
def keyed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives the server that starts after this a key for secrets."""
    monkeypatch.setenv("LAKEWARDEN_SECRET_KEYS", new_key())


@pytest.mark.usefixtures("keyed")
def test_the_client_is_content_with_the_platform(python: Path, url: str, tmp_path: Path) -> None:
    with Recorder(url) as recorder:
        script = str(CLIENT / "features.py")
        said = run([str(python), script, recorder.url, TOKEN], recorder.url, tmp_path)
        assert said.splitlines()[-1] == "all: ok"
        check_answered(recorder, ("telemetry",))


def test_the_command_deploys_a_recipe(python: Path, url: str, tmp_path: Path) -> None:
    recipe = {"source": {"type": "file", "config": {"path": "x"}}}
    (tmp_path / "recipe.yml").write_text(json.dumps(recipe))
    datahub = str(python.parent / "datahub")
    with Recorder(url) as recorder:
        deploy = [datahub, "ingest", "deploy", "--name", "Orders", "-c", "recipe.yml"]
        for _ in range(2):
            said = run(deploy, recorder.url, tmp_path)
            assert "Successfully wrote data ingestion source metadata" in said
        check_answered(recorder, ("telemetry",))
