"""Pages requested by the client from PyPI, from its own server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.systems.datahub.http.commands import CLIENT, TOKEN, check_answered, run
from tests.systems.datahub.http.recorder import Recorder

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("datahub client")]


def test_what_the_client_selects_of_a_page_is_there(python: Path, url: str, tmp_path: Path) -> None:
    with Recorder(url) as recorder:
        script = str(CLIENT / "paging.py")
        said = run([str(python), script, recorder.url, TOKEN], recorder.url, tmp_path)
        assert said.splitlines()[-1] == "all: ok"
        check_answered(recorder, ("telemetry",))
