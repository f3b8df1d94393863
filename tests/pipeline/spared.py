"""Small inputs need no Spark: a session that fails a test if it is started anyway."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, cast

from lakewarden.pipeline import local_mode
from lakewarden.pipeline.session import Deferred

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession

_STARTS = "lakewarden.pipeline.session.spark_session"
"""The function with which the verbs start a session."""


def session() -> SparkSession:
    """A session that is never started."""
    return cast("SparkSession", Deferred(_not_to_be_started, is_here=True))


def spare(patch: pytest.MonkeyPatch) -> None:
    """Fails a test if a verb starts a session."""
    patch.setattr(_STARTS, _not_to_be_started)


def spare_nothing(patch: pytest.MonkeyPatch) -> None:
    """Makes Spark do all work, even for small inputs."""
    patch.setattr(local_mode, "ROWS", -1)
    patch.setattr(local_mode, "BYTES", -1)


def _not_to_be_started(*_: object, **__: object) -> NoReturn:
    raise AssertionError("Spark was started")
