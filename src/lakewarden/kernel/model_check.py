"""Whether the rules of a model make sense for the target types of their operations.

Text and words are checked when a rule is parsed. This module checks that privileges can reach
the target, that levels and relations start from it, and that operations have no cyclic references.
"""

from __future__ import annotations

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.expression import (
    ANCESTORS,
    PARENT,
    PLATFORM,
    REQUEST,
    SELF,
    TYPE,
    At,
    Compare,
    Every,
    Holds,
    May,
    Node,
    NotDenied,
    Owner,
    Some,
    children,
)
from lakewarden.kernel.model import (
    ANY,
    NONE,
    Model,
    Operation,
    Reach,
    above,
)


def check_operations(model: Model, where: str) -> None:
    """Checks that every rule makes sense for every target type of its operation.

    Raises `BadInput` with `where`, the operation and the misplaced word.
    """
    if model.granting is not None and model.granting not in model.operations:
        raise BadInput(f"unknown operation `{model.granting}`", where=f"{where}.model.granting")
    for privilege in sorted(model.self_privileges - set(model.privileges)):
        raise BadInput(f"unknown privilege `{privilege}`", where=f"{where}.model.self_privileges")
    for operation in model.operations.values():
        at = f'{where}.operations."{operation.name}"'
        for on, rule in operation.rules.items():
            _check_rule(model, operation, on, rule, at, (operation.name,))


def _check_rule(
    model: Model, operation: Operation, on: str, node: Node, at: str, visited: tuple[str, ...]
) -> None:
    """Checks that every word of the rule makes sense for a target of type `on`."""
    reachable = above(model.types, on)
    match node:
        case Owner(levels):
            for level in levels:
                if level != SELF and on != ANY and level not in reachable:
                    raise BadInput(f"no `{level}` lies above a `{on}`", where=at)
        case Holds(privilege) | NotDenied(privilege):
            _check_privilege(model, privilege, on, reachable, at)
        case At(selector, inner):
            for type in _selected(model, operation, on, selector, reachable, at):
                _check_rule(model, operation, type, inner, at, visited)
            return
        case Every(source, inner) | Some(source, inner):
            for type in _related(model, operation, on, source, reachable, at):
                _check_rule(model, operation, type, inner, at, visited)
            return
        case May(name):
            _check_may(model, name, on, at, visited)
        case Compare():
            _check_comparison(model, node, at)
        case _:
            pass
    for child in children(node):
        _check_rule(model, operation, on, child, at, visited)


def _check_privilege(model: Model, name: str, on: str, reachable: frozenset[str], at: str) -> None:
    privilege = model.privileges[name]
    if on in (ANY, NONE) or not privilege.on or ANY in privilege.on:
        return
    where_found = {on} if privilege.reach is Reach.EXACTLY else reachable
    if privilege.reach is Reach.ABOVE:
        where_found = {t for t in model.types if on in above(model.types, t)}
    if not privilege.on & where_found:
        raise BadInput(f"privilege `{name}` never reaches a `{on}`", where=at)


def _check_comparison(model: Model, node: Compare, at: str) -> None:
    """Checks that constants have the attribute's type: `!=` another type would always hold."""
    declared = model.attributes[node.attribute].type
    allowed = (int, float) if declared is float else (declared,)
    for value in node.value if isinstance(node.value, tuple) else (node.value,):
        if type(value) not in allowed:
            raise BadInput(f"`{node.attribute}` is never `{value!r}`", where=at)


def _selected(
    model: Model, operation: Operation, on: str, selector: str, reachable: frozenset[str], at: str
) -> frozenset[str]:
    if selector.startswith(REQUEST):
        return operation.targets[selector.removeprefix(REQUEST)] or frozenset({ANY})
    if selector == PLATFORM:
        return frozenset({NONE})
    if on == NONE:
        raise BadInput(f"without a resource there is no `{selector}`", where=at)
    if on == ANY or selector == TYPE:
        return frozenset({on if selector in (PARENT, TYPE) else selector})
    if selector == PARENT:
        parents = frozenset(model.types[on].parents)
        if not parents:
            raise BadInput(f"a `{on}` has no parent", where=at)
        return parents
    if selector not in reachable:
        raise BadInput(f"no `{selector}` lies above a `{on}`", where=at)
    return frozenset({selector})


def _related(
    model: Model, operation: Operation, on: str, source: str, reachable: frozenset[str], at: str
) -> frozenset[str]:
    if source == ANCESTORS and on in (ANY, NONE):
        return frozenset({ANY})
    if source == ANCESTORS:
        return (reachable - {on}) | (reachable & frozenset(model.types[on].parents))
    if source.startswith(REQUEST):
        return operation.lists[source.removeprefix(REQUEST)] or frozenset({ANY})
    relation = model.relations[source]
    if on != ANY and relation.sources and on not in relation.sources:
        raise BadInput(f"relation `{source}` does not start at a `{on}`", where=at)
    targets = {relation.within.get(type, type) for type in relation.targets}
    return frozenset(targets) or frozenset({ANY})


def _check_may(model: Model, name: str, on: str, at: str, visited: tuple[str, ...]) -> None:
    if name in visited:
        raise BadInput(f"operation `{name}` refers back to itself", where=at)
    other = model.operations[name]
    if on == ANY:
        for type, inner in other.rules.items():
            _check_rule(model, other, type, inner, at, (*visited, name))
        return
    rule = other.rule_or_none("" if on == NONE else on)
    if rule is None:
        raise BadInput(f"operation `{name}` has no rule for a `{on}`", where=at)
    _check_rule(model, other, on, rule, at, (*visited, name))
