"""The dialect, realm and route of a path.

A path is split before it is decoded, and whole segments are matched: no content of a segment can
become a separator. A path below `/r/NAME` belongs to the realm of that name, any other path to the
default realm of its dialect.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lakewarden.http.exchange import OWN_MODELS, Dialect, Route
from lakewarden.service.realm import CONTROL
from lakewarden.service.state import RealmState, State

REALMS: Final = "r"
"""First segment of paths that name their realm."""

_HEAD = "HEAD"


@dataclass(frozen=True, slots=True)
class RouteMatch:
    """A route, the parameters in its path, and the segments below the realm."""

    dialect: Dialect
    route: Route
    params: Mapping[str, str]
    segments: tuple[str, ...]
    realm: str | None = None


@dataclass(frozen=True, slots=True)
class NoRoute:
    """No route: the dialect of the path, if any, and the allowed methods."""

    dialect: Dialect | None
    allowed: tuple[str, ...] = ()
    realm: str | None = None


@dataclass(frozen=True, slots=True)
class _Pattern:
    """The segments of a route's path; None is a parameter. `rest` matches all that follow."""

    dialect: Dialect
    route: Route
    literals: tuple[str | None, ...]
    names: tuple[tuple[int, str], ...]
    rest: str | None

    def match(self, segments: Sequence[str]) -> Mapping[str, str] | None:
        for literal, segment in zip(self.literals, segments, strict=False):
            if literal is not None and literal != segment:
                return None
        params = {name: segments[at] for at, name in self.names}
        if self.rest is not None:
            params[self.rest] = "/".join(segments[len(self.literals) :])
        return params


class Table:
    """All routes of all dialects."""

    def __init__(self, dialects: Iterable[Dialect]) -> None:
        self.dialects = tuple(dialects)
        self.patterns = tuple(
            _pattern(dialect, route) for dialect in self.dialects for route in dialect.routes()
        )
        self._by_length: dict[int, list[_Pattern]] = {}
        self._with_rest = [pattern for pattern in self.patterns if pattern.rest is not None]
        for pattern in self.patterns:
            if pattern.rest is None:
                self._by_length.setdefault(len(pattern.literals), []).append(pattern)
        for patterns in self._by_length.values():
            patterns.sort(key=_specificity_key)
        self._prefixes = _prefixes(self.patterns)

    def find(self, method: str, segments: tuple[str, ...], state: State) -> RouteMatch | NoRoute:
        """The route of a decoded path.

        Below a realm, the dialects that serve it come first. The others follow: only authenticated
        callers learn whether a realm exists, and of which system it is.
        """
        realm, segments = _realm(segments)
        if realm is not None:
            speaking = dialects_of(self.dialects, state.realms.get(realm))
            match = self._match(speaking, method, segments, realm)
            if isinstance(match, RouteMatch) or match.allowed:
                return match
        return self._match(self.dialects, method, segments, realm)

    def _match(
        self,
        dialects: Sequence[Dialect],
        method: str,
        segments: tuple[str, ...],
        realm: str | None,
    ) -> RouteMatch | NoRoute:
        allowed: list[str] = []
        last: Dialect | None = None
        for pattern in (*self._by_length.get(len(segments), ()), *self._with_rest):
            if pattern.dialect not in dialects:
                continue
            if pattern.rest is not None and len(segments) <= len(pattern.literals):
                continue
            params = pattern.match(segments)
            if params is None:
                continue
            offered = pattern.route.method
            if offered == method or (method == _HEAD and offered == "GET"):
                return RouteMatch(pattern.dialect, pattern.route, params, segments, realm)
            last = last or pattern.dialect
            allowed.append(offered)
        if last is None:
            last = self.closest_dialect("/" + "/".join(segments), dialects)
        return NoRoute(last, tuple(dict.fromkeys(allowed)), realm)

    def closest_dialect(
        self, path: str, dialects: Sequence[Dialect] | None = None
    ) -> Dialect | None:
        """The dialect with the longest literal beginning in common with this path."""
        segments = [segment for segment in path.split("/") if segment]
        if segments[:1] == [REALMS]:
            segments = segments[2:]
        for length in range(len(segments), 0, -1):
            for dialect in self._prefixes.get(tuple(segments[:length]), ()):
                if dialects is None or dialect in dialects:
                    return dialect
        return None


def _pattern(dialect: Dialect, route: Route) -> _Pattern:
    segments = [segment for segment in route.path.split("/") if segment]
    rest_name = None
    if segments and segments[-1].endswith(":path}"):
        rest_name = segments.pop()[1 : -len(":path}")]
    literals = tuple(None if segment.startswith("{") else segment for segment in segments)
    names = tuple(
        (at, segment[1:-1]) for at, segment in enumerate(segments) if segment.startswith("{")
    )
    return _Pattern(dialect, route, literals, names, rest_name)


def _specificity_key(pattern: _Pattern) -> tuple[bool, ...]:
    """Sort key: literal segments before parameters, so the closest pattern comes first."""
    return tuple(literal is None for literal in pattern.literals)


def _prefixes(patterns: Iterable[_Pattern]) -> Mapping[tuple[str, ...], list[Dialect]]:
    """The dialects, by the literal prefixes of their paths."""
    by_prefix: dict[tuple[str, ...], list[Dialect]] = {}
    for pattern in patterns:
        start: list[str] = []
        for literal in pattern.literals:
            if literal is None:
                break
            start.append(literal)
            dialects = by_prefix.setdefault(tuple(start), [])
            if pattern.dialect not in dialects:
                dialects.append(pattern.dialect)
    return by_prefix


def _realm(segments: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    if len(segments) >= 2 and segments[0] == REALMS:
        return segments[1], segments[2:]
    return None, segments


def dialects_of(dialects: Iterable[Dialect], realm: RealmState | None) -> tuple[Dialect, ...]:
    """The dialects of a realm; an unknown realm has those of all realms."""
    return tuple(dialect for dialect in dialects if serves(dialect, realm))


def serves(dialect: Dialect, realm: RealmState | None) -> bool:
    """Whether the dialect serves the realm; for an unknown realm, whether it serves all."""
    if not dialect.models or realm is None:
        return not dialect.models
    is_own = realm.realm.text is not None
    return (OWN_MODELS if is_own else realm.realm.model) in dialect.models


def top_realm(dialect: Dialect, state: State) -> str | None:
    """The default realm of a dialect, for paths without a realm.

    The realm with the dialect's name, else the first by name; for a dialect that serves all realms,
    `_server`.
    """
    if not dialect.models:
        return CONTROL
    named = state.realms.get(dialect.name)
    if named is not None and named.realm.model in dialect.models:
        return dialect.name
    fitting = (name for name, other in state.realms.items() if other.realm.model in dialect.models)
    return min(fitting, default=None)
