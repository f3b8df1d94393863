"""Small inputs are spared Spark: a session that fails a test when it is started all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, cast

from lakewarden.pipeline import local_mode
from lakewarden.pipeline.session import Deferred

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession

_STARTS = "lakewarden.pipeline.session.spark_session"
"""What the verbs start a session with."""


def session() -> SparkSession:
    """One that is never there."""
    return cast("SparkSession", Deferred(_not_to_be_started, is_here=True))


def spare(patch: pytest.MonkeyPatch) -> None:
    """From now on no verb may start a session."""
    patch.setattr(_STARTS, _not_to_be_started)


def spare_nothing(patch: pytest.MonkeyPatch) -> None:
    """From now on Spark does all there is to do, however little it is."""
    patch.setattr(local_mode, "ROWS", -1)
    patch.setattr(local_mode, "BYTES", -1)


def _not_to_be_started(*_: object, **__: object) -> NoReturn:
    raise AssertionError("Spark was started")
