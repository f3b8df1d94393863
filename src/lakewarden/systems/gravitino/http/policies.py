"""Policies: create, list, get, alter, enable, delete; and attach them to objects.

A policy's content is stored and returned unchanged; nothing here acts on it, except that it says to
which types of objects the policy can be attached.
SOURCE: gravitino reference 3.5, 4.3 and 4.4;
apache/gravitino:docs/open-api/policies.yaml@04f2e0572ac3.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.names.canonical import quoted
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.http import labels, object_store
from lakewarden.systems.gravitino.http.authorization import entity, write
from lakewarden.systems.gravitino.http.bodies import (
    Body,
    Json,
    audit_of,
    convert,
    enum_word,
    ok,
    present,
    read,
)
from lakewarden.systems.gravitino.http.errors import illegal
from lakewarden.systems.gravitino.http.kinds import (
    METALAKE,
    Created,
    Kind,
    alter,
    create,
    drop,
    load,
)
from lakewarden.systems.gravitino.http.labels import Label
from lakewarden.systems.gravitino.http.updates import (
    Draft,
    Rename,
    Update,
    UpdateComment,
    apply_shared,
    checked_properties,
)

CUSTOM: Final = "custom"
COMPACTION: Final = "system_iceberg_compaction"

_TYPES: Final = (CUSTOM, COMPACTION)
_OBJECTS: Final = ("catalog", "schema", "table", "fileset", "topic", "model", "view", "function")


class Create(Body):
    """The body of POST …/policies."""

    name: str
    policy_type: str
    content: dict[str, Any]
    comment: str | None = None
    enabled: bool | None = None


class Content(Body):
    """The content of a custom policy."""

    supported_object_types: list[str]
    custom_rules: dict[str, Any] | None = None
    properties: dict[str, str] | None = None


class UpdateContent(Update, tag="updateContent"):
    """Replaces the content, of the same type."""

    policy_type: str
    new_content: dict[str, Any]


class Enable(Body):
    """The body that enables or disables a policy."""

    enable: bool


class Associate(Body):
    """Policies to attach to an object and to detach, by name."""

    policies_to_add: list[str] | None = None
    policies_to_remove: list[str] | None = None


def _read(exchange: Exchange) -> Created:
    body = read(exchange, Create)
    type = enum_word(body.policy_type, _TYPES, "policy type")
    return body.name, present(
        comment=body.comment,
        policyType=type,
        enabled=body.enabled is not False,
        content=_content(type, body.content),
    )


def _content(type: str, members: dict[str, Any]) -> Json:
    """The content in its stored form; raises `Failure` 400 for an invalid custom content."""
    if type != CUSTOM:
        return members
    content = convert(members, Content, "body: content")
    if not content.supported_object_types:
        raise illegal("body: content: expected at least one supported object type")
    types = {
        enum_word(type_name, _OBJECTS, "object type")
        for type_name in content.supported_object_types
    }
    return present(
        customRules=content.custom_rules,
        properties=None if content.properties is None else checked_properties(content.properties),
        supportedObjectTypes=[type_name for type_name in _OBJECTS if type_name in types],
    )


def show(name: str, document: Json) -> Json:
    """A policy in the form of replies; one loaded in bulk is shown as custom without rules."""
    return present(
        name=name,
        comment=document.get("comment"),
        policyType=document.get("policyType") or CUSTOM,
        enabled=document.get("enabled", True),
        content=document.get("content") or {"supportedObjectTypes": list(_OBJECTS)},
        audit=audit_of(document),
    )


def _apply(draft: Draft, update: object) -> None:
    if not isinstance(update, UpdateContent):
        apply_shared(draft, update)
        return
    type = str(draft.body.get("policyType") or CUSTOM)
    if enum_word(update.policy_type, _TYPES, "policy type") != type:
        raise illegal(f"the policy is of type `{type}`, which does not change")
    draft.body["content"] = _content(type, update.new_content)


def _fits(policy: Entity, document: Json, on: Entity) -> None:
    """Raises `Failure` 400 if the policy's content does not support this type of object."""
    content = show("", document)["content"]
    supported = content.get("supportedObjectTypes") if isinstance(content, dict) else None
    if supported is not None and on.type not in supported:
        name = quoted(gravitino.full_name(policy))
        raise illegal(f"policy {name} cannot be put on a {on.type}; only on: {supported}")


POLICY: Final = Label(type="policy", plural="policies", show=show, check=_fits)

POLICIES: Final = Kind(
    type="policy",
    within="metalake",
    path=METALAKE + "/policies",
    read=_read,
    show=show,
    updates=Rename | UpdateComment | UpdateContent,
    apply=_apply,
)


def enable(exchange: Exchange) -> Reply:
    """Enables or disables a policy."""
    policy = entity(exchange, "policy")
    on = read(exchange, Enable).enable

    def set_enabled(transaction: WriteTransaction) -> None:
        draft = object_store.draft(transaction, exchange.realm, policy)
        draft.body["enabled"] = on
        object_store.save(exchange, transaction, policy, draft)

    write(exchange, "policy.set", policy, set_enabled)
    return ok()


def associate(exchange: Exchange) -> Reply:
    """Attaches policies to an object and detaches policies."""
    body = read(exchange, Associate)
    return labels.associate(POLICY, exchange, body.policies_to_add, body.policies_to_remove)


_ALL: Final = POLICIES.path
_ONE: Final = POLICIES.one
_OF_OBJECT: Final = METALAKE + "/objects/{type}/{name}/policies"

ROUTES: Final = (
    Route("GET", _ALL, "policy.list", partial(labels.list_all, POLICY)),
    Route("POST", _ALL, "policy.create", partial(create, POLICIES)),
    Route("GET", _ONE, "policy.load", partial(load, POLICIES)),
    Route("PUT", _ONE, "policy.alter", partial(alter, POLICIES)),
    Route("PATCH", _ONE, "policy.set", enable),
    Route("DELETE", _ONE, "policy.drop", partial(drop, POLICIES)),
    Route("GET", _ONE + "/objects", "policy.objects.list", partial(labels.objects, POLICY)),
    Route("GET", _OF_OBJECT, "object.policies.list", partial(labels.of_object, POLICY)),
    Route("POST", _OF_OBJECT, "object.policies.associate", associate),
    Route(
        "GET",
        _OF_OBJECT + "/{policy}",
        "object.policies.load",
        partial(labels.one_of_object, POLICY),
    ),
)
