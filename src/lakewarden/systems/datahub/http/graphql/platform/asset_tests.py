"""Metadata tests: conditions that assets pass or fail. They are stored here, and run elsewhere.

SOURCE: datahub reference 1.1; datahub-project/datahub:…/resolvers/test.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.entities import is_known
from lakewarden.systems.datahub.http.graphql.pages.part import Part, aspect, typed
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.aspect_write import (
    Kind,
    change,
    creation,
    deletion,
)
from lakewarden.systems.datahub.http.graphql.platform.listing import listed_by_name, stored
from lakewarden.systems.datahub.http.graphql.records import Member, members, provided
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_ASPECT: Final = "testInfo"
_TYPE: Final = "test"
_MANAGE: Final = "test.manage"
_VIEW: Final = "test.view"


def _definition_of(input: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "JSON", **provided(members("json"), input)}


_KIND: Final = Kind(
    _TYPE,
    _ASPECT,
    (*members("name", "category", "description"), Member("definition", read=_definition_of)),
    audited_as="test",
)


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
    "Mutation": {
        "createTest": creation(_KIND, _MANAGE),
        "updateTest": change(_KIND, _MANAGE),
        "deleteTest": deletion(_KIND, _MANAGE),
    },
    "Test": {
        "name": _member("name"),
        "category": _member("category"),
        "description": _member("description"),
        "definition": _definition,
    },
    "Dataset": {"testResults": aspect("testResults")},
    "TestResult": {"test": _of_result, "type": typed(otherwise="FAILURE")},
}
