"""Functions: definitions identified by their parameters, each with implementations by runtime.

SOURCE: gravitino reference 3.5; the requests and replies of apache-gravitino 1.3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.systems.gravitino.http import kinds, object_store
from lakewarden.systems.gravitino.http.authorization import entity, listed
from lakewarden.systems.gravitino.http.bodies import (
    Body,
    Json,
    audit_of,
    enum_word,
    is_on,
    ok,
    present,
    read,
)
from lakewarden.systems.gravitino.http.errors import illegal
from lakewarden.systems.gravitino.http.kinds import SCHEMA, Created, Kind, routes_of
from lakewarden.systems.gravitino.http.updates import Draft, Update, UpdateComment, apply_shared

TYPES: Final = ("scalar", "aggregate", "table")

LANGUAGES: Final = ("sql", "java", "python")

RUNTIMES: Final = ("spark", "trino")


class Create(Body):
    """The body of POST …/functions."""

    name: str
    function_type: str
    definitions: list[Json]
    deterministic: bool = False
    comment: str | None = None


class AddDefinition(Update, tag="addDefinition"):
    """Adds a definition, with parameters that no other definition has."""

    definition: Json


class RemoveDefinition(Update, tag="removeDefinition"):
    """Removes the definition with these parameters."""

    parameters: list[Json]


class AddImpl(Update, tag="addImpl"):
    """Adds an implementation to a definition."""

    parameters: list[Json]
    implementation: Json


class UpdateImpl(Update, tag="updateImpl"):
    """Replaces the implementation for a runtime."""

    parameters: list[Json]
    runtime: str
    implementation: Json


class RemoveImpl(Update, tag="removeImpl"):
    """Removes the implementation for a runtime."""

    parameters: list[Json]
    runtime: str


def _read(exchange: Exchange) -> Created:
    body = read(exchange, Create)
    type = enum_word(body.function_type, TYPES, "function type")
    if not body.definitions:
        raise illegal("body: a function needs at least one definition")
    definitions: list[Json] = []
    for definition in body.definitions:
        _add(definitions, definition)
    return body.name, present(
        functionType=type,
        deterministic=body.deterministic,
        comment=body.comment,
        definitions=definitions,
    )


def _show(name: str, body: Json) -> Json:
    return present(
        name=name,
        functionType=body.get("functionType", "scalar"),
        deterministic=body.get("deterministic", False),
        comment=body.get("comment"),
        definitions=body.get("definitions") or [],
        audit=audit_of(body),
    )


def _apply(draft: Draft, update: Any) -> None:
    definitions = cast("list[Json]", draft.body.setdefault("definitions", []))
    match update:
        case AddDefinition(definition=new):
            _add(definitions, new)
        case RemoveDefinition(parameters=parameters):
            if len(definitions) == 1:
                raise illegal("the only definition of a function cannot be removed")
            definitions.remove(_definition_with(definitions, parameters))
        case AddImpl(parameters=parameters, implementation=new):
            definition = _definition_with(definitions, parameters)
            definition["impls"] = _implementations([*_impls(definition), new])
        case UpdateImpl(parameters=parameters, runtime=runtime, implementation=new):
            definition = _definition_with(definitions, parameters)
            definition["impls"] = _implementations([*_without(definition, runtime), new])
        case RemoveImpl(parameters=parameters, runtime=runtime):
            definition = _definition_with(definitions, parameters)
            remaining = _without(definition, runtime)
            if not remaining:
                raise illegal("the only implementation of a definition cannot be removed")
            definition["impls"] = remaining
        case _:
            apply_shared(draft, update)


def _add(definitions: list[Json], new: Json) -> None:
    parameters = _parameters(new.get("parameters"))
    if any(_key(definition) == _key(new) for definition in definitions):
        raise illegal("two definitions have the same parameters")
    own = {key: value for key, value in new.items() if value is not None}
    impls = _implementations(_impls(new))
    definitions.append({**own, "parameters": parameters, "impls": impls})


def _parameters(parameters: object) -> list[Json]:
    if parameters is None:
        return []
    if not isinstance(parameters, list) or not all(
        isinstance(parameter, dict) for parameter in parameters
    ):
        raise illegal("`parameters` is a list of objects")
    for parameter in parameters:
        if not isinstance(parameter.get("name"), str) or "dataType" not in parameter:
            raise illegal("a parameter has a `name` and a `dataType`")
    return [
        {key: value for key, value in parameter.items() if value is not None}
        for parameter in parameters
    ]


def _impls(definition: Json) -> list[Json]:
    impls = definition.get("impls") or []
    if not isinstance(impls, list) or not all(isinstance(impl, dict) for impl in impls):
        raise illegal("`impls` is a list of objects")
    return impls


def _implementations(bodies: Sequence[Json]) -> list[Json]:
    """Implementations in their stored form: one per runtime; raises `Failure` 400."""
    runtimes: set[str] = set()
    implementations: list[Json] = []
    for implementation in bodies:
        language = enum_word(str(implementation.get("language", "")), LANGUAGES, "language").upper()
        runtime = enum_word(str(implementation.get("runtime", "")), RUNTIMES, "runtime").upper()
        if runtime in runtimes:
            raise illegal(f"two implementations are for runtime `{runtime}`")
        runtimes.add(runtime)
        own = {key: value for key, value in implementation.items() if value is not None}
        implementations.append({**own, "language": language, "runtime": runtime})
    return implementations


def _without(definition: Json, runtime: str) -> list[Json]:
    name = enum_word(runtime, RUNTIMES, "runtime").upper()
    remaining = [impl for impl in _impls(definition) if impl.get("runtime") != name]
    if len(remaining) == len(_impls(definition)):
        raise illegal(f"there is no implementation for runtime `{name}`")
    return remaining


def _definition_with(definitions: list[Json], parameters: list[Json]) -> Json:
    key = _key({"parameters": parameters})
    for definition in definitions:
        if _key(definition) == key:
            return definition
    raise illegal("there is no definition with these parameters")


def _key(definition: Json) -> list[object]:
    """The key of a definition: the types of the parameters, in order."""
    return [parameter["dataType"] for parameter in _parameters(definition.get("parameters"))]


FUNCTIONS: Final = Kind(
    type="function",
    within="schema",
    path=SCHEMA + "/functions",
    read=_read,
    show=_show,
    updates=UpdateComment | AddDefinition | RemoveDefinition | AddImpl | UpdateImpl | RemoveImpl,
    apply=_apply,
    create="register",
)


def list_all(exchange: Exchange) -> Reply:
    """The functions that the caller may load: identifiers, or with `details` whole functions."""
    if not is_on(exchange, "details"):
        return kinds.list_names(FUNCTIONS, exchange)
    functions = listed(exchange, "function.list", entity(exchange, "schema"))
    bodies = object_store.documents(exchange, functions)
    pairs = zip(functions, bodies, strict=True)
    return ok(functions=[_show(object_store.last(function), body) for function, body in pairs])


ROUTES: Final = (
    Route("GET", FUNCTIONS.path, "function.list", list_all),
    *(route for route in routes_of(FUNCTIONS) if route.operation != "function.list"),
)
