"""The figures of a running server for its administrators, at a glance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ServerFigures:
    """Of all processes together, except `started` and `resident_bytes` of the responding one.

    `started` is in seconds since the epoch; `requests` counts by outcome; `median_seconds` and
    `p99_seconds` are the time of a request since the start, without bulk requests and logins: None
    before the first request (`p99_seconds`: before the hundredth), and above the largest bucket.
    `resident_bytes` is None if the machine does not provide it.
    """

    started: float = 0.0
    processes: int = 1
    resident_bytes: int | None = None
    connections: int = 0
    requests: Mapping[str, int] = field(default_factory=dict)
    rate_limited: int = 0
    stale_answers: int = 0
    median_seconds: float | None = None
    p99_seconds: float | None = None
