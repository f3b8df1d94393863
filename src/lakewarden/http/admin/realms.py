"""The caller, and all realms."""

from __future__ import annotations

import msgspec
from msgspec import UNSET

from lakewarden.http.admin.bodies.realm import (
    Caller,
    ModelUpgrade,
    NewRealm,
    RealmChange,
    RealmResponse,
    Realms,
    UpgradeResponse,
)
from lakewarden.http.admin.endpoint import Endpoint, HandlerResult, in_field
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.errors import BadInput
from lakewarden.models import own
from lakewarden.models.own import ModelText
from lakewarden.service import control, realms
from lakewarden.service.control import SERVER, Denied
from lakewarden.service.model_upgrade import apply_upgrade, plan_upgrade
from lakewarden.service.realm import Realm, check_realm_name
from lakewarden.service.state import RealmState
from lakewarden.service.statements import stored
from lakewarden.service.system import load_system


def whoami(exchange: Exchange) -> HandlerResult:
    """The authenticated caller."""
    actor = exchange.actor
    return Caller(
        user=actor.user,
        directory=actor.directory,
        realm=actor.realm,
        groups=list(actor.groups),
        credential=actor.credential.partition(":")[0],
        administrator=control.is_allowed(exchange.state, actor, "grant.put", SERVER, exchange.now),
    )


def listed(exchange: Exchange) -> HandlerResult:
    """The realms that are visible to the caller."""
    visible = realms.listed(exchange.state, exchange.actor, exchange.now)
    return Realms(realms=[_response(exchange, realm) for realm in visible])


def load(exchange: Exchange) -> HandlerResult:
    """One realm."""
    realm_state = realms.load(
        exchange.state, exchange.actor, exchange.params["realm"], exchange.now
    )
    if isinstance(realm_state, Denied):
        return realm_state
    loaded = _response(exchange, realm_state)
    text = realm_state.realm.text
    loaded.model_text = None if text is None else text.text
    return loaded


def create(exchange: Exchange, body: NewRealm) -> HandlerResult:
    """Creates a realm."""
    model, text = _model(body)
    for field, name in (("name", body.name), ("directory", body.directory)):
        with in_field(f"body.{field}"):
            check_realm_name(name)
    if text is None:
        with in_field("body.settings"):
            load_system(model, body.settings)
    realm = Realm(
        body.name,
        model,
        body.directory,
        settings=body.settings,
        spellings=body.spellings,
        text=text,
    )
    stored_realm = exchange.write(lambda transaction: realms.create(transaction, realm))
    return (
        stored_realm if isinstance(stored_realm, Denied) else _realm_response(exchange, realm.name)
    )


def _model(body: NewRealm) -> tuple[str, ModelText | None]:
    """The name of the model of a new realm, and its text unless it is shipped."""
    if (body.model is UNSET) is (body.model_text is UNSET):
        raise BadInput("expected either `model` or `model_text`", where="model")
    if body.model_text is UNSET:
        assert body.model is not UNSET  # noqa: S101 — INVARIANT: one of them is set
        return body.model, None
    text = own.of_text(body.model_text, "model_text")
    return own.name_of(text, "model_text"), text


def alter(exchange: Exchange, body: RealmChange) -> HandlerResult:
    """Changes the settings of a realm."""
    name = exchange.params["realm"]
    settings = None if body.settings is UNSET else body.settings
    spellings = None if body.spellings is UNSET else body.spellings
    changed = exchange.write(
        lambda transaction: realms.alter(transaction, name, settings=settings, spellings=spellings)
    )
    return changed if isinstance(changed, Denied) else _realm_response(exchange, name)


def upgrade(exchange: Exchange, body: ModelUpgrade) -> HandlerResult:
    """Plans or applies the upgrade of a realm to another version of its model."""
    name, service, actor = exchange.params["realm"], exchange.service, exchange.actor
    text = own.of_text(body.model_text, "model_text")
    if not body.apply:
        result = plan_upgrade(service, actor, name, text)
    else:
        result = apply_upgrade(service, actor, name, text, drop=body.drop)
        exchange.state = service.state
    return (
        result if isinstance(result, Denied) else msgspec.convert(result.table(), UpgradeResponse)
    )


def drop(exchange: Exchange) -> HandlerResult:
    """Drops a realm with everything in it."""
    name = exchange.params["realm"]
    return exchange.write(lambda transaction: realms.drop(transaction, name))


def _realm_response(exchange: Exchange, name: str) -> RealmResponse:
    return _response(exchange, exchange.state.realm(name))


def _response(exchange: Exchange, realm_state: RealmState) -> RealmResponse:
    """The realm; its contents only if the caller may read them."""
    realm, model = realm_state.realm, realm_state.system.model
    response = RealmResponse(
        name=realm.name,
        model=realm.model,
        title=model.title,
        directory=realm.directory,
        settings=dict(model.settings),
        model_digest=None if realm.text is None else realm.text.digest,
    )
    see = ("entity.list", "statement.list")
    if any(
        control.denied_in(exchange.state, exchange.actor, operation, realm.name, exchange.now)
        for operation in see
    ):
        return response
    response.entities = len(realm_state.matrix.snapshot.coded.tree.stored)
    response.statements = len(stored(realm_state))
    response.spellings = dict(realm.spellings)
    return response


ENDPOINTS = (
    Endpoint("GET", "/whoami", "caller.load", whoami, "identify the caller", response=Caller),
    Endpoint("GET", "/realms", "realm.list", listed, "list realms", response=Realms),
    Endpoint(
        "POST",
        "/realms",
        "realm.create",
        create,
        "create a realm",
        request=NewRealm,
        response=RealmResponse,
        status=201,
    ),
    Endpoint("GET", "/realms/{realm}", "realm.load", load, "read a realm", response=RealmResponse),
    Endpoint(
        "PATCH",
        "/realms/{realm}",
        "realm.alter",
        alter,
        "change a realm's settings",
        request=RealmChange,
        response=RealmResponse,
    ),
    Endpoint(
        "POST",
        "/realms/{realm}/upgrade",
        "realm.alter",
        upgrade,
        "plan or apply the upgrade of a realm's own model",
        request=ModelUpgrade,
        response=UpgradeResponse,
    ),
    Endpoint("DELETE", "/realms/{realm}", "realm.drop", drop, "drop a realm"),
)
