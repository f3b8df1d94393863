"""Metadata tests: conditions that assets pass or fail. They are stored here, and run elsewhere.

SOURCE: datahub reference 1.1; datahub-project/datahub:…/resolvers/test.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.aspect_record import Record
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.entities import is_known
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.aspect_write import (
    Kind,
    change,
    creation,
    deletion,
)
from lakewarden.systems.datahub.http.graphql.platform.listing import Listing
from lakewarden.systems.datahub.http.graphql.records import Member, members, provided_members
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_ASPECT: Final = "testInfo"
_TYPE: Final = "test"
_MANAGE: Final = "test.manage"


def _definition_of(input: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "JSON", **provided_members(members("json"), input)}


_KIND: Final = Kind(
    _TYPE,
    _ASPECT,
    (*members("name", "category", "description"), Member("definition", read=_definition_of)),
    audited_as="test",
)


def _test_of_result(result: Record, info: Info) -> Entity | None:
    """The test; null for one that no longer exists."""
    call: Call = info.context
    test = shapes.entity(result.get("test"), _TYPE)
    return test if test is not None and is_known(call.state, test) else None


RESOLVERS: Final[Resolvers] = {
    "Query": {
        "listTests": Listing(
            *(_TYPE, _ASPECT, "tests", "test.view"), ("name", "category", "description")
        )
    },
    "Mutation": {
        "createTest": creation(_KIND, _MANAGE),
        "updateTest": change(_KIND, _MANAGE),
        "deleteTest": deletion(_KIND, _MANAGE),
    },
    "TestResult": {"test": _test_of_result},
}
