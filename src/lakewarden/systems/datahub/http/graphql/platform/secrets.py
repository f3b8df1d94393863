"""Secrets that recipes name: kept sealed, listed by name, never given back.

CHOICE: the original gives the values of secrets to whoever may manage them; here nobody gets
them, so `getSecretValues` is refused for everybody.
SOURCE: datahub reference 1.1; datahub-project/datahub:…/resolvers/ingest/secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NoReturn

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.platform import sealed, shapes
from lakewarden.systems.datahub.http.graphql.platform.draft import Draft, named, write
from lakewarden.systems.datahub.http.graphql.platform.listing import listed, stored
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_ASPECT: Final = "dataHubSecretValue"
_TYPE: Final = "dataHubSecret"
_KEY: Final = "value"
_MANAGE: Final = "secret.manage"


def _create(_: object, info: Info, input: Mapping[str, Any]) -> str:
    if not input["name"]:
        raise bad("expected a `name` that is not empty")
    secret = named(_TYPE, input["name"])

    def task(draft: Draft) -> str:
        draft.check_new(secret)
        return _put(draft, secret, {"created": draft.stamp()}, input)

    return write(info.context, _MANAGE, NO_RESOURCE, task, {"secret": secret.name})


def _update(_: object, info: Info, input: Mapping[str, Any]) -> str:
    secret = calls.entity(input["urn"], _TYPE)

    def task(draft: Draft) -> str:
        draft.check_there(secret)
        return _put(draft, secret, sealed.written(draft, secret, _ASPECT), input)

    return write(info.context, _MANAGE, NO_RESOURCE, task, {"secret": secret.name})


def _put(draft: Draft, secret: Entity, value: dict[str, Any], input: Mapping[str, Any]) -> str:
    draft.put(
        secret,
        _ASPECT,
        {**value, "name": input["name"], "description": input.get("description")},
    )
    sealed.seal(draft, secret, _KEY, input["value"])
    return secret.name


def _list(_: object, info: Info, input: Mapping[str, Any]) -> Mapping[str, Any]:
    call: Call = info.context
    authorization.allow(call, _MANAGE)
    found = stored(call, _TYPE)
    values = sealed.shown(call, found, _ASPECT)

    def texts(secret: Entity) -> list[str | None]:
        return [_name(secret, values), shapes.text(values.get(secret, {}).get("description"))]

    result = listed(call, found, input, "secrets", texts, lambda one: _name(one, values))
    return {**result, "secrets": [_shown(one, values) for one in result["secrets"]]}


def _shown(secret: Entity, values: Mapping[Entity, Mapping[str, Any]]) -> Mapping[str, Any]:
    description = shapes.text(values.get(secret, {}).get("description"))
    return {"urn": secret.name, "name": _name(secret, values), "description": description}


def _name(secret: Entity, values: Mapping[Entity, Mapping[str, Any]]) -> str:
    return shapes.text(values.get(secret, {}).get("name")) or secret.name


def _values(_: object, info: Info, **_input: object) -> NoReturn:
    authorization.allow(info.context, _MANAGE)
    raise sealed.never_given("the value of a secret")


RESOLVERS: Final[Resolvers] = {
    "Query": {"listSecrets": _list, "getSecretValues": _values},
    "Mutation": {"createSecret": _create, "updateSecret": _update},
}
