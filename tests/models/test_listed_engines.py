"""The setting that lists the engines which read a realm's tables without a request to it."""

from __future__ import annotations

import pytest

from lakewarden import models
from lakewarden.kernel.errors import BadInput


def test_engines_are_listed_for_models_with_rows() -> None:
    model = models.load("gravitino", {"engines": "mysql,  duckdb, mysql"})
    assert model.settings["engines"] == "duckdb, mysql"
    assert "engines" in model.enforcing
    assert model.digest == models.load("gravitino").digest
    with pytest.raises(BadInput, match="unknown engine `oracle`; expected one of trino"):
        models.load("datahub", {"engines": "oracle"})


def test_a_model_without_rows_has_no_such_setting() -> None:
    assert "engines" not in models.load("cdap").declared_settings
    with pytest.raises(BadInput, match="unknown setting `engines`"):
        models.load("cdap", {"engines": "trino"})
