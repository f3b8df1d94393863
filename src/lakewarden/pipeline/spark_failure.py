"""Errors of Spark, and the reason of one in a line."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from lakewarden.pipeline.failing_store import of_failing_store
from lakewarden.pipeline.full_disk import of_full_disk

_CALLED: Final = "An error occurred while calling"

_CLIENTLESS: Final = {
    "S3AFileSystem not found": "S3",
    "GoogleHadoopFileSystem not found": "Google Cloud Storage",
    'No FileSystem for scheme "gs"': "Google Cloud Storage",
    "AzureBlobFileSystem not found": "Azure",
    'No FileSystem for scheme "abfss"': "Azure",
}
"""Hadoop's message for a store whose client is missing, and the store."""

_GONE: Final = "StatusCode.UNAVAILABLE"

_TRACE: Final = "Traceback (most recent call last):"
"""May follow the first words of a message from Spark, if a Python worker failed."""


def errors_of_spark() -> tuple[type[Exception], ...]:
    """The exceptions that Spark raises; none without PySpark."""
    if find_spec("pyspark") is None:
        return ()
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # theirs has none
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError


def reason_of_failure(error: Exception) -> str:
    """Spark's own reason for the failure, and what to do about a missing part."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    # The first line about a call says only that it failed.
    first = lines[1].lstrip(": ") if lines[0].startswith(_CALLED) and lines[1:] else lines[0]
    if first.endswith(_TRACE):  # the error follows the calls, which are indented
        at = next(number for number, line in enumerate(lines) if line.endswith(first))
        behind = lines[at + 1 :]
        first = first.removesuffix(_TRACE) + next((s for s in behind if s[:1].strip()), "")
    if reason := of_full_disk(str(error)) or of_failing_store(str(error)):
        return reason
    if _GONE in str(error):
        return "the Spark Connect server does not answer; start it and run the command again"
    store = next((store for said, store in _CLIENTLESS.items() if said in first), None)
    if store is not None:
        first += f"; add Hadoop's client of {store}, see `--spark-conf` and docs/clusters.md"
    return first
