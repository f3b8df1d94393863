"""Where Trino is, or why a test that needs one is skipped."""

from __future__ import annotations

import os

import pytest

from lakewarden.kernel.errors import Unavailable
from lakewarden.testing import trino


def need_trino() -> None:
    """Skips the test where Trino was not installed, or no Java is new enough.

    With `TRINO_TIER=1` it fails there: whoever sets it wants these tests to have run.
    """
    try:
        trino.java()
    except Unavailable as error:
        _leave(str(error))
    if trino.installed() is None:
        _leave("Trino is not installed (scripts/install-trino.sh)")


def _leave(why: str) -> None:
    if os.environ.get("TRINO_TIER") == "1":
        pytest.fail(why)
    pytest.skip(why)
