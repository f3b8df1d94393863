"""Tables, and JSON Schemas as the text of a cell."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Schema = Mapping[str, Any]


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; empty without rows."""
    lines = ["| " + " | ".join(map(cell, row)) + " |" for row in rows]
    if not lines:
        return ""
    head = "| " + " | ".join(columns) + " |"
    return "\n".join([head, "|" + "---|" * len(columns), *lines]) + "\n"


def cell(text: str) -> str:
    """A text in one line, with bars escaped so that they do not end the cell."""
    return " ".join(text.split()).replace("|", r"\|")


def code(text: object) -> str:
    """A text as code; nothing for an empty one.

    >>> code("port"), code("")
    ('`port`', '')
    """
    return f"`{text}`" if str(text) else ""


def paragraphs(docstring: str | None) -> str:
    """A docstring without its indentation."""
    return re.sub(r"\n[ ]+", "\n", (docstring or "").strip())


def type_of(schema: Schema) -> str:
    """The values that a schema accepts.

    >>> type_of({"type": "integer", "minimum": 1, "maximum": 9})
    'integer, 1 to 9'
    >>> type_of({"anyOf": [{"type": "array", "items": {"$ref": "#/x/Row"}}, {"type": "null"}]})
    'list of [Row](#row), or null'
    """
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        *first, last = map(type_of, schema["anyOf"])
        return f"{', '.join(first)}, or {last}"
    if "enum" in schema:
        return ", ".join(code(json.dumps(value).strip('"')) for value in schema["enum"])
    match schema.get("type"):
        case "array" if "prefixItems" in schema:
            return f"list of exactly {', '.join(map(type_of, schema['prefixItems']))}"
        case "array":
            return f"list of {type_of(schema.get('items', {}))}"
        case "object":
            inner = schema.get("additionalProperties")
            return f"table of {type_of(inner)}" if isinstance(inner, Mapping) else "object"
        case None:
            return "anything"
        case list() as kinds:
            return " or ".join(kinds)
        case kind:
            return f"{_FORMATS.get(schema.get('format', ''), kind)}{_bounds(schema)}"


_FORMATS = {"password": "secret", "path": "path"}


def _bounds(schema: Schema) -> str:
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    match low, high:
        case None, None:
            return ""
        case _, None:
            return f", {'above' if 'exclusiveMinimum' in schema else 'at least'} {_number(low)}"
        case None, _:
            return f", at most {_number(high)}"
        case _:
            return f", {_number(low)} to {_number(high)}"


def _number(value: float) -> str:
    return f"{value:,.10g}"


def default_of(schema: Schema) -> str:
    """A schema's default, as the configuration spells it; empty for an empty default."""
    value = schema.get("default")
    return "" if value in (None, "", [], {}) else code(json.dumps(value).strip('"'))
