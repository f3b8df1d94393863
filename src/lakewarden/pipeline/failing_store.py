"""Detects a failing object store in errors of Spark, which mention it far after the first line."""

from __future__ import annotations

import re
from typing import Final

from lakewarden.pipeline.storage.object_store import CHECK_CREDENTIALS, RUN_AGAIN

_OURS: Final = re.compile(r"\bkernel\.errors\.Unavailable: (.+)")
"""An error of our own client in a Python worker, with its advice."""

_CLIENTS: Final = re.compile(
    r"(?:software\.amazon\.(?:awssdk|s3)|com\.google\.cloud\.hadoop"
    r"|org\.apache\.(?:hadoop\.fs\.(?:s3a|gs|azurebfs)|http))\.[\w.$]*(?:Exception|Error)\b"
)
"""An error of Hadoop's clients of object stores, or of the HTTP client that they use."""

_ADDRESS: Final = re.compile(r"\b(?:s3a|gs|abfss?)://[^\s:,'\"`]+")
_REFUSED: Final = re.compile(
    r"AccessDenied|NoAuthWithAWS|\bStatus Code: 40[13]\b|\b40[13] (?:Forbidden|Unauthorized)"
)
_REASONS: Final = (
    (re.compile(r"SlowDown|(?<![:\w])503\b"), "the store is busy (503)"),
    (re.compile(r"Connection refused"), "the connection is refused"),
    (re.compile(r"[Tt]imed? ?out|Timeout"), "there is no response in time"),
    (re.compile(r"ConnectionClosedException"), "a response was cut off"),
)


def of_failing_store(text: str) -> str:
    """A message that a store failed, and what to do, if the error says so; else empty."""
    if ours := _OURS.search(text):
        return ours[1].strip()
    if not _CLIENTS.search(text):
        return ""
    found = _ADDRESS.search(text)
    place = f"`{found[0].rstrip('.')}`" if found else "the object store"
    if _REFUSED.search(text):
        return f"{place}: access is denied; {CHECK_CREDENTIALS}"
    reason = next((said for pattern, said in _REASONS if pattern.search(text)), "a request failed")
    return f"{place}: {reason}; {RUN_AGAIN}"
