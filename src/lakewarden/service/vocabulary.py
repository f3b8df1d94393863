"""Groups and names of a model's operations and privileges, for pages and clients.

Decisions do not depend on it: it follows from the model's access levels and from names.
"""

from __future__ import annotations

from typing import Final, Literal

from lakewarden.kernel.model import CHANGE, WAYS, Field, Model, Operation, Privilege

Kind = Literal["read", "change", "administer"]
Values = Literal["type", "entity", "principal", "text"]

_READING: Final = frozenset(
    ("about", "access", "count", "download", "export", "get", "list", "load", "read", "scroll")
) | frozenset(("search", "see", "status", "usage", "version", "view"))
_ADMINISTERING: Final = frozenset(
    ("credential", "directory", "grant", "group", "membership", "owner", "person", "policy")
) | frozenset(("privilege", "role", "secret", "secrets", "server", "token", "user"))


def group(operation: Operation) -> str:
    """The prefix of an operation's name: `table` of `table.load`."""
    return operation.name.partition(".")[0]


def ways(model: Model, operation: Operation) -> list[str]:
    """The kinds of access (`see`, `read`, `change`) of the operation."""
    return [way for way in WAYS if operation.name in model.access.get(way, ())]


def kind(model: Model, operation: Operation) -> Kind:
    """Whether it reads, changes, or administers rights."""
    if operation.name == model.granting or group(operation) in _ADMINISTERING:
        return "administer"
    if CHANGE in ways(model, operation):
        return "change"
    verb = operation.name.rpartition(".")[2].partition("_")[0]
    return "read" if ways(model, operation) or verb in _READING else "change"


def display(privilege: Privilege) -> str:
    """The display name of the privilege."""
    return privilege.title or privilege.name.replace("_", " ").capitalize()


def privilege_group(privilege: Privilege) -> str:
    """The group for displaying the privilege: the one type on which it is granted."""
    return next(iter(privilege.on)) if len(privilege.on) == 1 else ""


def values(field: Field) -> Values:
    """The kind of values of a field's criteria: types, entities, principals or text."""
    match field.origin:
        case ("type",):
            return "type"
        case ("owners",) | ("groups",):
            return "principal"
        case ("attribute",):
            return "text"
        case _:
            return "entity"


def value_types(model: Model, field: Field) -> list[str]:
    """The types of the entities that a field resolves to; empty: any type."""
    targets = {
        type
        for origin in field.origin
        if origin in model.relations
        for type in model.relations[origin].targets
    }
    return sorted(targets | field.up | field.itself)
