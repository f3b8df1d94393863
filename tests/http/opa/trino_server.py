"""The location of Trino, or the reason to skip a test that needs it."""

from __future__ import annotations

import os

import pytest

from lakewarden.kernel.errors import Unavailable
from lakewarden.testing import trino


def need_trino() -> None:
    """Skips the test if Trino is not installed, or no Java is new enough.

    With `TRINO_TIER=1`, the test fails instead: the variable means that these tests must run.
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
