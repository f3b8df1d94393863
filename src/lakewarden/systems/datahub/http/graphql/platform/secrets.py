"""Secrets that recipes refer to: stored sealed, listed by name, never returned.

CHOICE: the original returns the values of secrets to callers who may manage them; here
`getSecretValues` is refused for every caller. SOURCE: datahub reference 1.1;
datahub-project/datahub:…/resolvers/ingest/secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NoReturn

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.aspect_record import Record
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.paging import contains_words, page
from lakewarden.systems.datahub.http.graphql.platform import sealed
from lakewarden.systems.datahub.http.graphql.platform.aspect_write import (
    AspectChanges,
    Kind,
    change,
    creation,
    deletion,
)
from lakewarden.systems.datahub.http.graphql.platform.listing import stored_entities
from lakewarden.systems.datahub.http.graphql.records import Input
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value

_ASPECT: Final = "dataHubSecretValue"
_TYPE: Final = "dataHubSecret"
_KEY: Final = "value"
_MANAGE: Final = "secret.manage"


_KIND: Final = Kind(_TYPE, _ASPECT, stamps=("created",), audited_as="secret")


def _name_of(_: Call, argument: str, input: Input) -> str:
    if not input[argument]:
        raise bad("expected a `name` that is not empty")
    return str(input[argument])


def _describe(changes: AspectChanges, secret: Entity, value: Value, input: Input) -> None:
    value |= sealed.stored_without_secret(changes, secret, _ASPECT)
    value |= {"name": input["name"], "description": input.get("description")}


def _seal(changes: AspectChanges, secret: Entity, input: Input) -> None:
    sealed.seal(changes, secret, _KEY, input["value"])


def _list(_: object, info: Info, input: Mapping[str, Any]) -> Mapping[str, Any]:
    call: Call = info.context
    authorization.allow(call, _MANAGE)
    everything = stored_entities(call, _TYPE)
    values = sealed.without_secrets(call, everything, _ASPECT)
    secrets = [_secret_record(Record(secret, values.get(secret, {}))) for secret in everything]
    fitting = [
        secret
        for secret in secrets
        if contains_words(input.get("query"), secret["name"], secret["description"] or "")
    ]
    fitting.sort(key=lambda secret: secret["name"])
    page_secrets, numbers = page(fitting, input, call.exchange.services.page_rows)
    return {**numbers, "secrets": page_secrets}


def _secret_record(secret: Record) -> Mapping[str, Any]:
    urn = secret.entity.name
    name, description = secret.text("name") or urn, secret.text("description")
    return {"urn": urn, "name": name, "description": description}


def _values(_: object, info: Info, **_input: object) -> NoReturn:
    authorization.allow(info.context, _MANAGE)
    raise sealed.sealed_failure("the value of a secret")


RESOLVERS: Final[Resolvers] = {
    "Query": {"listSecrets": _list, "getSecretValues": _values},
    "Mutation": {
        "createSecret": creation(
            _KIND,
            _MANAGE,
            _describe,
            id=lambda input: str(input["name"]),
            reads={"name": _name_of},
            then=_seal,
        ),
        "updateSecret": change(_KIND, _MANAGE, _describe, then=_seal),
        "deleteSecret": deletion(_KIND, _MANAGE),
    },
}
