"""The nodes of an expression."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lakewarden.expressions.types import Type


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table."""

    name: str


@dataclass(frozen=True, slots=True)
class UserValue:
    """`$user.NAME`: the name of the user, or one of the user's attributes. Always a string."""

    name: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; `text` is a number as written, or the content of a string.

    A NULL has no text; a boolean is `true` or `false`.
    """

    text: str
    type: Type


@dataclass(frozen=True, slots=True)
class Call:
    """A function or an operator, by its name in `functions.FUNCTIONS`."""

    function: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Cast:
    """A conversion with the same result on every engine."""

    argument: Node
    type: Type


@dataclass(frozen=True, slots=True)
class InGroups:
    """`x in $user.groups`."""

    argument: Node


@dataclass(frozen=True, slots=True)
class InLookup:
    """`(x, y) in lookup.NAME`: whether the lookup table has such a row."""

    arguments: tuple[Node, ...]
    lookup: str


Node = Column | UserValue | Literal | Call | Cast | InGroups | InLookup


def children(node: Node) -> tuple[Node, ...]:
    """The direct children."""
    match node:
        case Call(arguments=arguments) | InLookup(arguments=arguments):
            return arguments
        case Cast(argument=argument) | InGroups(argument=argument):
            return (argument,)
        case _:
            return ()


def walk(node: Node) -> Iterator[Node]:
    """The node and all nodes below it."""
    yield node
    for child in children(node):
        yield from walk(child)
