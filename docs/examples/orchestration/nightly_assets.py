"""Definitions of Dagster: the estate and its index, each made from the one before."""

from __future__ import annotations

import os

from dagster import Definitions
from lakewarden_orchestration.dagster import lakewarden_asset

HOME = os.environ.get("ESTATE_HOME", "/srv/lakewarden")
BIN = os.environ.get("ESTATE_COMMAND", "lakewarden")

lake = lakewarden_asset(
    "lake",
    [
        *("pipeline", "ingest", f"{HOME}/export", "--source", "gravitino-file"),
        *("--out", f"{HOME}/lake"),
    ],
    executable=BIN,
)
lake_index = lakewarden_asset(
    "lake_index",
    ["pipeline", "index", f"{HOME}/lake", "--out", f"{HOME}/lake-index"],
    deps=["lake"],
    executable=BIN,
)
defs = Definitions(assets=[lake, lake_index])
