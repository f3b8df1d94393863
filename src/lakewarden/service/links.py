"""Links: added, removed and listed by users, and loaded from the pipeline.

A link requires rights to change the realms of both its ends, which must have the same directory:
realms of different directories are never linked. Every link has a keeper: nobody (the empty text)
for links that users add, else the rules of the pipeline. A load changes only its own links.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from lakewarden.kernel.entity import NO_RESOURCE
from lakewarden.kernel.errors import BadInput, LimitExceeded, Unknown
from lakewarden.names.canonical import check_text
from lakewarden.service import control
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.effect import LinkChanged
from lakewarden.service.link import MAX_CLASS, Asset, Link, LinkChanges, Links, link
from lakewarden.service.realm import CONTROL, people_of
from lakewarden.service.state import RealmState, State
from lakewarden.service.write_transaction import WriteTransaction

MAX_KEEPER: Final = 64

Named = tuple[str, str]
"""An end of a link as text: the realm, and the entity in its system's form."""


@dataclass(frozen=True, slots=True)
class LinkList:
    """Links with their keepers, sorted; and the realms whose links the caller may not see."""

    links: tuple[tuple[Link, str], ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LinkLoadResult:
    """The result of a load: the numbers of new links, and of links that are no longer loaded.

    `left` are existing links of other keepers, which keep them.
    """

    new: int
    gone: int
    left: int
    pruned: bool


def asset(state: State, named: Named) -> Asset:
    """The entity of a realm; raises `Unknown` and `BadInput` for an invalid one."""
    realm, text = named
    entity = state.realm(realm).system.entity(text)
    if entity == NO_RESOURCE or not entity.name:
        raise BadInput(f"`{text}` does not name an entity")
    return Asset(realm, entity)


def put(
    transaction: WriteTransaction, first: Named, second: Named, keeper: str = ""
) -> Link | Denied:
    """Links two entities; an existing link gets the new `keeper`.

    Raises `Unknown` for an entity that is not stored unless its names are judged, `BadInput` for
    ends that can never be linked, `LimitExceeded` if too many entities would be one asset.
    """
    refused = _refused(transaction, "link.put", first, second)
    if refused is not None:
        return refused
    _check_keeper(keeper)
    new = link(asset(transaction.state, first), asset(transaction.state, second))
    directory = _directory(transaction.state, new)
    for end in new:
        _check_exists(transaction.state.realm(end.realm), end)
    _check_size(transaction.state.links, [new])
    if transaction.state.links.keeper(new) != keeper:
        transaction.change(people_of(directory), LinkChanged(new, keeper))
    return new


def remove(transaction: WriteTransaction, first: Named, second: Named) -> Denied | None:
    """Removes a link of any keeper, if it exists."""
    refused = _refused(transaction, "link.remove", first, second)
    if refused is not None:
        return refused
    old = link(asset(transaction.state, first), asset(transaction.state, second))
    if transaction.state.links.keeper(old) is not None:
        transaction.change(people_of(_directory(transaction.state, old)), LinkChanged(old, None))
    return None


def _refused(
    transaction: WriteTransaction, operation: str, first: Named, second: Named
) -> Denied | None:
    details = {"one": ":".join(first), "other": ":".join(second)}
    for realm in sorted({first[0], second[0]}):
        refused = control.authorize_in_realm(transaction, operation, realm, **details)
        if refused is not None:
            return refused
    return None


def _check_keeper(keeper: str) -> None:
    if keeper:
        check_text(keeper, "the keeper")
    if len(keeper) > MAX_KEEPER:
        raise LimitExceeded(f"the keeper has {len(keeper)} characters, at most {MAX_KEEPER}")


def _directory(state: State, of: Link) -> str:
    return common_directory(state, of.one.realm, of.other.realm)


def common_directory(state: State, *realms: str) -> str:
    """The common directory of two realms; raises `Unknown`, and `BadInput` if there is none."""
    if CONTROL in realms:
        raise BadInput(f"the entities of the realm `{CONTROL}` are not assets")
    first, second = (state.realm(name).realm for name in realms)
    if first.directory != second.directory:
        raise BadInput(
            f"realms of different directories cannot be linked: `{first.name}` is in"
            f" `{first.directory}`, `{second.name}` in `{second.directory}`"
        )
    return first.directory


def _check_exists(realm_state: RealmState, end: Asset) -> None:
    entity = end.entity
    is_known = realm_state.matrix.snapshot.coded.is_known(entity)
    if not is_known and not realm_state.system.model.judged(entity.type):
        raise Unknown("entity", str(end), "it is not stored")


def _check_size(links: Links, new: Iterable[Link]) -> None:
    """Refuses new links that would make one asset of too many entities."""
    sizes: dict[Asset, set[Asset]] = {}
    for pair in new:
        first, second = (sizes.get(end) or set(links.same(end)) for end in pair)
        together = first if first is second else first | second
        if len(together) > MAX_CLASS:
            raise LimitExceeded(
                f"with `{pair.one}` and `{pair.other}` linked, {len(together)} entities would"
                f" be one asset, at most {MAX_CLASS} are allowed"
            )
        for end in together:
            sizes[end] = together


def load_links(
    transaction: WriteTransaction,
    rows: Sequence[tuple[Named, Named]],
    keeper: str,
    *,
    prune: bool = False,
) -> LinkLoadResult | Denied:
    """Stores the rows as the links of `keeper`; raises the errors of `put`.

    With `prune`, links of this keeper that are in no row are removed.
    """
    if not keeper:
        raise BadInput("loaded links require a keeper")
    _check_keeper(keeper)
    stored = {pair for pair, by in transaction.state.links.all() if by == keeper}
    realms = {end[0] for row in rows for end in row}
    if prune:
        realms |= {end.realm for pair in stored for end in pair}
    for realm in sorted(realms):
        for operation in ("link.put", "link.remove") if prune else ("link.put",):
            details = {"keeper": keeper, "links": len(rows)}
            refused = control.authorize_in_realm(transaction, operation, realm, **details)
            if refused is not None:
                return refused
    rows_as_links = {
        link(asset(transaction.state, first), asset(transaction.state, other))
        for first, other in rows
    }
    links = transaction.state.links
    new = sorted(pair for pair in rows_as_links if links.keeper(pair) is None)
    removed = sorted(stored - rows_as_links)
    for pair in new:
        _directory(transaction.state, pair)
        for end in pair:
            _check_exists(transaction.state.realm(end.realm), end)
    _check_size(_without(links, removed) if prune else links, new)
    effects = [LinkChanged(pair, keeper) for pair in new]
    if prune:
        effects = [*(LinkChanged(pair, None) for pair in removed), *effects]
    by_directory: dict[str, list[LinkChanged]] = {}
    for effect in effects:
        by_directory.setdefault(_directory(transaction.state, effect.link), []).append(effect)
    for directory, found_effects in sorted(by_directory.items()):
        transaction.change(people_of(directory), *found_effects)
    kept_by_others = sum(links.keeper(pair) not in (None, keeper) for pair in rows_as_links)
    return LinkLoadResult(len(new), len(removed), kept_by_others, prune)


def _without(links: Links, removed: Iterable[Link]) -> Links:
    changes = LinkChanges(links)
    for pair in removed:
        changes.drop(pair)
    return changes.links()


def listed(
    state: State, actor: Actor, now: float, realm: str | None = None, entity: str | None = None
) -> LinkList | Denied:
    """The links that the caller may see: all, those of a realm, or those of one of its entities.

    A denial for a realm that the caller may not see, or if the caller may see none.
    """
    if realm is not None:
        refused = control.denied_in(state, actor, "link.list", realm, now)
        if refused is not None:
            return refused
        state.realm(realm)
    linked = None
    if entity is not None:
        if realm is None:
            raise BadInput("name the realm of the entity", where="realm")
        linked = asset(state, (realm, entity))
    open_to = {
        name
        for name in state.realms
        if name != CONTROL and control.denied_in(state, actor, "link.list", name, now) is None
    }
    if not open_to:
        return Denied("link.list", control.directory(actor.directory))
    on_page = tuple(
        (link, keeper)
        for link, keeper in state.links.all()
        if link.one.realm in open_to
        and link.other.realm in open_to
        and (realm is None or realm in (link.one.realm, link.other.realm))
        and (linked is None or linked in link)
    )
    return LinkList(on_page, left_out(state, actor, open_to, now))


def left_out(
    state: State, actor: Actor, names: Iterable[str], now: float, directory: str | None = None
) -> tuple[str, ...]:
    """The other realms of a directory, as far as the caller may know of them.

    The result does not depend on links or on other stored data of these realms.
    """
    home = actor.directory if directory is None else directory
    selected = set(names)
    return tuple(
        name
        for name, realm_state in sorted(state.realms.items())
        if name not in selected
        and name != CONTROL
        and realm_state.realm.directory == home
        and control.is_allowed(state, actor, "realm.load", control.realm(name), now)
    )
