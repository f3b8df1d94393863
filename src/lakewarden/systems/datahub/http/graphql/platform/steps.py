"""The introduction steps that a user has seen: each user reads and changes their own.

SOURCE: datahub-project/datahub, its resolvers of step states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.authorization import Requirement
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.aspect_write import AspectChanges, AspectWrite
from lakewarden.systems.datahub.http.graphql.records import Input, entries
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Write

_TYPE: Final = "dataHubStepState"
_ASPECT: Final = "dataHubStepStateProperties"
_MOST: Final = 100
"""The maximum number of steps in one document."""


def _get(_: object, info: Info, input: Mapping[str, Any]) -> Mapping[str, Any]:
    call: Call = info.context
    own = [id for id in _limited(input["ids"]) if _is_own(call, id)]
    states = {id: call.aspect(_step(id), _ASPECT) for id in own}
    return {
        "results": [
            {"id": id, "properties": shapes.entries(value.get("properties"))}
            for id, value in states.items()
            if value
        ]
    }


def _update(_: object, info: Info, input: Input) -> Mapping[str, Any]:
    states = {state["id"]: state["properties"] for state in _limited(input["states"])}
    own = [id for id in states if _is_own(info.context, id)]

    def write(changes: AspectChanges, steps: Sequence[Entity], _: Input) -> None:
        changes.write(
            *(
                Write(
                    step,
                    _ASPECT,
                    {
                        "properties": entries(state for state in states[id] if state),
                        "lastModified": changes.stamp,
                    },
                )
                for id, step in zip(own, steps, strict=True)
            )
        )

    if own:
        steps = [_step(id) for id in own]
        AspectWrite(lambda *_: steps, lambda *_: [Requirement("me.settings.set")], write)(
            None, info
        )
    return {"results": [{"id": id, "succeeded": id in own} for id in states]}


def _limited(members: list[Any]) -> list[Any]:
    if len(members) > _MOST:
        raise bad(f"expected at most {_MOST} steps")
    return members


def _is_own(call: Call, id: str) -> bool:
    """Whether a step belongs to the caller: its id begins with the caller's URN, then a hyphen."""
    return id.startswith(f"{call.actor.name}-")


def _step(id: str) -> Entity:
    return calls.entity(f"urn:li:{_TYPE}:{id}", _TYPE)


RESOLVERS: Final[Resolvers] = {
    "Query": {"batchGetStepStates": _get},
    "Mutation": {"batchUpdateStepStates": _update},
}
