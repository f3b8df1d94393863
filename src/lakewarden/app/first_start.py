"""The required content of a database that serves: the realms, their defaults, the administrator.

Runs at every start, and writes only what is missing; the administrator only at the first start
(`lakewarden.app.administrator`). It is one write under the store's lock: if several processes start
at once, one does the write, and the others find it done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from lakewarden.app.administrator import is_added
from lakewarden.config.settings import Settings
from lakewarden.kernel.change import MembershipChanged, PrincipalChanged
from lakewarden.kernel.principal import ROLE, SERVICE_ADMINS, USER, Principal
from lakewarden.kernel.relations import MembershipRow
from lakewarden.names.identities import URN
from lakewarden.registry import registry
from lakewarden.service.actor import SYSTEM
from lakewarden.service.control import SERVER
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.effect import Effect, RealmChanged
from lakewarden.service.realm import CONTROL, DIRECTORY, Realm, people_of
from lakewarden.service.realms import establish, establish_control
from lakewarden.service.state import People, RealmState, State
from lakewarden.service.system import System
from lakewarden.service.write_transaction import WriteTransaction


def first_start(service: DecisionService, settings: Settings) -> bool:
    """Writes what is missing; returns if it did. Raises what `DecisionService.write` raises."""
    if _is_done(service.state, settings, service.clock()):
        return False
    service.write(SYSTEM, lambda transaction: _initialize(transaction, settings))
    return True


def realms(settings: Settings) -> tuple[Realm, ...]:
    """The realms of a new database."""
    return tuple(
        configured(realm, settings)
        for _, start in registry().with_part("first_start")
        for realm in start.realms(settings)
    )


def _is_done(state: State, settings: Settings, now: float) -> bool:
    if CONTROL not in state.realms:
        return False
    names = is_added(state, settings, now)
    return all(not effects for _, effects in _missing(state, settings, names=names))


def _initialize(transaction: WriteTransaction, settings: Settings) -> None:
    names = is_added(transaction.state, settings, transaction.now)
    if CONTROL not in transaction.state.realms:
        # A database without realms that is not new: an administrator dropped them.
        is_fresh = not transaction.state.realms
        establish_control(transaction)
        for realm in realms(settings) if is_fresh else ():
            establish(transaction, realm)
            transaction.change(realm.name, *_roles(transaction.realm(realm.name).system))
    changed = []
    for scope, effects in _missing(transaction.state, settings, names=names):
        transaction.change(scope, *effects)
        changed += [scope] if effects else []
    details = {"admin": settings.admin if names else None, "changed": changed}
    transaction.audit("server.start", SERVER, "allow", "configuration", CONTROL, details)


def _roles(system: System) -> list[Effect]:
    """The effects that create the role principals that a system ships."""
    names = (name for name in sorted(system.model.role_names) if name.startswith(URN))
    return [PrincipalChanged(Principal(ROLE, name), True) for name in names]


def _missing(
    state: State, settings: Settings, *, names: bool
) -> Iterator[tuple[str, list[Effect]]]:
    """The missing facts that the configuration requires, by scope.

    With `names`, this includes the administrator.
    """
    person = Principal(USER, settings.admin)
    people = state.people.get(DIRECTORY, People())
    is_known = not names or person in people.principals
    yield people_of(DIRECTORY), [] if is_known else [PrincipalChanged(person, True)]
    powers = _built_in_administrators(settings, names=names)
    for name, realm in state.realms.items():
        yield name, [*_changed(realm.realm, settings), *_memberships(realm, powers.get(name, ()))]


def _built_in_administrators(
    settings: Settings, *, names: bool
) -> Mapping[str, list[tuple[str, Principal]]]:
    """The principals with built-in power by scope; with `names` the administrator too."""
    admin = settings.admin if names else None
    powers = {CONTROL: [] if admin is None else [(admin, SERVICE_ADMINS)]}
    for _, start in registry().with_part("first_start"):
        for realm, name, group in start.powers(settings, admin):
            powers.setdefault(realm, []).append((name, group))
    return powers


def _memberships(realm: RealmState, pairs: Iterable[tuple[str, Principal]]) -> list[Effect]:
    rows = [
        MembershipRow(realm.system.spelled(Principal(USER, name)), of)
        for name, of in dict.fromkeys(pairs)
    ]
    return [MembershipChanged(row, True) for row in rows if row not in realm.own.memberships]


def _changed(realm: Realm, settings: Settings) -> list[Effect]:
    stored_realm = configured(realm, settings)
    return [] if stored_realm == realm else [RealmChanged(realm.name, stored_realm)]


def configured(realm: Realm, settings: Settings) -> Realm:
    """The realm with the model settings of the configuration."""
    settings_of_model = {
        key: value
        for _, start in registry().with_part("first_start")
        for key, value in start.realm_settings(realm, settings).items()
    }
    return replace(realm, settings={**realm.settings, **settings_of_model})
