"""Avro schemas, as far as needed to find the end of a value.

A schema becomes a `Shape`, which walks over one value and validates it. The values are not
decoded. Everything that the specification does not allow, and a value nested too deeply, is
rejected (`BadInput`).

Each step of a walk advances by at least one byte: values without bytes (null, a record of only such
values, a fixed type of size 0) are never walked over, so neither a count nor a schema that refers
to itself can keep a reader busy.
SOURCE: Apache Avro 1.11 specification: schema declaration; data serialization, binary encoding.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import quoted

MAX_DEPTH: Final = 64
"""The maximum nesting depth of values."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
_INT: Final = 2**31
_LONG: Final = 2**63
_LONGEST: Final = 10


@dataclass(slots=True)
class Data:
    """Bytes, and the current position."""

    content: bytes
    at: int = 0

    def take(self, count: int) -> bytes:
        """The next `count` bytes; raises `BadInput` if there are fewer."""
        end = self.at + count
        if count < 0 or end > len(self.content):
            raise BadInput("the file ends too early, or a length in it is wrong")
        part = self.content[self.at : end]
        self.at = end
        return part

    def long(self) -> int:
        """The next number: seven bits per byte, the sign in the lowest bit."""
        zigzag = shift = 0
        while True:
            (byte,) = self.take(1)
            zigzag |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
            if shift >= 7 * _LONGEST:
                raise BadInput("a number has too many bytes")
        number = (zigzag >> 1) ^ -(zigzag & 1)
        if not -_LONG <= number < _LONG:
            raise BadInput("a number has too many bits")
        return number


Walk = Callable[[Data, int], None]
"""Walks over one value at a nesting depth; raises `BadInput`."""


@dataclass(slots=True)
class Shape:
    """The encoding of a type's values. `takes_space` is false if they have no bytes."""

    walk: Walk
    takes_space: bool = True


def _boolean(data: Data, _: int) -> None:
    if data.take(1) not in (b"\0", b"\1"):
        raise BadInput("a boolean is neither 0 nor 1")


def _int(data: Data, _: int) -> None:
    if not -_INT <= data.long() < _INT:
        raise BadInput("an int has too many bits")


def _long(data: Data, _: int) -> None:
    data.long()


def _bytes(data: Data, _: int) -> None:
    data.take(data.long())


def _string(data: Data, _: int) -> None:
    try:
        data.take(data.long()).decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput("a string is not UTF-8") from None


def _of_size(size: int) -> Walk:
    def walk(data: Data, _: int) -> None:
        data.take(size)

    return walk


def _empty(_: Data, __: int) -> None:
    """Values without bytes."""


_PRIMITIVES: Final[Mapping[str, Shape]] = {
    "null": Shape(_empty, takes_space=False),
    "boolean": Shape(_boolean),
    "int": Shape(_int),
    "long": Shape(_long),
    "float": Shape(_of_size(4)),
    "double": Shape(_of_size(8)),
    "bytes": Shape(_bytes),
    "string": Shape(_string),
}


def shape_of(schema: object) -> Shape:
    """The shape of a schema in JSON; raises `BadInput`."""
    return _Reader().read(schema, "")


def _check_depth(depth: int) -> int:
    if depth >= MAX_DEPTH:
        raise BadInput("a value is nested too deeply")
    return depth + 1


