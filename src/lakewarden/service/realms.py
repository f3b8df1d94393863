"""Realms: created with what their system ships, altered, and dropped with all contents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from lakewarden.kernel.change import EntityAdded, EntityDropped, StatementAdded, StatementRemoved
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Conflict, Unknown
from lakewarden.kernel.model import Model
from lakewarden.kernel.statement import On, Statement
from lakewarden.service import control, push_target
from lakewarden.service.actor import Actor
from lakewarden.service.control import SERVER, Denied
from lakewarden.service.defaults import default_statements
from lakewarden.service.effect import RealmChanged, TokenChanged
from lakewarden.service.realm import CONTROL, DIRECTORY, Realm, check_realm_name, people_of
from lakewarden.service.state import RealmState, State
from lakewarden.service.system import load_system
from lakewarden.service.write_transaction import WriteTransaction

CONTROL_MODEL = "control"
"""The model of the control realm, and of no other realm."""


def listed(state: State, actor: Actor, now: float) -> list[RealmState]:
    """The realms that the caller may see, by name."""
    return [
        realm_state
        for name, realm_state in sorted(state.realms.items())
        if control.is_allowed(state, actor, "realm.load", control.realm(name), now)
    ]


def weakened(models: Iterable[Model]) -> tuple[str, ...]:
    """The protections that the models' settings switch off, as sentences without realm names."""
    warnings = (f"{model.title}: {text}" for model in models for text in model.weakened)
    return tuple(dict.fromkeys(warnings))


def load(state: State, actor: Actor, name: str, now: float) -> RealmState | Denied:
    """One realm; raises `Unknown` if it does not exist and the caller may know that."""
    refused = control.denied(state, actor, "realm.load", control.realm(name), now)
    return state.realm(name) if refused is None else refused


def create(transaction: WriteTransaction, realm: Realm) -> Realm | Denied:
    """Creates a realm with the default statements of its system.

    Raises `BadInput` for a malformed name or setting, `Unknown` for a model that is not shipped,
    `Conflict` for a name in use.
    """
    check_realm_name(realm.name)
    check_realm_name(realm.directory)
    if realm.model == CONTROL_MODEL:
        raise BadInput(f"the model `{CONTROL_MODEL}` is reserved for the realm `{CONTROL}`")
    target = control.directory(realm.directory)
    details = {"name": realm.name, "model": realm.model}
    if realm.text is not None:
        details["digest"] = realm.text.digest
    refused = control.authorize(transaction, "realm.create", target, **details)
    if refused is not None:
        return refused
    establish(transaction, realm)
    return realm


def establish(transaction: WriteTransaction, realm: Realm) -> None:
    """Creates the realm without checking rights: for a first start, the control realm first.

    Raises the errors of `create`.
    """
    if transaction.state.declared(realm.name) is not None:
        raise Conflict(f"realm `{realm.name}` already exists")
    system = load_system(realm.model, realm.settings, realm.text)
    defaults = default_statements(system, realm.deleted)
    added = (StatementAdded(statement) for statement in defaults)
    transaction.change(realm.name, RealmChanged(realm.name, realm), *added)
    _store_in_control_realm(transaction, realm)


def establish_control(transaction: WriteTransaction, directory: str = DIRECTORY) -> None:
    """Creates the control realm, with an entity for each existing realm."""
    establish(transaction, Realm(CONTROL, CONTROL_MODEL, directory))
    for name in sorted(transaction.state.realms):
        _store_in_control_realm(transaction, transaction.state.realms[name].realm)


def _store_in_control_realm(transaction: WriteTransaction, realm: Realm) -> None:
    """Stores the realm, its directory and the server as entities of the control realm."""
    if CONTROL not in transaction.state.realms:
        return
    above = control.directory(realm.directory)
    chain = [(SERVER, None), (above, SERVER)]
    # The rights over lakewarden belong to no directory, but to the server.
    chain.append((control.realm(realm.name), SERVER if realm.name == CONTROL else above))
    for entity, parent in chain:
        if not _is_stored(transaction, entity):
            transaction.change(CONTROL, EntityAdded(entity, parent))


