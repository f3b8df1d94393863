"""The client from PyPI, in an environment of its own, against a server of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import sleep
from urllib.request import urlopen

import pytest

ROOT = Path(__file__).parents[3]
# One worker makes the environment; another one would only wait for it.
pytestmark = pytest.mark.xdist_group("gravitino client")

SCRIPTS = sorted((Path(__file__).parent / "client").glob("*.py"))


@pytest.fixture(scope="module")
def python() -> str:
    """The Python that has the client; `install-test-tools.sh` made it, once for all clones."""
    made = subprocess.run(
        [str(ROOT / "scripts" / "gravitino-client.sh")],
        cwd=ROOT,
        env={**os.environ, "PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=600,
    )
    return made.stdout.strip()


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """A fresh server on a free port, as the command line starts it."""
    command = [sys.executable, "-m", "lakewarden.cli", "serve", "--port", "0"]
    command += ["--database", f"sqlite:///{tmp_path}/store", "--admin", "admin"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().split()[-1]
        _wait(f"{address}/readyz")
        yield address
    finally:
        server.terminate()
        server.wait(timeout=30)
        assert server.stdout is not None
        server.stdout.close()


def _wait(url: str) -> None:
    """Until the server says that it is ready."""
    for _ in range(300):
        try:
            with urlopen(url, timeout=5):  # noqa: S310 — its own address
                return
        except OSError:
            sleep(0.1)
    raise AssertionError(f"not ready: {url}")


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_client_from_pypi_is_content(script: Path, python: str, url: str) -> None:
    ran = subprocess.run(
        [python, str(script), url, "admin"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.splitlines()[-1] == "all: ok"