@dataclass(slots=True)
class _Reader:
    """Reads one schema; `named` are the types named so far, by full name."""

    named: dict[str, Shape] = field(default_factory=dict)

    def read(self, schema: object, space: str) -> Shape:
        """The shape of a schema within a namespace."""
        if isinstance(schema, str):
            return self._type_of_name(schema, space)
        if isinstance(schema, list):
            return self._union(schema, space)
        if isinstance(schema, dict):
            return self._type_of_object(schema, space)
        raise BadInput("the schema is none")

    def _type_of_object(self, schema: Mapping[str, object], space: str) -> Shape:
        match schema:
            case {"type": "record" | "error" | "enum" | "fixed"}:
                return self._named_type(schema, space)
            case {"type": "array", "items": items}:
                return _blocks(self.read(items, space), has_keys=False)
            case {"type": "map", "values": values}:
                return _blocks(self.read(values, space), has_keys=True)
            case {"type": str() as name} if name not in ("array", "map"):
                return self._type_of_name(name, space)
            case {"type": dict() | list() as inner}:
                return self.read(inner, space)
        raise BadInput("the schema is none")

    def _type_of_name(self, name: str, space: str) -> Shape:
        if name in _PRIMITIVES:
            return _PRIMITIVES[name]
        full = name if "." in name or not space else f"{space}.{name}"
        shape = self.named.get(full) or self.named.get(name)
        if shape is None:
            raise BadInput(f"the schema names the type {quoted(name)}, which it does not define")
        return shape

    def _union(self, schemas: list[object], space: str) -> Shape:
        if not schemas or any(isinstance(member, list) for member in schemas):
            raise BadInput("a union of the schema is empty, or holds another one")
        shapes = [self.read(member, space) for member in schemas]

        def walk(data: Data, depth: int) -> None:
            chosen = data.long()
            if not 0 <= chosen < len(shapes):
                raise BadInput("a union has no such branch")
            shapes[chosen].walk(data, _check_depth(depth))

        return Shape(walk)

    def _named_type(self, schema: Mapping[str, object], space: str) -> Shape:
        """A named type, which may contain itself."""
        full, inner = _full_name(schema, space)
        if full in self.named or full in _PRIMITIVES:
            raise BadInput(f"the schema defines {quoted(full)} twice")
        shape = self.named[full] = Shape(_empty)
        match schema:
            case {"type": "fixed", "size": bool()}:
                raise BadInput(f"the size of {quoted(full)} in the schema is no number")
            case {"type": "enum", "symbols": list() as symbols} if _are_names(symbols):
                shape.walk = _enum(len(symbols))
            case {"type": "fixed", "size": int() as size} if size >= 0:
                shape.walk, shape.takes_space = _of_size(size), size > 0
            case {"type": "record" | "error", "fields": list() as fields}:
                self._record(shape, fields, inner)
            case _:
                raise BadInput(f"the schema does not say what {quoted(full)} is made of")
        return shape

    def _record(self, shape: Shape, fields: list[object], space: str) -> None:
        if not _are_names([_name_of(field) for field in fields]):
            raise BadInput("a field of the schema has no name, or that of another one")
        read = [self.read(field["type"], space) for field in fields if isinstance(field, dict)]
        walked = [schema for schema in read if schema.takes_space]

        def walk(data: Data, depth: int) -> None:
            below = _check_depth(depth)
            for schema in walked:
                schema.walk(data, below)

        shape.walk, shape.takes_space = walk, bool(walked)


def _enum(symbols: int) -> Walk:
    def walk(data: Data, _: int) -> None:
        if not 0 <= data.long() < symbols:
            raise BadInput("an enum has no such symbol")

    return walk


def _blocks(item: Shape, *, has_keys: bool) -> Shape:
    """An array or a map: blocks, each with its count, and its size if the count is negative."""

    def walk(data: Data, depth: int) -> None:
        below = _check_depth(depth)
        while count := data.long():
            end = None
            if count < 0:
                size = data.long()
                count, end = -count, data.at + size
            for _ in range(count if has_keys or item.takes_space else 0):
                if has_keys:
                    _string(data, below)
                item.walk(data, below)
            if end is not None and data.at != end:
                raise BadInput("a block of an array or map has another size than it says")

    return Shape(walk)


def _full_name(schema: Mapping[str, object], space: str) -> tuple[str, str]:
    """The full name of a defined type, and the namespace of its contents."""
    name, own = schema.get("name"), schema.get("namespace", space)
    if not isinstance(name, str) or not isinstance(own, str) or not _NAME.fullmatch(name):
        raise BadInput("a type of the schema has no name")
    if own and not _NAME.fullmatch(own):
        raise BadInput(f"{quoted(own)} is no namespace of a schema")
    if "." in name:
        return name, name.rpartition(".")[0]
    return (f"{own}.{name}" if own else name), own


def _name_of(field: object) -> object:
    return field.get("name") if isinstance(field, dict) and "type" in field else None


def _are_names(values: list[object]) -> bool:
    """Whether all values are names without dots, and distinct."""
    names = {name for name in values if isinstance(name, str) and _NAME.fullmatch(name)}
    return len(names) == len(values) and not any("." in name for name in names)
