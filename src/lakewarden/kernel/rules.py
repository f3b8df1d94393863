"""Rule text to nodes: the small language in which a model states what an operation requires.

The text is read with Python's grammar and never evaluated. Words of the language:

=====================================  =====================================================
`SELECT_TABLE`                         the privilege is held on the target
`READ @ namespace`                     about another entity: `parent`, a type (the
                                       ancestor-or-self of that type), `platform` (no
                                       resource), `type`, or a target the operation names
`owner(self)`, `owner(metalake)`       the subject owns the target, an ancestor of a type
`not denied(USE_CATALOG)`              no DENY reaches the target; the only negation
`self`, `service_admin`                the target is the subject; a configured administrator
`every(subjects, …)`, `some(…)`        over a relation, `ancestors`, or `request.tags`
`may(table.load)`                      the rule of another operation
`resource.status == 'open'`            a declared attribute; also `!=`, `in`, or bare
`anyone`, `nobody`                     nothing required; never met
`LEAF(x)`                              a macro of the model file
=====================================  =====================================================

`@` binds tighter than `and`, `and` tighter than `or`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.expression import (
    ANCESTORS,
    PARENT,
    PLATFORM,
    REQUEST,
    SELF,
    TYPE,
    And,
    Anyone,
    At,
    Compare,
    Every,
    Holds,
    IsSelf,
    May,
    Nobody,
    Node,
    NotDenied,
    Or,
    Owner,
    ServiceAdmin,
    Some,
)

_TRIES = 3

_CONSTANTS: dict[str, Node] = {
    "anyone": Anyone(),
    "nobody": Nobody(),
    "self": IsSelf(),
    "service_admin": ServiceAdmin(),
}

RESERVED = frozenset({*_CONSTANTS, "owner", "every", "some", "may", "denied"})
"""Words that a macro cannot have as its name."""


@dataclass(frozen=True, slots=True)
class Macro:
    """A named piece of rule text with parameters: `LEAF(x)`."""

    parameters: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The names that a rule may use; anything else is an error at load time.

    `targets` and `lists` are the operation's own: entities, and lists of entities, that
    come with its request beside the main target.
    """

    privileges: frozenset[str]
    types: frozenset[str]
    relations: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    operations: frozenset[str] = frozenset()
    targets: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()
    macros: Mapping[str, Macro] = field(default_factory=dict)


def parse(text: str, vocabulary: Vocabulary, where: str) -> Node:
    """The nodes that `text` spells.

    Raises `BadInput` with `where` (file and operation) and the column, counted from 1, of
    the unknown or misplaced word.

    >>> words = Vocabulary(frozenset({"READ"}), frozenset({"namespace"}))
    >>> parse("READ and READ @ namespace", words, "example")
    And(parts=(Holds(privilege='READ'), At(selector='namespace', inner=Holds(privilege='READ'))))
    """
    return _Reader(vocabulary, where, {}, ()).read(text)


def _tree(text: str, tries: int) -> ast.Expression:
    """The text as Python's syntax tree."""
    try:
        return ast.parse(text, mode="eval")
    except SystemError:  # CPython 3.11 mixes up the depths of trees that threads build at once
        if tries == 1:
            raise
        return _tree(text, tries - 1)