def _is_stored(transaction: WriteTransaction, entity: Entity) -> bool:
    return transaction.realm(CONTROL).matrix.snapshot.coded.is_known(entity)


def alter(
    transaction: WriteTransaction,
    name: str,
    *,
    settings: Mapping[str, str] | None = None,
    spellings: Mapping[str, str] | None = None,
) -> Realm | Denied:
    """Changes the settings of a realm's model, or its spellings of names.

    Given values replace the stored ones; default statements are adjusted to the settings. Raises
    `BadInput` for what the model does not declare, `Unknown` for a realm that does not exist.
    """
    details = {"settings": dict(settings or {}), "spellings": len(spellings or {})}
    refused = control.authorize_in_realm(transaction, "realm.alter", name, **details)
    if refused is not None:
        return refused
    if name == CONTROL:
        raise BadInput(f"the realm `{CONTROL}` has no settings")
    before = transaction.realm(name)
    realm = replace(
        before.realm,
        settings=before.realm.settings if settings is None else dict(settings),
        spellings=before.realm.spellings if spellings is None else dict(spellings),
    )
    try:
        system = load_system(realm.model, realm.settings, realm.text)
    except BadInput as error:  # it names the model's file, which the caller did not write
        raise BadInput(error.message, where="body.settings") from None
    old = {s.id: s for s in default_statements(before.system, before.realm.deleted)}
    realm = replace(realm, deleted=realm.deleted & system.model.default_ids)
    new = {s.id: s for s in default_statements(system, realm.deleted)}
    transaction.change(
        name, RealmChanged(name, realm), *default_statement_changes(before, old, new)
    )
    return realm


def default_statement_changes(
    before: RealmState, old: Mapping[str, Statement], new: Mapping[str, Statement]
) -> list[StatementAdded | StatementRemoved]:
    """The changes of default statements from `old` to `new`, each by its id.

    An edited default statement stays as it is.
    """
    stored = before.matrix.snapshot.table.statements
    removed = [id for id in old if id not in new and stored.get(id) == old[id]]
    come = [s for id, s in new.items() if old.get(id) != s and stored.get(id) == old.get(id)]
    return [*map(StatementRemoved, removed), *map(StatementAdded, come)]


def drop(transaction: WriteTransaction, name: str) -> Denied | None:
    """Drops the realm, the tokens that are valid only there, and all rights over it.

    Raises `Unknown` for a realm that does not exist. Raises `Conflict` for the control realm, and
    for one whose targets hold its permissions: nobody would revoke them afterwards.
    """
    refused = control.authorize(transaction, "realm.drop", control.realm(name), name=name)
    if refused is not None:
        return refused
    if name == CONTROL:
        raise Conflict(f"the realm `{CONTROL}` cannot be dropped")
    stored_realm = transaction.state.declared(name)
    if stored_realm is None:
        raise Unknown("realm", name)
    _check_targets(transaction, name)
    directory = stored_realm.directory
    tokens = [t for t in transaction.state.tokens.values() if t.realm == name]
    transaction.change(name, RealmChanged(name, None))
    transaction.change(people_of(directory), *(TokenChanged(token.id, None) for token in tokens))
    entity = control.realm(name)
    if _is_stored(transaction, entity):
        transaction.change(CONTROL, EntityDropped(entity))
    # Statements may also refer to a name that was never stored.
    anchored = [
        id
        for id, statement in transaction.realm(CONTROL).matrix.snapshot.table.statements.items()
        if statement.scope == On(entity)
    ]
    transaction.change(CONTROL, *map(StatementRemoved, anchored))
    return None


def _check_targets(transaction: WriteTransaction, name: str) -> None:
    found = push_target.targets(transaction.store, (name,))
    pushed = ", ".join(f"`{one.name}`" for one in found if any(one.pushed.values()) or one.journal)
    if pushed:
        message = f"targets have what the realm `{name}` allows: {pushed}; reset them to remove it"
        raise Conflict(f"{message}, or remove the targets to leave it there")
