"""Commands of the client from PyPI, run in its own environment, and what they asked for."""

from __future__ import annotations

import subprocess
from pathlib import Path
from time import sleep
from urllib.request import urlopen

from tests.wire.datahub.recorder import Recorder

ROOT = Path(__file__).parents[3]
CLIENT = Path(__file__).parent / "client"
TOKEN = "lw_root_5Vq8Zt2LxWk7Rn3GdYp9HcMbTs6JfAe1Qu4"


def wait_for(url: str) -> None:
    """Until the server says that it is ready."""
    for _ in range(300):
        try:
            with urlopen(url, timeout=5):  # noqa: S310 — its own address
                return
        except OSError:
            sleep(0.1)
    raise AssertionError(f"not ready: {url}")


def run(command: list[str], url: str, home: Path) -> str:
    ran = subprocess.run(
        command,
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(home),
            "DATAHUB_TELEMETRY_ENABLED": "false",
            "DATAHUB_GMS_URL": url,
            "DATAHUB_GMS_TOKEN": TOKEN,
        },
        cwd=home,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def check_answered(recorder: Recorder, absent: tuple[str, ...]) -> None:
    """No call went wrong but reads of what is not there, of which `absent` names some part."""
    assert recorder.calls
    for call in recorder.calls:
        if call.status == 404 and call.method == "GET" and call.target.startswith("/aspects/"):
            assert any(part in call.target for part in absent), call
        else:
            assert call.status in (200, 204), call
