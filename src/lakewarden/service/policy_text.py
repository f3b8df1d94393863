"""Parses text of policy files, TOML or YAML, to plain tables, and writes such text.

YAML is read by a strict subset of its 1.2 core schema: `on` and `no` are strings, keys are unique,
and aliases are refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from lakewarden.kernel.errors import BadInput
from lakewarden.models import parsed
from lakewarden.service.toml_text import key as toml_key
from lakewarden.service.toml_text import lines, quoted

Form = Literal["toml", "yaml"]

SUFFIXES: Final[Mapping[str, Form]] = {".toml": "toml", ".yaml": "yaml", ".yml": "yaml"}
"""The suffixes of policy files, and their formats."""

_CORE: Final = (
    ("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), "tf"),
    ("tag:yaml.org,2002:null", re.compile(r"^(?:~|null|)$"), ["~", "n", ""]),
    ("tag:yaml.org,2002:int", re.compile(r"^[-+]?[0-9]+$"), "-+0123456789"),
    (
        "tag:yaml.org,2002:float",
        re.compile(r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$"),
        "-+.0123456789",
    ),
    (
        "tag:yaml.org,2002:timestamp",
        re.compile(
            r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)? ?"
            r"(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?)$"
        ),
        "0123456789",
    ),
)
_KEYS: Final = frozenset({"tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"})


def parse(text: str, form: Form, where: str) -> object:
    """Parses the text. Raises `BadInput` with the line; `where` names the file."""
    return parsed(text, where) if form == "toml" else _yaml(text, where)


def _yaml(text: str, where: str) -> object:
    import yaml

    class Loader(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            event: Any = self.peek_event()  # type: ignore[no-untyped-call]  # untyped there
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                mark = event.start_mark
                raise yaml.MarkedYAMLError(
                    None, None, "anchors and aliases are not supported", mark
                )
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            keys: set[object] = set()
            for key, _ in node.value:
                if key.tag not in _KEYS:
                    raise yaml.MarkedYAMLError(
                        None, None, "expected text for a key", key.start_mark
                    )
                if key.value in keys or key.tag.endswith(":merge"):
                    problem = f"the key `{key.value}` occurs twice"
                    raise yaml.MarkedYAMLError(None, None, problem, key.start_mark)
                keys.add(key.value)
            return super().construct_mapping(node, deep)

    Loader.yaml_implicit_resolvers = {}
    for tag, pattern, first in _CORE:
        Loader.add_implicit_resolver(tag, pattern, list(first))
    Loader.add_constructor("tag:yaml.org,2002:int", _decimal)
    try:
        document = yaml.load(text, Loader)  # noqa: S506 — a safe loader, made stricter
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        at = where if mark is None else f"{where}: line {mark.line + 1}"
        raise BadInput(str(error.problem or "malformed").lower(), where=at) from None
    except RecursionError:
        raise BadInput("nested too deep", where=where) from None
    except (AttributeError, LookupError):  # a tag on a value of another type
        raise BadInput("a value does not have the type of its tag", where=where) from None
    except (yaml.YAMLError, ValueError) as error:
        raise BadInput(str(error).splitlines()[0].lower(), where=where) from None
    return {} if document is None else document


def _decimal(loader: Any, node: Any) -> int:
    """An integer: one that begins with 0 is octal in YAML 1.1, but decimal in 1.2."""
    return int(loader.construct_scalar(node))


def written(table: Mapping[str, object], form: Form) -> str:
    """The table as the text of a file."""
    return "".join(_as_toml(table) if form == "toml" else _as_yaml(table, 0))


def _as_toml(table: Mapping[str, object]) -> Iterator[str]:
    inner = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    statements = table.get("statement", ())
    assert isinstance(statements, Sequence)  # noqa: S101 — INVARIANT: a policy's statements
    yield from lines({k: v for k, v in table.items() if k not in inner and k != "statement"})
    for key, value in inner.items():
        yield from _section(toml_key(key), value)
    for statement in statements:
        yield "\n[[statement]]\n"
        yield from lines(statement)


def _section(name: str, table: Mapping[str, object]) -> Iterator[str]:
    """A table under its name; a table of tables is written as several sections."""
    tables = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    if tables and len(tables) == len(table):
        for key, value in tables.items():
            yield from _section(f"{name}.{toml_key(key)}", value)
        return
    yield f"\n[{name}]\n"
    yield from lines(table)


def _as_yaml(value: object, depth: int) -> Iterator[str]:
    indent = "  " * depth
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _entry(f"{indent}{_text(str(key))}:", inner, depth)
    elif isinstance(value, (list, tuple)):
        for item in value:
            if isinstance(item, Mapping) and item:
                lines = "".join(_as_yaml(item, depth + 1))
                yield f"{indent}- {lines[len(indent) + 2 :]}"
            else:
                yield f"{indent}- {_scalar(item)}\n"


def _entry(start: str, value: object, depth: int) -> Iterator[str]:
    if isinstance(value, (Mapping, list, tuple)) and value:
        yield f"{start}\n"
        yield from _as_yaml(value, depth + 1)
    else:
        yield f"{start} {_scalar(value)}\n"


def _scalar(value: object) -> str:
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_scalar, value))}]"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(text: str) -> str:
    """A word, unquoted only if every YAML parser reads it as a string; else quoted."""
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_./-]*", text) is not None
    reserved = text.lower() in {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
    return text if plain and not reserved else quoted(text)
