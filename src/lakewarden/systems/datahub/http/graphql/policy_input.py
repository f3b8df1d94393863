"""The input of a policy as the aspect that stores it.

Content without a member in the input is kept: roles among the actors, and other written fields.
Constraints that the input does not mention are kept too: without them the policy would be wider.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.model import Model
from lakewarden.systems.datahub.aspects.policy import check_change
from lakewarden.systems.datahub.http.graphql.errors import bad

_CONSTRAINTS: Final = "privilegeConstraints"
_OTHER_NAME: Final = "policyConstraints"


def value(
    input: Mapping[str, Any], before: Mapping[str, Any] | None, model: Model, now: float
) -> dict[str, Any]:
    """The aspect of the policy; `before` is the one that it replaces.

    Raises `Failure` and `BadInput`.
    """
    old: Mapping[str, Any] = before or {}
    if not input["name"].strip():
        raise bad("a policy needs a name")
    policy: dict[str, Any] = {
        **old,
        "displayName": input["name"],
        "description": input.get("description") or "",
        "type": input["type"],
        "state": input["state"],
        "privileges": list(input["privileges"]),
        "actors": _actors(input["actors"], old.get("actors") or {}),
        "editable": True,
        "lastUpdatedTimestamp": int(now * 1_000),
    }
    policy.pop("resources", None)
    if input.get("resources") is not None:
        policy["resources"] = _resources(input["resources"], old.get("resources") or {})
    check_change(before, policy, model)
    return policy


def _actors(input: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    actors = {key: value for key, value in input.items() if value is not None}
    if old.get("roles") is not None:
        actors["roles"] = old["roles"]
    return actors


def _resources(input: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    if _CONSTRAINTS in input and _OTHER_NAME in input:
        raise bad(f"`{_CONSTRAINTS}` and `{_OTHER_NAME}` are the same; expected one of them")
    resources = {key: value for key, value in input.items() if key in ("type", "resources")}
    resources = {key: value for key, value in resources.items() if value is not None}
    if input.get("allResources") is not None:
        resources["allResources"] = input["allResources"]
    if input.get("filter") is not None:
        resources["filter"] = _filter(input["filter"])
    if _CONSTRAINTS in input or _OTHER_NAME in input:
        constraints = input.get(_CONSTRAINTS, input.get(_OTHER_NAME))
        if constraints is not None:
            resources[_CONSTRAINTS] = _filter(constraints)
    elif old.get(_CONSTRAINTS) is not None:
        resources[_CONSTRAINTS] = old[_CONSTRAINTS]
    return resources


def _filter(input: Mapping[str, Any]) -> dict[str, Any]:
    criteria = input.get("criteria")
    return {} if criteria is None else {"criteria": [_criterion(item) for item in criteria]}


def _criterion(input: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in input.items() if value is not None}
