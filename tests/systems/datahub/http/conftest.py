"""Fixtures: a server with an empty realm of DataHub in it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.threaded import threaded
from tests.systems.datahub.http.commands import ROOT, TOKEN
from tests.systems.datahub.http.wire import Wire

collect_ignore_glob = ["client/*"]
"""Run by the Python of another environment: see `test_client.py`."""


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Wire]:
    """A server with only the default policies and an administrator."""
    with Wire(tmp_path) as one:
        yield one


@pytest.fixture(scope="session")
def python() -> Path:
    """The Python that has the client; `install-test-tools.sh` created it, once for all clones."""
    made = subprocess.run(
        [str(ROOT / "scripts" / "datahub-client.sh")],
        cwd=ROOT,
        env={**os.environ, "PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=600,
    )
    if made.returncode:
        pytest.skip("the client's environment cannot be made here")
    return Path(made.stdout.strip())


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """A fresh server on a free port."""
    with threaded(
        tmp_path / "server",
        auth="token",
        admin="admin",
        root_token=TOKEN,
    ) as served:
        yield served.address
