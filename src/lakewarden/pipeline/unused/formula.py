"""How an access is allowed, as a formula over privileges of statements; and the chosen way.

The kernel's explanation has a truth value for each node of the rule. A node that holds becomes a
formula:

    null                            holds without a statement: an owner, an administrator, no rule
    [statement, word, principal]    a privilege of a statement, through a principal: a *cell*
    {"all": […]}, {"any": […]}      all of these, any of these

If there are several ways, the one that needs least is chosen: the weakest privileges (those that
the fewest operations require), then the smallest scopes, then what most accesses could use. So a
user who may change a table, but only reads it, is counted as using the privilege to read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from lakewarden.kernel.explain import Step
from lakewarden.kernel.expression import (
    And,
    At,
    Every,
    Holds,
    May,
    Node,
    Or,
    Some,
    children,
)
from lakewarden.kernel.model import Model

Cell = tuple[str, str, int]
"""A statement, one of its privileges, and one of its principals."""

Formula = Mapping[str, "list[Formula]"] | Cell | None
"""See the module docstring; in JSON a cell is a list."""

GrantingCells = Callable[[Step], Iterable[Cell]]
"""The cells that give the privilege that a node requires."""

ALL: Final = "all"
ANY: Final = "any"

Cost = tuple[int, int, int]


def formula(model: Model, node: Node, step: Step, granting: GrantingCells) -> Formula:
    """The formula of a node that holds."""
    match node:
        case Holds() if step.allowed_by:
            return _joined(ANY, sorted(set(granting(step))))
        case And() | Every():
            return _joined(ALL, _inner(model, node, step, granting))
        case Or() | Some() | At() | May():
            return _joined(ANY, _inner(model, node, step, granting))
        case _:
            return None


def _inner(model: Model, node: Node, step: Step, granting: GrantingCells) -> list[Formula]:
    return [
        formula(model, inner_step, at, granting)
        for inner_step, at in pairs(model, node, step)
        if at.holds
    ]


def pairs(model: Model, node: Node, step: Step) -> Iterator[tuple[Node, Step]]:
    """The child nodes, each with its explanation."""
    match node:
        case And(parts) | Or(parts):
            yield from zip(parts, step.steps, strict=True)
        case At(_, inner) | Every(_, inner) | Some(_, inner):
            yield from ((inner, at) for at in step.steps)
        case May(name) if step.entity is not None:
            rule = model.operation(name).rule_or_none(step.entity.type)
            yield from () if rule is None else ((rule, at) for at in step.steps)
        case _:
            return


def _joined(connective: str, parts: Iterable[Formula]) -> Formula:
    """All or any of the parts, simplified and without duplicates."""
    formulas = list(parts)
    if connective == ANY and None in formulas:
        return None
    distinct: list[Formula] = []
    for part in formulas:
        flat = part[connective] if isinstance(part, Mapping) and connective in part else [part]
        distinct += [part for part in flat if part is not None and part not in distinct]
    if not distinct:
        return None
    return distinct[0] if len(distinct) == 1 else {connective: distinct}


def cells(tree: Formula) -> Iterator[Cell]:
    """All cells of a formula."""
    if isinstance(tree, Mapping):
        for parts in tree.values():
            for part in parts:
                yield from cells(part)
    elif tree is not None:
        statement, privilege, principal = tree
        yield statement, privilege, principal


def cheapest(tree: Formula, cost: Callable[[Cell], Cost]) -> frozenset[Cell]:
    """The cells of the way that needs least."""
    if tree is None:
        return frozenset()
    if not isinstance(tree, Mapping):
        return frozenset(cells(tree))
    parts = [cheapest(part, cost) for alternatives in tree.values() for part in alternatives]
    if ALL in tree:
        return frozenset().union(*parts)
    return min(parts, key=lambda way: (_sum(way, cost), sorted(way)))


def _sum(way: Iterable[Cell], cost: Callable[[Cell], Cost]) -> tuple[int, ...]:
    costs = [cost(cell) for cell in way]
    return tuple(map(sum, zip(*costs, strict=True)))


def weights(model: Model) -> dict[str, int]:
    """The number of operations that require each privilege."""
    counts = dict.fromkeys(model.privileges, 0)
    for operation in model.operations.values():
        named = {name for rule in operation.rules.values() for name in _named(rule)}
        for name in named:
            counts[name] += 1
    return counts


def _named(node: Node) -> Iterator[str]:
    if isinstance(node, Holds):
        yield node.privilege
    for inner in children(node):
        yield from _named(inner)
