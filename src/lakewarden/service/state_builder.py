"""How states are made: loaded from the store, or from the previous state by effects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from lakewarden.kernel.change import (
    AttributeChanged,
    Change,
    EntityDropped,
    EntityRenamed,
    MembershipChanged,
    PrincipalChanged,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.incremental_compile import apply
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import USER
from lakewarden.kernel.relations import Facts, MembershipRow
from lakewarden.kernel.snapshot import compile
from lakewarden.service.effect import (
    DocumentChanged,
    Effect,
    LinkChanged,
    RealmChanged,
    SecretChanged,
    TokenChanged,
    ValueChanged,
)
from lakewarden.service.garbage_collection import collection_paused
from lakewarden.service.link import Asset, LinkChanges, Links
from lakewarden.service.ports import Reading
from lakewarden.service.realm import Realm, people_of
from lakewarden.service.state import ClosedRealm, People, RealmState, State
from lakewarden.service.system import System, load_system

BULK = 2_000
"""With more changes of one realm at once, the realm is recompiled from its rows."""

Scoped = tuple[str, Effect]
"""An effect and the scope to which it belongs."""

FactsReader = Callable[[str, System], Facts]
"""Reads all facts of a realm, as of the applied effects."""

Start = Callable[[State, Realm, Reading, float], RealmState]
"""Compiles a realm at the revision that is read; `state` has the people."""

NO_STARTS: Mapping[str, Start] = {}


def load(reading: Reading, now: float, starts: Mapping[str, Start] = NO_STARTS) -> State:
    """Compiles the whole store: realms in `starts` by their function, others from all rows."""
    with collection_paused():
        return _load(reading, now, starts)


def load_only(reading: Reading, name: str, now: float) -> State:
    """One realm with the people of its directory only; no realm if it does not exist."""
    state = State(revision=reading.revision, people=_all_people(reading))
    realms = [realm for realm in reading.realms() if realm.name == name]
    return _with_all(state, realms, lambda realm: from_rows(state, realm, reading, now))


def _with_all(
    state: State, realms: Iterable[Realm], compiled: Callable[[Realm], RealmState]
) -> State:
    """The state with the realms; those with an unusable model are closed."""
    opened: dict[str, RealmState] = {}
    closed: dict[str, ClosedRealm] = {}
    for realm in realms:
        reason = model_fault(realm)
        if reason is None:
            opened[realm.name] = compiled(realm)
        else:
            closed[realm.name] = ClosedRealm(realm, reason)
    return replace(state, realms=opened, closed=closed).bounded()


def model_fault(realm: Realm) -> str | None:
    """Why the text of the realm's model is unusable; None if it is usable, or shipped."""
    if realm.text is None:
        return None
    try:
        load_system(realm.model, realm.settings, realm.text)
    except BadInput as error:
        return str(error)
    return None


def _all_people(reading: Reading) -> dict[str, People]:
    return {
        directory: _people_of_directory(reading.facts(people_of(directory), None))
        for directory in reading.directories()
    }


def _load(reading: Reading, now: float, starts: Mapping[str, Start]) -> State:
    realms = reading.realms()
    state = State(
        revision=reading.revision,
        people=_all_people(reading),
        tokens={token.digest: token for token in reading.tokens()},
        links=Links.of(reading.links()),
    )
    return _with_all(
        state,
        realms,
        lambda realm: starts.get(realm.name, from_rows)(state, realm, reading, now),
    )


def from_rows(state: State, realm: Realm, reading: Reading, now: float) -> RealmState:
    """The realm, compiled from all its rows."""
    return compiled_realm(state, realm, reading.facts, now, reading.revision)


def after_effects(
    state: State, effects: Sequence[Scoped], facts_of: FactsReader, now: float, revision: int
) -> State:
    """The state after the effects, at their revision. Raises the errors of the kernel's changes."""
    by_scope: dict[str, list[Effect]] = {}
    for scope, effect in effects:
        by_scope.setdefault(scope, []).append(effect)
    for scope, scope_effects in by_scope.items():
        if scope.startswith("@"):
            state = _with_people(state, scope[1:], scope_effects, now, revision)
    for scope_effects in by_scope.values():  # a realm's declaration changes in its own scope
        state = _with_realms(state, scope_effects, facts_of, now, revision)
    for scope, scope_effects in by_scope.items():
        if not scope.startswith("@") and scope in state.realms:
            state = _with_changes(state, scope, scope_effects, facts_of, now, revision)
    return replace(state, revision=revision, links=links_after(state.links, effects)).bounded()


def links_after(links: Links, effects: Sequence[Scoped]) -> Links:
    """The links after the effects, including those removed with an entity or a realm."""
    changes = LinkChanges(links)
    for scope, effect in effects:
        change_links(changes, scope, effect)
    return changes.links()


def change_links(changes: LinkChanges, scope: str, effect: Effect) -> None:
    """Applies one effect to links; see `links_after`."""
    match effect:
        case LinkChanged(link, None):
            changes.drop(link)
        case LinkChanged(link, keeper) if keeper is not None:
            changes.put(link, keeper)
        case EntityDropped(entity):
            changes.drop_asset(Asset(scope, entity))
        case EntityRenamed(entity, name):
            changes.rename_asset(Asset(scope, entity), Asset(scope, Entity(entity.type, name)))
        case RealmChanged(name, None):
            changes.drop_realm(name)


