"""Where Trino is, or why a test that needs one is skipped."""

from __future__ import annotations

import pytest

from lakewarden.kernel.errors import Unavailable
from lakewarden.testing import trino


def need_trino() -> None:
    """Skips the test where Trino was not installed, or no Java is new enough."""
    try:
        trino.java()
    except Unavailable as error:
        pytest.skip(str(error))
    if trino.installed() is None:
        pytest.skip("Trino is not installed (scripts/install-trino.sh)")
