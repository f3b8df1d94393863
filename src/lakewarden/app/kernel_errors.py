"""Counts the questions that the kernel could not judge; each of them was answered with a denial.

The kernel keeps the count beside its snapshot; here it is looked at by the clock and added to
the figures, so that somebody notices.
"""

from __future__ import annotations

from collections.abc import Mapping

from lakewarden.app import log, metrics
from lakewarden.service.state import State


class KernelErrors:
    """What was counted already."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[Mapping[str, int], int]] = {}

    def look(self, state: State) -> int:
        """Adds what is new to the figures; how much that is."""
        new = 0
        for name, realm in state.realms.items():
            errors = realm.matrix.errors
            # A copy of the values: the kernel goes on counting meanwhile.
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
