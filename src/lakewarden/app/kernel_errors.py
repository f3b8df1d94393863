"""Counts the requests that the kernel could not judge; each was answered with a denial.

The kernel keeps the count beside its snapshot. A periodic look adds it to the figures, where
operators notice it.
"""

from __future__ import annotations

from collections.abc import Mapping

from lakewarden.app import log, metrics
from lakewarden.service.state import State


class KernelErrors:
    """The counts seen so far."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[Mapping[str, int], int]] = {}

    def count_new(self, state: State) -> int:
        """Adds new errors to the figures; returns their number."""
        new = 0
        for name, realm in state.realms.items():
            errors = realm.matrix.errors
            # A copy of the values: the kernel keeps counting meanwhile.
            count = sum(list(errors.values()))
            before = self._seen.get(name)
            counted = before[1] if before is not None and before[0] is errors else 0
            self._seen[name] = (errors, count)
            if count > counted:
                new += count - counted
                metrics.KERNEL_ERRORS.labels(realm.realm.model).inc(count - counted)
                log.get().error(
                    "requests could not be evaluated", realm=name, count=count - counted
                )
        return new
