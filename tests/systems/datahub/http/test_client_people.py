"""The unchanged client from PyPI creates users with passwords, and signs in with one."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tests.systems.datahub.http.commands import CLIENT, TOKEN, run
from tests.systems.datahub.http.recorder import Recorder

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("datahub client")]

PASSWORD = "correct horse 7"


def test_a_user_is_made_signs_in_and_gets_a_token(python: Path, url: str, tmp_path: Path) -> None:
    with Recorder(url) as recorder:
        said = run(
            [str(python), str(CLIENT / "signing_up.py"), recorder.url, TOKEN],
            recorder.url,
            tmp_path,
        )
        assert said.splitlines()[-1] == "signing up: ok"
        made = [call.target.partition("?")[0] for call in recorder.calls]
        assert "/signUp" in made
        assert {call.status for call in recorder.calls} <= {200, 400, 401, 409}
    with Recorder(url) as recorder:
        ran = init(python, recorder.url, tmp_path, "ana", PASSWORD)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        calls = [(one.method, one.target, one.status) for one in recorder.calls]
        assert ("POST", "/logIn", 200) in calls
        assert ("POST", "/api/v2/graphql", 200) in calls
    config = (tmp_path / ".datahubenv").read_text(encoding="utf-8")
    token = next(line.partition(":")[2].strip() for line in config.splitlines() if "token:" in line)
    body = json.dumps({"query": "{ me { corpUser { urn } } }"}).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    with urlopen(Request(f"{url}/api/graphql", body, headers), timeout=30) as answer:  # noqa: S310
        assert json.load(answer)["data"]["me"]["corpUser"]["urn"] == "urn:li:corpuser:ana"


@pytest.mark.nightly
def test_a_wrong_password_makes_no_token(python: Path, url: str, tmp_path: Path) -> None:
    ran = init(python, url, tmp_path, "ana", "wrong horse 7")
    assert ran.returncode != 0
    assert "400" in ran.stdout + ran.stderr
    assert not (tmp_path / ".datahubenv").exists()


def init(
    python: Path, url: str, home: Path, name: str, password: str
) -> subprocess.CompletedProcess[str]:
    """`datahub init` with a name and a password."""
    words = ["init", "--username", name, "--password", password, "--host", url, "--force"]
    return subprocess.run(
        [str(python.parent / "datahub"), *words],
        env={"PATH": "/usr/bin:/bin", "HOME": str(home), "DATAHUB_TELEMETRY_ENABLED": "false"},
        cwd=home,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
