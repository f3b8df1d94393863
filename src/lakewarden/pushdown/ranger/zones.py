"""Security zones of Ranger: the zones that decide about what a policy names.

Only the policies of a zone decide about its resources, and they decide about nothing else. For the
parents of a zone's resource, policies in no zone decide. So a policy may be in the zone of a
target although it names more, and is needed there if it may be about something in the zone.
Source: apache/ranger, `RangerSecurityZoneMatcher.java` and `RangerPolicyEngineImpl.java` at
8e7716cd3c36, and the decisions of its engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from lakewarden.kernel.wildcard import matches
from lakewarden.pushdown.ranger.state import ALL

Json = dict[str, Any]

_OPEN: Final = frozenset("*?{")
"""Characters by which a value matches more than one name."""


@dataclass(frozen=True, slots=True)
class Zone:
    """A security zone: its resources in a service, each with values by levels.

    A resource of a zone includes everything below it. `folds`: names match without regard to case.
    """

    name: str
    resources: Sequence[Mapping[str, Sequence[str]]]
    folds: bool = False

    def has(self, content: Json) -> bool:
        """Whether everything that our policy names is certainly in the zone."""
        return all(
            any(self._contains(one, path) for one in self.resources) for path in _paths(content)
        )

    def may_overlap(self, content: Json) -> bool:
        """Whether our policy may be about something in the zone."""
        return any(
            self._may_overlap(one, path) for one in self.resources for path in _paths(content)
        )

    def _contains(self, resource: Mapping[str, Sequence[str]], path: Mapping[str, str]) -> bool:
        return bool(resource) and all(
            level in path and any(self._covers(one, path[level]) for one in values)
            for level, values in resource.items()
        )

    def _covers(self, pattern: str, value: str) -> bool:
        if pattern in (ALL, value) or (pattern == "/*" and value.startswith("/")):
            return True
        if _OPEN & {*value}:
            return False
        if value.startswith("/"):
            return not _OPEN & {*pattern} and value.startswith(pattern.rstrip("/") + "/")
        is_plain = self.folds and pattern.isascii() and value.isascii()
        return matches(*((pattern.lower(), value.lower()) if is_plain else (pattern, value)))

    def _may_overlap(self, resource: Mapping[str, Sequence[str]], path: Mapping[str, str]) -> bool:
        common = resource.keys() & path.keys()
        return bool(common) and all(
            any(_values_may_overlap(one, path[level]) for one in resource[level])
            for level in common
        )


def _values_may_overlap(one: str, other: str) -> bool:
    if _OPEN & {*one, *other}:
        return True
    if one.startswith("/"):
        first, second = one.rstrip("/") + "/", other.rstrip("/") + "/"
        return first.startswith(second) or second.startswith(first)
    return one.casefold() == other.casefold()


def _paths(content: Json) -> Iterator[Mapping[str, str]]:
    """The single resources that a policy names."""
    levels = [*content["resources"]]
    for values in product(*(content["resources"][level]["values"] for level in levels)):
        yield dict(zip(levels, values, strict=True))


def zones_of(rows: Iterable[Json], service: str, *, folds: bool) -> list[Zone]:
    """The zones with resources of a service, from Ranger's list."""
    found = []
    for row in rows:
        own = (row.get("services") or {}).get(service) or {}
        resources = [
            {str(level): [*map(str, values or ())] for level, values in one.items()}
            for one in own.get("resources") or ()
        ]
        if own:
            found.append(Zone(str(row.get("name", "")), resources, folds))
    return found
