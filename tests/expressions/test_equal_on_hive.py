"""Accepted expressions give the same rows and the same cells on a real Hive."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.expressions import engines
from tests.expressions.hive import hive
from tests.expressions.test_equal_results import CASES, check, results

pytestmark = pytest.mark.nightly


def test_hive(tmp_path: Path) -> None:
    expected = results("duckdb", engines.duckdb_engine(), list(CASES))
    with hive(tmp_path) as run:
        check("hive", engines.hive_engine(run), expected)
