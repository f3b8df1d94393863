"""The administration API, from the description that the server serves as `/openapi.json`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from lakewarden.http.admin import openapi
from lakewarden.http.admin.dialect import ENDPOINTS
from scripts.docs_site.reference.markdown import (
    Schema,
    code,
    default_of,
    paragraphs,
    table,
    type_of,
)

HEAD = """# Endpoints of the administration API

Written from the description that a server serves at `/openapi.json`. [Administration
API](../api.md) explains privileges, errors, sessions and conventions; the other APIs are those of
the systems ([DataHub](../datahub.md), [CDAP](../cdap.md)) and [AuthZEN](../authzen.md).

*Operation* is what the caller must be allowed to do in the realm `_server`, by the model
[control](../models/control.md). A failure is a [Problem](#problem).
"""
Operation = Mapping[str, Any]


def page() -> str:
    """The page: endpoints by the entity of their operation, then the bodies."""
    described = openapi.document(ENDPOINTS, "")
    groups: dict[str, list[str]] = defaultdict(list)
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            groups[operation["tags"][0]].append(_endpoint(path, method, operation))
    parts = [HEAD]
    for name in sorted(groups):
        parts += [f"## {name.replace('_', ' ').capitalize()}\n", *groups[name]]
    parts += ["## Bodies\n", *_bodies(described["components"]["schemas"])]
    return "\n".join(parts)


def _endpoint(path: str, method: str, operation: Operation) -> str:
    title = operation["summary"]
    facts = [f"Operation {code(operation['x-lakewarden-operation'])}"]
    if "requestBody" in operation:
        facts.append(f"body {_content(operation['requestBody'])}")
    for status, response in operation["responses"].items():
        if status != "default":
            facts.append(f"answer {status} {_content(response)}".strip())
    lines = [
        f"### `{method.upper()} {path}`\n",
        f"{title[0].upper()}{title[1:]}. {', '.join(facts)}.{_deprecated(operation)}\n",
    ]
    query = [
        (code(one["name"]), type_of(one["schema"]), _remark(one))
        for one in operation["parameters"]
        if one["in"] == "query"
    ]
    return "\n".join([*lines, table(("Query parameter", "Takes", "Meaning"), query)])


def _remark(parameter: Mapping[str, Any]) -> str:
    meaning = str(parameter["description"])
    return f"{meaning} (required)" if parameter["required"] else meaning


def _deprecated(described: Mapping[str, Any]) -> str:
    """The note about a deprecated element; empty for all others."""
    if not described.get("deprecated"):
        return ""
    return f" **{described['description']}, until {described['x-sunset']} at least.**"


def _content(holder: Mapping[str, Any]) -> str:
    return ", ".join(type_of(one["schema"]) for one in holder.get("content", {}).values())


def _bodies(schemas: Mapping[str, Schema]) -> Iterator[str]:
    for name in sorted(schemas):
        schema = schemas[name]
        required = schema.get("required", ())
        rows = [
            (code(field), type_of(value), _need(field, value, required))
            for field, value in schema.get("properties", {}).items()
        ]
        said = re.sub(r"\n\s*-\s", "\n\n- ", paragraphs(schema.get("description")))
        yield f"### {name}\n\n{said}\n\n{table(('Member', 'Takes', 'Default'), rows)}"


def _need(field: str, schema: Schema, required: list[str] | tuple[()]) -> str:
    need = "required" if field in required else default_of(schema)
    return f"{need}{_deprecated(schema)}"
