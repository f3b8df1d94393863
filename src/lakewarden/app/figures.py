"""A summary of the figures of `metrics`, for whoever looks at a page and not at Prometheus."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from prometheus_client.samples import Sample

from lakewarden.app import metrics
from lakewarden.service.server_figures import ServerFigures

_STATM: Final = Path("/proc/self/statm")


def figures(started: float, processes: int) -> ServerFigures:
    """What was counted up to about a second ago."""
    samples: dict[str, list[Sample]] = defaultdict(list)
    for family in metrics.registry().collect():
        for sample in family.samples:
            samples[sample.name].append(sample)
    requests: dict[str, int] = defaultdict(int)
    for sample in samples["lakewarden_requests_total"]:
        requests[sample.labels["outcome"]] += int(sample.value)
    buckets = _buckets(samples["lakewarden_request_seconds_bucket"])
    return ServerFigures(
        started=started,
        processes=processes,
        resident_bytes=_resident_bytes(),
        connections=_sum(samples["lakewarden_connections"]),
        requests=dict(sorted(requests.items())),
        rate_limited=_sum(samples["lakewarden_rate_limited_total"]),
        stale_answers=_sum(samples["lakewarden_stale_answers_total"]),
        median_seconds=quantile(buckets, 0.5),
        p99_seconds=quantile(buckets, 0.99),
    )


def _sum(samples: Iterable[Sample]) -> int:
    return int(sum(sample.value for sample in samples))


def _buckets(samples: Iterable[Sample]) -> Mapping[float, float]:
    """How many requests took at most so many seconds, whatever the wire."""
    counts: dict[float, float] = defaultdict(float)
    for sample in samples:
        counts[float(sample.labels["le"])] += sample.value
    return counts


def quantile(buckets: Mapping[float, float], part: float) -> float | None:
    """The least bound below which this part of the counts lies; None where none of them is.

    >>> quantile({0.1: 98.0, 1.0: 99.0, math.inf: 100.0}, 0.99)
    1.0
    """
    total = buckets.get(math.inf, 0.0)
    bounds = (bound for bound in sorted(buckets) if total and buckets[bound] >= part * total)
    found = next(bounds, math.inf)
    return found if math.isfinite(found) else None


def _resident_bytes() -> int | None:
    with suppress(OSError, ValueError, IndexError):
        return int(_STATM.read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return None
