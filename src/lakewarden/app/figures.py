"""A summary of the figures of `metrics`, for the web pages."""

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
from lakewarden.http.exchange import READS, WRITES
from lakewarden.service.plugin_polls import Plugin
from lakewarden.service.server_figures import ServerFigures

_STATM: Final = Path("/proc/self/statm")


def figures(started: float, processes: int) -> ServerFigures:
    """The figures, up to about a second old."""
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
        median_seconds=quantile(buckets, 0.5, fewest=1),
        p99_seconds=quantile(buckets, 0.99, fewest=100),
    )


def plugins() -> Mapping[Plugin, float]:
    """When each plugin last had the newest documents; up to about a second old."""
    return {
        (sample.labels["realm"], sample.labels["service"], sample.labels["plugin"]): sample.value
        for family in metrics.registry().collect()
        if family.name == metrics.PLUGINS._name
        for sample in family.samples
    }


def _sum(samples: Iterable[Sample]) -> int:
    return int(sum(sample.value for sample in samples))


def _buckets(samples: Iterable[Sample]) -> Mapping[float, float]:
    """The number of ordinary requests by upper bound of their seconds, for all wires.

    Excluded are bulk requests, which take seconds (such as a run of the checks), and logins, which
    are slow on purpose: a few of either would make the server look slow.
    """
    counts: dict[float, float] = defaultdict(float)
    for sample in samples:
        if sample.labels["class"] in (READS, WRITES):
            counts[float(sample.labels["le"])] += sample.value
    return counts


def quantile(buckets: Mapping[float, float], part: float, *, fewest: int) -> float | None:
    """The value below which this part of the counts lies, interpolated linearly in its bucket.

    None if there are fewer counts than `fewest`, since the value would then be one of the largest,
    and None if the value lies above the last bound.

    >>> quantile({0.1: 98.0, 0.2: 100.0, math.inf: 100.0}, 0.99, fewest=100)
    0.15
    """
    total = buckets.get(math.inf, 0.0)
    if total < fewest:
        return None
    rank, lower, below = part * total, 0.0, 0.0
    for bound in sorted(buckets):
        if buckets[bound] >= rank:
            break
        lower, below = bound, buckets[bound]
    if math.isinf(bound):
        return None
    return round(lower + (bound - lower) * (rank - below) / (buckets[bound] - below), 6)


def _resident_bytes() -> int | None:
    with suppress(OSError, ValueError, IndexError):
        return int(_STATM.read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return None
