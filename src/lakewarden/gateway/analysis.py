"""Checks a plan analyzed by Spark: every table in it was checked, and is limited.

A second check, after names are resolved, of the plan that the gateway wrote. It parses the text in
which Spark explains a plan, one node per line, and refuses anything unknown: a leaf of another
kind, a table that was not checked, or one without the gateway's filters and projection over it.
Everything below a stored view belongs to the view.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from pyspark.sql.connect.proto import relations_pb2 as relations

from lakewarden.gateway.access import Name
from lakewarden.gateway.errors import Denied
from lakewarden.gateway.inspection import parts

Reads = Mapping[Name, int | None]
"""The tables and views that a plan may read, each with its number of filters; None: unlimited."""

_EAGER: Final = frozenset(
    {
        "show_string", "html_string", "crosstab", "describe", "summary", "approx_quantile", "cov",
        "corr", "freq_items", "transpose",
    }
)  # fmt: skip
"""Relations that Spark executes instead of analyzing; so is a pivot without its values."""

_SECTION: Final = "== Analyzed Logical Plan =="
_NEXT: Final = "== Optimized Logical Plan =="
_LINE: Final = re.compile(r"((?:   |:  )*)([:+]- )?(\S.*)")
_PASSING: Final = frozenset({"LocalRelation", "OneRowRelation", "Range", "CTERelationRef"})
"""Leaves that read no table."""

_TABLES: Final = (
    re.compile(r"Relation (?P<name>[^\[]+)\["),
    re.compile(r"RelationV2\[[^\]]*\] (?P<name>\S+)"),
    re.compile(r"HiveTableRelation \[(?P<name>[^,\]]+),"),
)
_VIEW: Final = re.compile(r"View \((?P<name>[^,]+), ")
_SQL: Final = frozenset({("SQL", "query"), ("ExpressionString", "expression")})
_ESCAPED: Final = re.compile(r"\\n")
"""A newline as written in an SQL text."""

_SUBQUERY: Final = "Subquery"
_OWN: Final = re.compile(r"`lw_[0-9a-f]{32}`")
"""The views in which Spark keeps the plans that come with a query."""


def pieces(plan: Message) -> Iterator[relations.Relation]:
    """The largest parts of the plan that Spark analyzes without executing anything."""
    if isinstance(plan, relations.Relation) and not _has_eager(plan):
        yield _in_lines(plan)
    elif isinstance(plan, relations.WithRelations) and plan.root.HasField("sql"):
        for reference in plan.references:
            yield from pieces(reference)
    else:
        for part in parts(plan):
            yield from pieces(part)


def check_analyzed(explained: str, reads: Reads) -> None:
    """Raises `Denied` unless the explained plan reads only allowed tables, limited as required."""
    _, _, rest = explained.partition(_SECTION)
    text, found, _ = rest.partition(_NEXT)
    if not found:
        raise Denied("the analyzed plan cannot be checked")
    # The first line has the columns.
    nodes = _nodes(text.strip("\n").split("\n")[1:])
    allowed = {".".join(name): filters for name, filters in reads.items()}
    hidden_from: int | None = None
    for place, node in enumerate(nodes):
        if hidden_from is not None and node.depth > hidden_from:
            continue
        hidden_from = None
        view = _VIEW.match(node.text)
        if view is not None and _OWN.fullmatch(view["name"]):
            continue
        if view is not None:
            _check_table(view["name"], node, allowed)
            hidden_from = node.depth
        elif place + 1 == len(nodes) or nodes[place + 1].depth <= node.depth:
            _check_leaf(node, allowed)


@dataclass(frozen=True, slots=True)
class _Node:
    depth: int
    text: str
    above: tuple[str, ...]
    """The nodes above it, the nearest first."""

    @property
    def kind(self) -> str:
        return re.split(r"[ \[(]", self.text, maxsplit=1)[0]


def _nodes(lines: Sequence[str]) -> list[_Node]:
    nodes: list[_Node] = []
    path: list[str] = []
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None or (match[2] is None) != (not nodes):
            raise Denied("the analyzed plan cannot be checked")
        depth = len(match[1]) // 3 + (match[2] is not None)
        if depth > len(path) + 1:
            raise Denied("the analyzed plan cannot be checked")
        # A query in an expression is two levels below the node that has the expression.
        path += [_SUBQUERY] * (depth - len(path))
        del path[depth:]
        nodes.append(_Node(depth, match[3], tuple(reversed(path))))
        path.append(match[3])
    return nodes


def _check_leaf(node: _Node, allowed: Mapping[str, int | None]) -> None:
    if node.kind in _PASSING:
        return
    for pattern in _TABLES:
        table = pattern.match(node.text)
        if table is not None:
            _check_table(table["name"], node, allowed)
            return
    raise Denied(f"the analyzed plan has a part that is not known: `{node.kind[:100]}`")


def _check_table(written: str, node: _Node, allowed: Mapping[str, int | None]) -> None:
    name = written.replace("`", "").strip().lower()
    if name not in allowed:
        raise Denied("the analyzed plan reads a table that was not asked about")
    filters = allowed[name]
    if filters is not None and not _is_limited(node.above, filters):
        raise Denied("the analyzed plan reads a table without its filters and masks")


def _is_limited(above: Sequence[str], filters: int) -> bool:
    """Whether the table has an alias, its filters, and the projection of its shown columns."""
    kinds = [re.split(r"[ \[(]", text, maxsplit=1)[0] for text in above]
    # Spark itself adds a projection over a table whose columns have a fixed length.
    while kinds and kinds[0] == "Project":
        kinds.pop(0)
    if not kinds or kinds[0] != "SubqueryAlias":
        return False
    return kinds[1 : filters + 2] == ["Filter"] * filters + ["Project"]


def _has_eager(plan: Message) -> bool:
    if isinstance(plan, relations.Relation):
        kind = plan.WhichOneof("rel_type")
        if kind in _EAGER:
            return True
        pivot = plan.aggregate.pivot if kind == "aggregate" else None
        if pivot is not None and plan.aggregate.HasField("pivot") and not pivot.values:
            return True
    return any(_has_eager(part) for part in parts(plan))


def _in_lines(plan: relations.Relation) -> relations.Relation:
    """The plan without newlines in its texts, so that each node stays on one line."""
    copy = relations.Relation()
    copy.CopyFrom(plan)
    _flatten(copy)
    return copy


def _flatten(message: Any) -> None:
    for field, value in message.ListFields():
        if field.type != FieldDescriptor.TYPE_STRING:
            continue
        if field.is_repeated:
            value[:] = [_flat(text) for text in value]
        else:
            is_sql = (message.DESCRIPTOR.name, field.name) in _SQL
            text = _ESCAPED.sub(" ", value) if is_sql else value
            setattr(message, field.name, _flat(text))
    for part in parts(message):
        _flatten(part)


def _flat(text: str) -> str:
    return text.replace("\n", " ")
