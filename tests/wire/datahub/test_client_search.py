"""The client's searches: what its graph asks, and its command `datahub search`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.wire.datahub.commands import CLIENT, TOKEN, run
from tests.wire.datahub.recorder import Recorder

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("datahub client")]


def test_the_graph_finds_what_it_filters_by(python: Path, url: str, tmp_path: Path) -> None:
    with Recorder(url) as recorder:
        script = str(CLIENT / "searching.py")
        said = run([str(python), "-P", script, recorder.url, TOKEN], recorder.url, tmp_path)
        assert said.splitlines()[-1] == "all: ok"
        assert all(call.status == 200 for call in recorder.calls)


def test_the_command_searches_with_the_documents_it_brings(
    python: Path,
    url: str,
    tmp_path: Path,
) -> None:
    run([str(python), "-P", str(CLIENT / "searching.py"), url, TOKEN], url, tmp_path)
    datahub = str(python.parent / "datahub")
    with Recorder(url) as recorder:

        def search(*words: str) -> dict[str, object]:
            said = run([datahub, "search", *words, "--format", "json"], recorder.url, tmp_path)
            found: dict[str, object] = json.loads(said[said.index("{") :])
            return found

        found = search("daily")
        assert found["total"] == 1
        assert "shop.orders_03" in json.dumps(found["searchResults"])
        assert search("orders", "--filter", "platform=kafka")["total"] == 1
        assert search("orders", "--where", "platform = hive", "--limit", "2")["count"] == 2
        assert (
            search("*", "--projection", "urn type", "--filter", "entity_type=domain")["total"] == 1
        )
        assert all(call.status == 200 for call in recorder.calls), recorder.calls
