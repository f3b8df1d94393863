"""`/openapi.json`: the API described by the table of its endpoints and the types of its bodies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from lakewarden.http.admin.bodies import Problem
from lakewarden.http.admin.endpoint import Endpoint
from lakewarden.http.admin.field_types import FINGERPRINT, NAME, REALM, SEGMENT, USER_NAME
from lakewarden.http.admin.problem import MEDIA_TYPE
from lakewarden.http.exchange import JSON

_PARAMETER = re.compile(r"\{(\w+)\}")
_IN_PATH = {
    "realm": REALM,
    "directory": NAME,
    "name": USER_NAME,
    "id": SEGMENT,
    "fingerprint": FINGERPRINT,
}
_REFERENCE = "#/components/schemas/{name}"


def document(endpoints: Sequence[Endpoint], version: str) -> dict[str, Any]:
    """The OpenAPI 3.1 description of the endpoints."""
    types = {
        found for one in endpoints for found in (one.request, one.response) if found is not None
    }
    ordered = [*sorted(types, key=lambda found: found.__name__), Problem]
    schemas, components = msgspec.json.schema_components(ordered, ref_template=_REFERENCE)
    by_type = dict(zip(ordered, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for one in endpoints:
        paths.setdefault(one.address, {})[one.method.lower()] = _operation(one, by_type)
    return {
        "openapi": "3.1.0",
        "info": {"title": "lakewarden", "version": version},
        "paths": paths,
        "security": [{"bearer": []}, {"basic": []}],
        "components": {
            "schemas": components,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "basic": {"type": "http", "scheme": "basic"},
            },
        },
    }


def _operation(one: Endpoint, by_type: dict[Any, Any]) -> dict[str, Any]:
    words = _PARAMETER.sub(r"by_\1", one.path).strip("/").replace("/", "_")
    described: dict[str, Any] = {
        "operationId": f"{one.method.lower()}_{words}",
        "summary": one.title,
        "tags": [one.operation.partition(".")[0]],
        "x-lakewarden-operation": one.operation,
        "parameters": _parameters(one),
        "responses": _responses(one, by_type),
    }
    if one.request is not None:
        content = {JSON: {"schema": by_type[one.request]}}
        described["requestBody"] = {"required": True, "content": content}
    return described


def _parameters(one: Endpoint) -> list[dict[str, Any]]:
    in_path = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "pattern": _IN_PATH[name]},
        }
        for name in _PARAMETER.findall(one.path)
    ]
    in_query = [
        {
            "name": parameter.name,
            "in": "query",
            "required": parameter.required,
            "description": parameter.title,
            "schema": parameter.schema,
        }
        for parameter in one.query
    ]
    return in_path + in_query


def _responses(one: Endpoint, by_type: dict[Any, Any]) -> dict[str, Any]:
    problem = {
        "description": "the request failed",
        "content": {MEDIA_TYPE: {"schema": by_type[Problem]}},
    }
    if one.response is None:
        return {"204": {"description": "done"}, "default": problem}
    content = {JSON: {"schema": by_type[one.response]}}
    return {
        str(one.status): {"description": "the answer", "content": content},
        "default": problem,
    }
