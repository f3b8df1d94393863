"""Metadata tests: conditions that assets pass or fail. They are kept here, and run elsewhere.

SOURCE: datahub reference 1.1; datahub-project/datahub:…/resolvers/test.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.entities import is_known
from lakewarden.systems.datahub.http.graphql.pages.part import Part, aspect, typed
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.draft import Draft, given, named, write
from lakewarden.systems.datahub.http.graphql.platform.listing import listed_by_name, stored
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_ASPECT: Final = "testInfo"
_TYPE: Final = "test"
_MANAGE: Final = "test.manage"
_VIEW: Final = "test.view"


def _create(_: object, info: Info, input: Mapping[str, Any]) -> str:
    test = named(_TYPE, input.get("id"))

    def task(draft: Draft) -> str:
        draft.check_new(test)
        draft.put(test, _ASPECT, _value(input))
        return test.name

    return write(info.context, _MANAGE, NO_RESOURCE, task, {"test": test.name})


def _update(_: object, info: Info, urn: str, input: Mapping[str, Any]) -> str:
    test = calls.entity(urn, _TYPE)

    def task(draft: Draft) -> str:
        draft.check_there(test)
        draft.put(test, _ASPECT, {**draft.value(test, _ASPECT), **_value(input)})
        return urn

    return write(info.context, _MANAGE, NO_RESOURCE, task, {"test": test.name})


def _value(input: Mapping[str, Any]) -> dict[str, Any]:
    definition = {"type": "JSON", **given(input["definition"], "json")}
    return {**given(input, "name", "category", "description"), "definition": definition}


def _list(_: object, info: Info, input: Mapping[str, Any]) -> Mapping[str, Any]:
    call: Call = info.context
    authorization.allow(call, _VIEW)
    return listed_by_name(
        call, stored(call, _TYPE), _ASPECT, input, "tests", ("name", "category", "description")
    )


def _test(_: object, info: Info, urn: str) -> Entity | None:
    call: Call = info.context
    test = calls.entity(urn, _TYPE)
    authorization.allow(call, _VIEW)
    return test if is_known(call.state, test) else None


def _member(name: str) -> Any:
    def resolve(test: Entity, info: Info) -> str | None:
        call: Call = info.context
        authorization.allow(call, _VIEW)
        return shapes.text(call.aspect(test, _ASPECT).get(name))

    return resolve


def _definition(test: Entity, info: Info) -> Mapping[str, Any]:
    call: Call = info.context
    authorization.allow(call, _VIEW)
    value = shapes.mapping(call.aspect(test, _ASPECT).get("definition"))
    return {"json": shapes.text(value.get("json"))}


def _of_result(result: Part, info: Info) -> Entity | None:
    """The test; null for one that is not there any more."""
    call: Call = info.context
    found = shapes.entity(result.get("test"), _TYPE)
    return found if found is not None and is_known(call.state, found) else None


RESOLVERS: Final[Resolvers] = {
    "Query": {"listTests": _list, "test": _test},
    "Mutation": {"createTest": _create, "updateTest": _update},
    "Test": {
        "name": _member("name"),
        "category": _member("category"),
        "description": _member("description"),
        "definition": _definition,
    },
    "Dataset": {"testResults": aspect("testResults")},
    "TestResult": {"test": _of_result, "type": typed(otherwise="FAILURE")},
}
