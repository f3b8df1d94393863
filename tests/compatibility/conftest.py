"""Tests of earlier releases' files run many commands in this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.cheap_commands import cheap_commands


@pytest.fixture(scope="module", autouse=True)
def _cheap_commands() -> Iterator[None]:
    """See `tests.cli.cheap_commands`."""
    with cheap_commands():
        yield
