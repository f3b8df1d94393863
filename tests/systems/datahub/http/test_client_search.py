"""The client's searches: its graph's requests, and its command `datahub search`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.systems.datahub.http.commands import CLIENT, TOKEN, check_answered, run
from tests.systems.datahub.http.recorder import Recorder

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("datahub client")]


def test_the_graph_and_the_command_find_what_they_filter_by(
    python: Path, url: str, tmp_path: Path
) -> None:
    """The command searches with its own documents."""
    datahub, script = str(python.parent / "datahub"), str(CLIENT / "searching.py")
    with Recorder(url) as recorder:
        said = run([str(python), "-P", script, recorder.url, TOKEN], recorder.url, tmp_path)
        assert said.splitlines()[-1] == "all: ok"

        def search(*words: str) -> dict[str, object]:
            said = run([datahub, "search", *words, "--format", "json"], recorder.url, tmp_path)
            found: dict[str, object] = json.loads(said[said.index("{") :])
            return found

        found = search("daily")
        assert found["total"] == 1
        assert "shop.orders_03" in json.dumps(found["searchResults"])
        assert search("orders", "--where", "platform = hive", "--limit", "2")["count"] == 2
        only = ("--projection", "urn type", "--filter", "entity_type=domain")
        assert search("*", *only)["total"] == 1
        assert all(call.status == 200 for call in recorder.calls), recorder.calls


def test_the_client_and_its_command_read_lineage(python: Path, url: str, tmp_path: Path) -> None:
    script, datahub = str(CLIENT / "lineage.py"), str(python.parent / "datahub")
    with Recorder(url) as recorder:
        said = run([str(python), "-P", script, recorder.url, TOKEN], recorder.url, tmp_path)
        assert said.splitlines()[-1] == "all: ok"
        mart = "urn:li:dataset:(urn:li:dataPlatform:hive,made.mart,PROD)"
        asked = [datahub, "lineage", "--urn", mart, "--format", "json"]
        said = run(asked, recorder.url, tmp_path)
        found = json.loads(said[said.index("{") :])["results"]
        assert [(one["name"], one["hops"]) for one in found] == [("made.clean", 1), ("made.raw", 2)]
        raw = mart.replace("mart", "raw")
        path = [datahub, "lineage", "path", "--from", raw, "--to", mart]
        assert "Path found (2 hops)" in run(path, recorder.url, tmp_path)
        check_answered(recorder, ("aspect=",))
