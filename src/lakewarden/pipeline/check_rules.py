"""The parts of the row checks that need no Spark: reasons, and rules that follow chains of rows.

`check` applies them to Spark frames, `check_local` to rows in this process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from lakewarden.kernel.expression import Every, Node, children
from lakewarden.kernel.model import Model, above
from lakewarden.kernel.principal import GROUP, ROLE
from lakewarden.service.source_row import PLACEMENTS

REPEATED: Final = "repeated"
TWO_PARENTS: Final = "two parents"
CYCLE: Final = "cycle"
TOO_DEEP: Final = "too deep"
DANGLING_PARENT: Final = "dangling parent"
NOT_STORED: Final = "not stored"
DANGLING_TARGET: Final = "dangling target"
INCOMPLETE: Final = "incomplete"

MAX_LEVELS: Final = 64
"""Deepest place of an entity. SOURCE: security reference, R-17."""

Key = tuple[str, str]
"""Type (or kind) and name."""

ABOUT: Final = ("relations", "attributes", "owners", PLACEMENTS)
"""Tables whose rows are about an entity."""

NESTING_KINDS: Final = (GROUP, ROLE)
"""Kinds of principals that can be members of one another."""

DETAILS: Final = {
    REPEATED: "the first is kept",
    INCOMPLETE: "another edge of the entity was set aside",
}
"""The details of reasons that have the same detail for all rows."""


class Bad(NamedTuple):
    """A row that does not pass, identified by all its cells."""

    table: str
    cells: tuple[str, ...]
    reason: str
    detail: str


def nesting(model: Model) -> list[str]:
    """The types that may lie below their own kind: only these can form cycles; they are few."""
    return sorted(type for type in model.types if _can_contain_itself(model, type))


def misplaced(placements: Iterable[tuple[str, ...]]) -> Iterator[Bad]:
    """The places of types that nest which are part of a cycle, or too deep."""
    parents = {
        (type, name): (parent_type, parent_name)
        for type, name, parent_type, parent_name in placements
    }
    circular = on_cycles({child: [parent] for child, parent in parents.items()})
    levels = _levels({c: p for c, p in parents.items() if c not in circular})
    for child, parent in parents.items():
        cells = (*child, *parent)
        if child in circular:
            yield Bad(PLACEMENTS, cells, CYCLE, f"`{child[1]}` is below itself")
        elif levels[child] >= MAX_LEVELS:
            detail = f"level {levels[child]}, at most {MAX_LEVELS - 1} for what has members"
            yield Bad(PLACEMENTS, cells, TOO_DEEP, detail)


def _can_contain_itself(model: Model, type: str) -> bool:
    """Whether an entity of the type may lie, at any depth, below another one of that type."""
    parents = model.types[type].parents
    return any(type in above(model.types, parent) for parent in parents)


def on_cycles(edges: Mapping[Key, Iterable[Key]]) -> set[Key]:
    """The nodes that lie on a cycle: those that are reachable from themselves.

    >>> sorted(on_cycles({("g", "a"): [("g", "b")], ("g", "b"): [("g", "b")]}))
    [('g', 'b')]
    """
    return {node for group in _components(edges) for node in group}


def _components(edges: Mapping[Key, Iterable[Key]]) -> Iterator[list[Key]]:
    """The strongly connected components that hold a cycle (Tarjan's algorithm, iterative)."""
    index: dict[Key, int] = {}
    low: dict[Key, int] = {}
    stack: list[Key] = []
    on_stack: set[Key] = set()
    for start in edges:
        if start in index:
            continue
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        path = [(start, iter(edges[start]))]
        while path:
            node, targets = path[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    path.append((target, iter(edges.get(target, ()))))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == index[node]:
                    group = [stack.pop()]
                    while group[-1] != node:
                        group.append(stack.pop())
                    on_stack.difference_update(group)
                    if len(group) > 1 or node in set(edges.get(node, ())):
                        yield group


def _levels(parents: Mapping[Key, Key]) -> dict[Key, int]:
    """The depth of each child; the graph has no cycle."""
    levels: dict[Key, int] = {}
    for child in parents:
        chain = []
        node: Key | None = child
        while node is not None and node not in levels:
            chain.append(node)
            node = parents.get(node)
        level = -1 if node is None else levels[node]
        for passed in reversed(chain):
            level += 1
            levels[passed] = level
    return levels


def circular(memberships: Iterable[tuple[str, ...]]) -> Iterator[Bad]:
    """The memberships among groups and roles that lie on a cycle."""
    rows = list(memberships)
    edges: dict[Key, list[Key]] = {}
    for kind, name, of_kind, of_name in rows:
        edges.setdefault((kind, name), []).append((of_kind, of_name))
    component = {node: i for i, group in enumerate(_components(edges)) for node in group}
    for kind, name, of_kind, of_name in rows:
        if component.get((kind, name), -1) == component.get((of_kind, of_name), -2):
            detail = f"`{name}` would be a member of itself"
            yield Bad("memberships", (kind, name, of_kind, of_name), CYCLE, detail)


def dangling(placement: tuple[str, ...]) -> Iterator[Bad]:
    """An entity whose parent is not stored or is itself rejected, and its place."""
    detail = f"{_named(*placement[2:])} is not stored"
    yield Bad("entities", placement[:2], DANGLING_PARENT, detail)
    yield Bad(PLACEMENTS, placement, DANGLING_PARENT, detail)


def _named(type: str, name: str) -> str:
    return f"`{type}:{name}`"


def denied_types(model: Model) -> list[str]:
    """The types whose names are denied when they are not stored."""
    return sorted(type for type in model.types if not model.judged(type))


def universal_relations(model: Model) -> list[str]:
    """The relations that some rule reads as a whole, over all edges of an entity.

    >>> from lakewarden.service.system import load_system
    >>> universal_relations(load_system("datahub").model)
    ['subject']
    """
    rules = (rule for operation in model.operations.values() for rule in operation.rules.values())
    return sorted({kind for rule in rules for kind in _universal(rule)} & set(model.relations))


def _universal(node: Node) -> Iterator[str]:
    if isinstance(node, Every):
        yield node.source
    for inner in children(node):
        yield from _universal(inner)