class _Reader:
    """Reads one text; each macro is read by its own reader, which knows the arguments."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        where: str,
        arguments: Mapping[str, Node],
        expanding: tuple[str, ...],
    ) -> None:
        self._words = vocabulary
        self._where = where
        self._arguments = arguments
        self._expanding = expanding

    def read(self, text: str) -> Node:
        try:
            tree = _tree(text, _TRIES)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            column = getattr(error, "offset", None) or 1
            raise BadInput(f"column {column}: not an expression", where=self._where) from None
        return self._node(tree.body)

    def _refuse(self, at: ast.AST, message: str) -> BadInput:
        column = getattr(at, "col_offset", 0) + 1
        return BadInput(f"column {column}: {message}", where=self._where)

    def _node(self, tree: ast.expr) -> Node:
        match tree:
            case ast.BoolOp(op=ast.And(), values=values):
                return And(tuple(self._node(value) for value in values))
            case ast.BoolOp(values=values):
                return Or(tuple(self._node(value) for value in values))
            case ast.BinOp(left=inner, op=ast.MatMult(), right=selector):
                return At(self._selector(selector), self._node(inner))
            case ast.UnaryOp(op=ast.Not(), operand=ast.Call(ast.Name("denied"), [arg], [])):
                return NotDenied(self._privilege(arg))
            case ast.Name(id=name):
                return self._name(tree, name)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._call(tree, name, arguments)
            case ast.Attribute():
                return Compare(self._attribute(tree), "==", True)
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                return self._compare(left, operator, right)
            case _:
                raise self._refuse(tree, "expected a privilege, a condition, `and`, `or` or `@`")

    def _name(self, tree: ast.expr, name: str) -> Node:
        if name in self._arguments:
            return self._arguments[name]
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if name in self._words.macros:
            return self._expand(tree, name, [])
        if name in self._words.privileges:
            return Holds(name)
        raise self._refuse(tree, f"unknown privilege or word `{name}`")

    def _call(self, tree: ast.expr, name: str, arguments: list[ast.expr]) -> Node:
        match name, arguments:
            case "owner", [_, *_]:
                return Owner(tuple(self._level(argument) for argument in arguments))
            case "every", [source, inner]:
                return Every(self._source(source), self._node(inner))
            case "some", [source, inner]:
                return Some(self._source(source), self._node(inner))
            case "may", [operation]:
                return May(self._operation(operation))
            case _ if name in self._words.macros:
                return self._expand(tree, name, arguments)
            case _:
                raise self._refuse(tree, f"unknown form `{name}` with {len(arguments)} argument(s)")

    def _expand(self, tree: ast.expr, name: str, arguments: list[ast.expr]) -> Node:
        macro = self._words.macros[name]
        if len(arguments) != len(macro.parameters):
            expected = len(macro.parameters)
            raise self._refuse(tree, f"macro `{name}` takes {expected} argument(s)")
        if name in self._expanding:
            raise self._refuse(tree, f"macro `{name}` contains itself")
        bindings = dict(zip(macro.parameters, map(self._node, arguments), strict=True))
        where = f"{self._where}: in macro `{name}`"
        return _Reader(self._words, where, bindings, (*self._expanding, name)).read(macro.text)

    def _privilege(self, tree: ast.expr) -> str:
        if isinstance(tree, ast.Name) and tree.id in self._words.privileges:
            return tree.id
        raise self._refuse(tree, f"unknown privilege `{ast.unparse(tree)}`")

    def _level(self, tree: ast.expr) -> str:
        name = ast.unparse(tree)
        if name == SELF or name in self._words.types:
            return name
        raise self._refuse(tree, f"unknown type `{name}`")

    def _selector(self, tree: ast.expr) -> str:
        name = ast.unparse(tree)
        if name in self._words.targets:
            return REQUEST + name
        if name in (PARENT, PLATFORM, TYPE) or name in self._words.types:
            return name
        raise self._refuse(tree, f"unknown type or target `{name}`")

    def _source(self, tree: ast.expr) -> str:
        name = ast.unparse(tree)
        if name == ANCESTORS or name in self._words.relations:
            return name
        if name.startswith(REQUEST) and name.removeprefix(REQUEST) in self._words.lists:
            return name
        raise self._refuse(tree, f"unknown relation or request list `{name}`")

    def _operation(self, tree: ast.expr) -> str:
        name = ast.unparse(tree)
        if name in self._words.operations:
            return name
        raise self._refuse(tree, f"unknown operation `{name}`")

    def _attribute(self, tree: ast.expr) -> str:
        name = ast.unparse(tree)
        if name in self._words.attributes:
            return name
        raise self._refuse(tree, f"unknown attribute `{name}`")

    def _compare(self, left: ast.expr, operator: ast.cmpop, right: ast.expr) -> Node:
        attribute = self._attribute(left)
        match operator, right:
            case ast.Eq(), ast.Constant(value=bool() | str() | int() | float() as value):
                return Compare(attribute, "==", value)
            case ast.NotEq(), ast.Constant(value=bool() | str() | int() | float() as value):
                return Compare(attribute, "!=", value)
            case ast.In(), ast.List(elts=[_, *_] as items):
                return Compare(attribute, "in", tuple(self._constant(item) for item in items))
            case _:
                raise self._refuse(right, "expected `==` or `!=` a constant, or `in` a list")

    def _constant(self, tree: ast.expr) -> str | bool | int | float:
        match tree:
            case ast.Constant(value=bool() | str() | int() | float() as value):
                return value
            case _:
                raise self._refuse(tree, "expected a constant")
