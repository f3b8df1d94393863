"""Accepted expressions give the same rows and the same cells on a real Trino."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakewarden.testing.trino import trino_server
from tests.expressions import engines
from tests.expressions.test_equal_results import CASES, check, results
from tests.http.opa.trino_server import need_trino

pytestmark = [pytest.mark.trino, pytest.mark.nightly]


def test_trino(tmp_path: Path) -> None:
    need_trino()
    expected = results("duckdb", engines.duckdb_engine(), list(CASES))
    access = {"access-control.name": "allow-all"}
    with trino_server(tmp_path, {"memory": "memory"}, access) as trino:
        check("trino", engines.trino_engine(trino), expected)
