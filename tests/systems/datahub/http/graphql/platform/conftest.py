"""Fixtures: a server that can store secrets, without default permissions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from lakewarden.store.secrets import Keys, new_key
from tests.systems.datahub.http.graphql.wire import Wire


@contextmanager
def open_server(folder: Path) -> Iterator[Wire]:
    """Such a server."""
    with Wire(folder) as one:
        one.services = replace(one.services, sealing=Keys([new_key()]))
        one.built(Wire.close)
        yield one


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Wire]:
    with open_server(tmp_path) as one:
        yield one
