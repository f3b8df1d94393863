"""Commands of the client from PyPI, run in its own environment, and their requests."""

from __future__ import annotations

import atexit
import json
import subprocess
from functools import cache
from pathlib import Path

from tests.systems.datahub.http.recorder import Recorder

ROOT = Path(__file__).parents[4]
CLIENT = Path(__file__).parent / "client"
TOKEN = "lw_root_5Vq8Zt2LxWk7Rn3GdYp9HcMbTs6JfAe1Qu4"


@cache
def _forking(python: Path) -> subprocess.Popen[str]:
    """A process that has imported the client, and forks for each command."""
    process = subprocess.Popen(
        [str(python), "-P", str(CLIENT / "forking.py")],
        env={"PATH": "/usr/bin:/bin", "DATAHUB_TELEMETRY_ENABLED": "false"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    @atexit.register
    def end() -> None:
        with process:
            process.terminate()

    return process


def run(command: list[str], url: str, home: Path) -> str:
    """Standard output of a successful command, or of a script (`PYTHON SCRIPT ...`)."""
    program, *words = command
    script = None
    if Path(program).name.startswith("python"):
        script, *words = (word for word in words if word != "-P")
    told = {
        "argv": words,
        "script": script,
        "env": {
            "PATH": "/usr/bin:/bin",
            "HOME": str(home),
            "DATAHUB_TELEMETRY_ENABLED": "false",
            "DATAHUB_GMS_URL": url,
            "DATAHUB_GMS_TOKEN": TOKEN,
        },
        "cwd": str(home),
        "out": str(home / ".out"),
        "err": str(home / ".err"),
    }
    process = _forking(Path(program).with_name("python"))
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(told) + "\n")
    process.stdin.flush()
    code = process.stdout.readline().strip()
    out, err = ((home / name).read_text() for name in (".out", ".err"))
    assert code == "0", out + err
    return out


def check_answered(recorder: Recorder, absent: tuple[str, ...]) -> None:
    """No call may have failed, except reads of missing objects with an `absent` part in the URL."""
    assert recorder.calls
    for call in recorder.calls:
        if call.status == 404 and call.method == "GET" and call.target.startswith("/aspects/"):
            assert any(part in call.target for part in absent), call
        else:
            assert call.status in (200, 204), call