def _people(facts: Facts) -> People:
    return People(frozenset(facts.principals), frozenset(facts.memberships))


def _people_of_directory(facts: Facts) -> People:
    attributes: dict[str, dict[str, str]] = {}
    for row in facts.attributes:
        if row.entity.type == USER:
            attributes.setdefault(row.entity.name, {})[row.attribute] = row.value
    return People(frozenset(facts.principals), frozenset(facts.memberships), attributes)


def compiled_realm(
    state: State, realm: Realm, facts_of: FactsReader, now: float, revision: int
) -> RealmState:
    """A realm, compiled from its facts and the people of its directory in `state`."""
    system = load_system(realm.model, realm.settings, realm.text)
    facts = facts_of(realm.name, system)
    own = _people(facts)
    shared = state.people.get(realm.directory, People())
    everyone = own | shared.spelled(system)
    together = replace(
        facts, principals=tuple(everyone.principals), memberships=tuple(everyone.memberships)
    )
    snapshot = compile(together, system.model, system.spelling, now=now, revision=revision)
    return RealmState(realm, system, Matrix(snapshot), own, shared.attributes)


def _with_people(
    state: State, directory: str, effects: Sequence[Effect], now: float, revision: int
) -> State:
    """The state after changes to a directory: its tokens, its people, and all its realms."""
    tokens = {token.id: token for token in state.tokens.values()}
    for effect in effects:
        if isinstance(effect, TokenChanged):
            tokens.pop(effect.id, None)
            if effect.token is not None:
                tokens[effect.id] = effect.token
    directory_people = state.people.get(directory, People()).after(effects)
    realms = dict(state.realms)
    for name, realm in state.realms.items():
        if realm.realm.directory == directory:
            # A directory's attributes of users are not attributes of entities of its realms.
            spelled = [
                _spelled(effect, realm.system)
                for effect in effects
                if not isinstance(effect, AttributeChanged)
            ]
            after = _changed(realm, spelled, realm.own, now, revision)
            realms[name] = replace(after, attributes=directory_people.attributes)
    return replace(
        state,
        tokens={token.digest: token for token in tokens.values()},
        people={**state.people, directory: directory_people},
        realms=realms,
    )


def _spelled(effect: Effect, system: System) -> Effect:
    match effect:
        case PrincipalChanged(principal, present):
            return PrincipalChanged(system.spelled(principal), present)
        case MembershipChanged(row, present):
            return MembershipChanged(MembershipRow(*map(system.spelled, row)), present)
        case _:
            return effect


def _with_realms(
    state: State, effects: Sequence[Effect], facts_of: FactsReader, now: float, revision: int
) -> State:
    """The state after realms were created, dropped or given other settings."""
    realms, closed = dict(state.realms), dict(state.closed)
    for effect in effects:
        if isinstance(effect, RealmChanged):
            realms.pop(effect.name, None)
            closed.pop(effect.name, None)
            reason = None if effect.realm is None else model_fault(effect.realm)
            if effect.realm is not None and reason is not None:
                closed[effect.name] = ClosedRealm(effect.realm, reason)
            elif effect.realm is not None:
                before = state.realms.get(effect.name)
                is_alone = len(effects) == 1
                if is_alone and before and _is_compiled_alike(before.realm, effect.realm):
                    realms[effect.name] = replace(before, realm=effect.realm)
                else:
                    realms[effect.name] = compiled_realm(
                        state, effect.realm, facts_of, now, revision
                    )
    return replace(state, realms=realms, closed=closed)


def _is_compiled_alike(first: Realm, second: Realm) -> bool:
    return (first.model, first.text, first.settings, first.directory) == (
        second.model,
        second.text,
        second.settings,
        second.directory,
    )


def _with_changes(
    state: State,
    scope: str,
    effects: Sequence[Effect],
    facts_of: FactsReader,
    now: float,
    revision: int,
) -> State:
    realm = state.realms[scope]
    if any(isinstance(effect, RealmChanged) for effect in effects):
        return state  # already compiled with them
    if len(effects) > BULK:
        after = compiled_realm(state, realm.realm, facts_of, now, revision)
    else:
        shared = state.people.get(realm.realm.directory, People()).spelled(realm.system)
        after = _changed(realm, effects, shared, now, revision)
        after = replace(after, own=realm.own.after(effects))
    return replace(state, realms={**state.realms, scope: after})


def _changed(
    realm: RealmState, effects: Iterable[Effect], others: People, now: float, revision: int
) -> RealmState:
    """The realm after the effects; a removed row stays while `others` contain it."""
    changes = [
        effect
        for effect in effects
        if not isinstance(effect, BESIDE) and not _others_contain(effect, others)
    ]
    if not changes:
        return realm
    return replace(realm, matrix=apply(realm.matrix, changes, now=now, revision=revision))


BESIDE = (*(DocumentChanged, ValueChanged, SecretChanged, TokenChanged, RealmChanged, LinkChanged),)
"""Effects that do not change the compiled state."""


def _others_contain(change: Change, others: People) -> bool:
    match change:
        case PrincipalChanged(principal, False):
            return principal in others.principals
        case MembershipChanged(row, False):
            return row in others.memberships
        case _:
            return False
