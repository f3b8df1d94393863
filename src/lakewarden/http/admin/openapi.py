"""`/openapi.json`: the API described by the table of its endpoints and the types of its bodies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from lakewarden.http.admin import deprecations
from lakewarden.http.admin.bodies.base import Problem
from lakewarden.http.admin.endpoint import Endpoint
from lakewarden.http.admin.field_types import DECISION, FINGERPRINT, NAME, REALM, SEGMENT, USER_NAME
from lakewarden.http.admin.problem import MEDIA_TYPE
from lakewarden.http.exchange import JSON
from lakewarden.service.push_target import NAME as TARGET

_PARAMETER = re.compile(r"\{(\w+)\}")
_IN_PATH = {
    "realm": REALM,
    "directory": NAME,
    "name": USER_NAME,
    "id": SEGMENT,
    "fingerprint": FINGERPRINT,
    "decision": DECISION,
    "target": f"^{TARGET}$",
}
_REFERENCE = "#/components/schemas/{name}"


def document(endpoints: Sequence[Endpoint], version: str) -> dict[str, Any]:
    """The OpenAPI 3.1 description of the endpoints."""
    types = {
        type
        for endpoint in endpoints
        for type in (endpoint.request, endpoint.response)
        if type is not None
    }
    ordered = [*sorted(types, key=lambda type: type.__name__), Problem]
    schemas, components = msgspec.json.schema_components(ordered, ref_template=_REFERENCE)
    by_type = dict(zip(ordered, schemas, strict=True))
    _mark_members(ordered, components)
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.address, {})[endpoint.method.lower()] = _operation(
            endpoint, by_type
        )
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


def _mark_members(types: Sequence[Any], components: dict[str, Any]) -> None:
    for type in types:
        properties = components.get(type.__name__, {}).get("properties", {})
        for name, deprecation in deprecations.of_members(type, properties).items():
            own = properties[name]
            said = deprecations.described(deprecation, own.get("description", ""))
            properties[name] = {**own, **said}


def _operation(endpoint: Endpoint, by_type: dict[Any, Any]) -> dict[str, Any]:
    id = _PARAMETER.sub(r"by_\1", endpoint.path).strip("/").replace("/", "_")
    described: dict[str, Any] = {
        "operationId": f"{endpoint.method.lower()}_{id}",
        "summary": endpoint.title,
        "tags": [endpoint.operation.partition(".")[0]],
        "x-lakewarden-operation": endpoint.operation,
        "parameters": _parameters(endpoint),
        "responses": _responses(endpoint, by_type),
        **deprecations.described(deprecations.DEPRECATED.get(endpoint.key)),
    }
    if endpoint.request is not None:
        content = {JSON: {"schema": by_type[endpoint.request]}}
        described["requestBody"] = {"required": True, "content": content}
    return described


def _parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    in_path = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "pattern": _IN_PATH[name]},
        }
        for name in _PARAMETER.findall(endpoint.path)
    ]
    deprecated = deprecations.of_parameters(endpoint.key, (one.name for one in endpoint.query))
    in_query = [
        {
            "name": parameter.name,
            "in": "query",
            "required": parameter.required,
            "description": parameter.title,
            "schema": parameter.schema,
            **deprecations.described(deprecated.get(parameter.name), parameter.title),
        }
        for parameter in endpoint.query
    ]
    return in_path + in_query


def _responses(endpoint: Endpoint, by_type: dict[Any, Any]) -> dict[str, Any]:
    problem = {
        "description": "the request failed",
        "content": {MEDIA_TYPE: {"schema": by_type[Problem]}},
    }
    if endpoint.response is None:
        return {"204": {"description": "done"}, "default": problem}
    content = {JSON: {"schema": by_type[endpoint.response]}}
    return {
        str(endpoint.status): {"description": "the answer", "content": content},
        "default": problem,
    }
