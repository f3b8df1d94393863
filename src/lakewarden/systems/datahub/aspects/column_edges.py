"""Edges between columns in a patch, which names each by a path of four parts.

    /fineGrainedLineages/TRANSFORMATION/DOWNSTREAM/QUERY/UPSTREAM

`NONE` means no transformation, or no query. A shorter path names all edges that begin with its
parts. Edges that differ only in the last part are one object in the list, with the lowest
confidence of these edges.

SOURCE: datahub-project/datahub, FineGrainedLineageTemplateHelper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from lakewarden.kernel.errors import BadInput
from lakewarden.systems.datahub.aspects.fields import without_avro_type

NAME: Final = "fineGrainedLineages"
"""The list of such edges in an aspect."""

_NONE: Final = "NONE"
_CERTAIN: Final = 1.0
_PARTS: Final = 4
_DEFAULTS: Final = {
    "confidenceScore": _CERTAIN,
    "upstreamType": "FIELD_SET",
    "downstreamType": "FIELD",
}

Keys = Sequence[str]


class _Path(NamedTuple):
    transformation: str
    downstream: str
    query: str
    upstream: str


class ColumnEdges:
    """The edges of a list, by their paths. Raises `BadInput` for a list of anything else."""

    keys: Keys = ()

    def __init__(self, members: Sequence[object]) -> None:
        self._edges: dict[_Path, Mapping[str, Any]] = {}
        for member in members:
            if not isinstance(member, Mapping):
                raise BadInput("expected an object", where=NAME)
            details = {key: member[key] for key in _DEFAULTS if member.get(key) is not None}
            for path in _paths(member):
                self._edges[path] = details

    def change(self, parts: list[str], value: object | None) -> None:
        """Removes the edges that the parts name, and adds an edge if they name one completely."""
        if value is None and len(parts) == _PARTS:
            self._edges.pop(_Path(*parts), None)
            return
        if value is None:
            prefix_length = len(parts)
            for path in [path for path in self._edges if path[:prefix_length] == tuple(parts)]:
                del self._edges[path]
            return
        if len(parts) != _PARTS or not isinstance(value, Mapping):
            raise BadInput(
                "expected a transformation, a downstream, a query and an upstream, and an object",
                where=NAME,
            )
        details = {key: value[key] for key in _DEFAULTS if value.get(key) is not None}
        self._edges[_Path(*parts)] = details

    def to_list(self) -> list[object]:
        """The edges as a list."""
        together: dict[tuple[str, ...], dict[str, Any]] = {}
        for path, details in self._edges.items():
            merged = together.setdefault(path[:-1], _empty(path))
            merged["upstreams"].append(path.upstream)
            score = details.get("confidenceScore")
            if isinstance(score, int | float):
                merged["confidenceScore"] = min(merged["confidenceScore"], score)
            merged |= {
                key: details[key] for key in ("upstreamType", "downstreamType") if key in details
            }
        return list(together.values())


def _empty(path: _Path) -> dict[str, Any]:
    edge: dict[str, Any] = {**_DEFAULTS, "upstreams": [], "downstreams": [path.downstream]}
    if path.query != _NONE:
        edge["query"] = path.query
    edge["transformOperation"] = path.transformation
    return edge


def _paths(member: Mapping[str, Any]) -> Iterator[_Path]:
    transformation, query = (
        str(without_avro_type(member.get(key)) or _NONE) for key in ("transformOperation", "query")
    )
    for downstream in _urns(member, "downstreams"):
        for upstream in _urns(member, "upstreams"):
            yield _Path(transformation, downstream, query, upstream)


def _urns(member: Mapping[str, Any], key: str) -> list[str]:
    values = without_avro_type(member.get(key))
    return [str(without_avro_type(value)) for value in values] if isinstance(values, list) else []
