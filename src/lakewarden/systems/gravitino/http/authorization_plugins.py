"""Authorization plug-ins of catalogs: each becomes a target that receives the changes.

A catalog declares plug-ins by its properties, which are validated as in the original. Their
targets use Gravitino's own style if one exists for their kind. Nothing is connected to here: the
write that creates the catalog enters its targets in the outbox. If the address of a target changes,
the target is emptied and created again; the target of a removed catalog is emptied too.
SOURCE: gravitino reference 7.1; that the provider does not change: apache/gravitino,
BaseCatalogPropertiesMetadata and PropertiesMetadataHelpers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Final, cast

from lakewarden.engines.engine import pushed_engines
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.service import push_outbox, push_target, push_target_check
from lakewarden.service.effect import Effect
from lakewarden.service.push_outbox import Pending
from lakewarden.service.push_target import PushTarget
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.http.authorization import entity
from lakewarden.systems.gravitino.http.bodies import Json
from lakewarden.systems.gravitino.http.errors import illegal
from lakewarden.systems.gravitino.http.sealing import sealing
from lakewarden.systems.gravitino.http.updates import RemoveProperty, SetProperty
from lakewarden.systems.gravitino.push.properties import PROVIDER, Plugin, plugins

STYLE: Final = "gravitino"

_DIGITS: Final = 12
_DIGITS_OF_NAME: Final = 11
"""MySQL leaves room for a target name of twelve characters in the names of its roles."""


def declared(properties: Mapping[str, str]) -> list[Plugin]:
    """The plug-ins that the properties declare; raises `Failure` 400 with the original's words."""
    try:
        return plugins(properties)
    except BadInput as error:
        raise illegal(str(error)) from None


def check_update(update: object) -> None:
    """Raises `Failure` 400 for an update of the provider, which is immutable in every catalog."""
    match update:
        case SetProperty(property=key) if key == PROVIDER:
            raise illegal(f"Property {PROVIDER} is immutable or reserved, cannot be set")
        case RemoveProperty(property=key) if key == PROVIDER:
            raise illegal(f"Property {PROVIDER} is immutable or reserved, cannot be deleted")


def added(
    exchange: Exchange,
    transaction: WriteTransaction,
    catalog: Entity,
    properties: Mapping[str, str],
) -> None:
    """Creates the targets of a new catalog. Removes those of an earlier catalog of that name."""
    new = declared(properties)
    if new:
        _close(transaction, list(_targets(exchange, transaction, catalog)))
        for plugin in new:
            _create_target(exchange, transaction, catalog, plugin)


def altered(
    exchange: Exchange,
    transaction: WriteTransaction,
    catalog: Entity,
    body: Json,
    secrets: Mapping[str, str | None],
) -> None:
    """Updates the targets of a catalog to what its properties now declare."""
    properties = dict(cast("Mapping[str, str]", body.get("properties") or {}))
    if PROVIDER not in properties:
        return
    for key, sealed in transaction.store.secrets(exchange.realm, catalog).items():
        properties[key] = sealing(exchange).unseal(sealed)
    properties.update({key: value for key, value in secrets.items() if value is not None})
    new = {plugin.name: plugin for plugin in declared(properties)}
    # Targets take over a new name of the catalog at the end of the write.
    before = entity(exchange, "catalog")
    for target in list(_targets(exchange, transaction, before)):
        plugin = new.pop(target.plugin.partition(" ")[0], None)
        if plugin is None or _reference(plugin) != target.plugin:
            _close(transaction, [target])
            if plugin is not None:
                _create_target(exchange, transaction, catalog, plugin)
        else:
            url = push_target.put_url(target, plugin.address, sealing(exchange))
            transaction.change(target.realm, url, _entry(transaction, target))
    for plugin in new.values():
        _create_target(exchange, transaction, catalog, plugin)


def _targets(
    exchange: Exchange, transaction: WriteTransaction, catalog: Entity
) -> Iterator[PushTarget]:
    """The targets of a catalog's plug-ins."""
    place = gravitino.parts(catalog)
    for target in push_target.briefly(transaction.store, exchange.realm):
        if target.plugin and not target.closing and (target.metalake, target.catalog) == place:
            yield target


def _close(transaction: WriteTransaction, targets: list[PushTarget]) -> None:
    for target in targets:
        transaction.change(
            target.realm,
            push_target.put(replace(target, closing=True)),
            _entry(transaction, target),
        )


def _create_target(
    exchange: Exchange, transaction: WriteTransaction, catalog: Entity, plugin: Plugin
) -> None:
    metalake, own = gravitino.parts(catalog)
    state = transaction.realm(exchange.realm)
    reference = _reference(plugin)
    made = PushTarget(
        _name(transaction, exchange.realm, catalog, reference),
        exchange.realm,
        plugin.kind,
        metalake,
        own,
        style=_style(state, plugin.kind),
        follow=True,
        plugin=reference,
    )
    transaction.change(
        exchange.realm,
        push_target.put(made),
        push_target.put_url(made, plugin.address, sealing(exchange)),
        _entry(transaction, made, _not_ready(state, plugin)),
    )


def _reference(plugin: Plugin) -> str:
    """A plug-in's name, with a digest of its address."""
    return f"{plugin.name} {sha256(f'{plugin.kind} {plugin.place}'.encode()).hexdigest()[:_DIGITS]}"


def _name(transaction: WriteTransaction, realm: str, catalog: Entity, reference: str) -> str:
    """A name that no target has ever had: names of roles in the target begin with it."""
    seed = f"{realm} {catalog.name} {reference} {transaction.store.revision}"
    return f"g{sha256(seed.encode()).hexdigest()[:_DIGITS_OF_NAME]}"


def _style(state: RealmState, kind: str) -> str:
    return STYLE if kind in push_target_check.styles(state.realm.model, STYLE) else ""


def _not_ready(state: RealmState, plugin: Plugin) -> str:
    """Why a target cannot receive changes yet; "" if it can."""
    kinds = sorted({*pushed_engines().values(), push_target.RANGER})
    if plugin.kind not in kinds:
        return f"cannot push to `{plugin.kind}`; expected one of: {', '.join(kinds)}"
    if state.system.model.settings.get(plugin.setting) != "on":
        return f"set `{plugin.setting}` to `on` for the realm `{state.realm.name}`"
    return plugin.unready


def _entry(transaction: WriteTransaction, target: PushTarget, error: str = "") -> Effect:
    revision = transaction.store.revision + 1
    return push_outbox.put(target, Pending(revision, transaction.now, error=error))
