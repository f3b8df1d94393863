"""Searches names of entities, people, statements and operations that contain a text, in all realms.

The results include only names that the caller may know (`service.visible`); realms without any
right to ask are left out and named. The best matches come first: the text itself, then names that
begin with it, then shorter ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

from pyroaring import BitMap

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.statement_file import principal_text
from lakewarden.kernel.tree import Lineage, Tree
from lakewarden.names.identities import entity_text
from lakewarden.names.label import label, urn_label
from lakewarden.service import cancellation
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.people import principals
from lakewarden.service.realm import CONTROL
from lakewarden.service.state import RealmState, State
from lakewarden.service.statements import listed
from lakewarden.service.visible import listing_denial, visible_ids

KINDS: Final = ("entity", "user", "group", "role", "statement", "operation")
"""The searched kinds, in the order of equally good matches."""

MAX_CHARACTERS: Final = 200
MAX_RESULTS: Final = 100
_EACH: Final = 4_096
"""The number of entities between two checks for cancellation."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A name that matches. `container` is its container, empty at the top level."""

    kind: str
    realm: str
    type: str
    name: str
    label: str
    container: str = ""


@dataclass(frozen=True, slots=True)
class Hits:
    """The best matches, the number of all matches, and the realms without any right to ask."""

    results: tuple[Hit, ...]
    total: int
    left_out: tuple[str, ...]


def name_search(  # noqa: PLR0913 — the text, and filters
    state: State,
    actor: Actor,
    text: str,
    now: float,
    *,
    kinds: Sequence[str] = KINDS,
    realm: str | None = None,
    types: Sequence[str] = (),
    size: int = 20,
) -> Hits:
    """The names that contain the text, ignoring case. An empty text matches every name.

    `types` restricts entities to these types; a type that a realm does not have matches none.
    """
    if len(text) > MAX_CHARACTERS:
        raise BadInput(f"expected at most {MAX_CHARACTERS} characters", where="q")
    for kind in kinds:
        if kind not in KINDS:
            raise BadInput(f"expected one of: {', '.join(KINDS)}, got `{kind}`", where="kinds")
    if not 1 <= size <= MAX_RESULTS:
        raise BadInput(f"expected 1 to {MAX_RESULTS} results, got {size}", where="page.limit")
    fragment = text.strip().casefold()
    names = sorted(state.realms) if realm is None else [state.realm(realm).realm.name]
    hits: list[Hit] = []
    left_out = []
    for name in names:
        if name == CONTROL and realm is None:
            continue
        if listing_denial(state, actor, name, now) is not None:
            left_out.append(name)
            continue
        hits += _in_realm(state, actor, name, fragment, set(kinds), now, types=types)
    if realm is None:
        hits = list(
            {(hit.kind, hit.name) if _is_person(hit) else hit: hit for hit in hits}.values()
        )
    order = {kind: place for place, kind in enumerate(KINDS)}
    hits.sort(key=lambda hit: (*_rank(hit, fragment), order[hit.kind], hit.name, hit.realm))
    return Hits(tuple(hits[:size]), len(hits), tuple(left_out))


def _is_person(hit: Hit) -> bool:
    return hit.kind in ("user", "group")


def _rank(hit: Hit, fragment: str) -> tuple[bool, bool, int]:
    called = hit.label.casefold()
    return called != fragment, not called.startswith(fragment), len(hit.label)


def _in_realm(
    state: State,
    actor: Actor,
    realm: str,
    fragment: str,
    kinds: set[str],
    now: float,
    *,
    types: Sequence[str],
) -> Iterator[Hit]:
    realm_state = state.realm(realm)
    if "entity" in kinds:
        yield from _entities(realm_state, fragment, _of_types(state, actor, realm, now, types))
    if kinds & {"user", "group", "role"}:
        people = principals(state, actor, realm, now)
        if isinstance(people, Denied):
            people = (actor.principal(realm_state.realm, realm_state.system),)
        yield from _people(realm_state, fragment, kinds, people)
    if "statement" in kinds:
        rules = listed(state, actor, realm, now)
        if not isinstance(rules, Denied):
            for rule in rules:
                if fragment in (rule.title or rule.id).casefold() or fragment in rule.id.casefold():
                    yield Hit("statement", realm, "statement", rule.id, rule.title or rule.id)
    if "operation" in kinds:
        for operation in realm_state.system.model.operations.values():
            if fragment in operation.name.casefold() or fragment in operation.title.casefold():
                yield Hit("operation", realm, "operation", operation.name, operation.title)


def _of_types(
    state: State, actor: Actor, realm: str, now: float, types: Sequence[str]
) -> Iterable[int]:
    """The entities that the caller may see, of these types or of all."""
    visible = visible_ids(state, actor, realm, now)
    if not types:
        return visible
    of_type = state.realm(realm).matrix.snapshot.of_type
    return visible & BitMap.union(*map(of_type, types))


def _people(
    realm_state: RealmState, fragment: str, kinds: set[str], people: Iterable[Principal]
) -> Iterator[Hit]:
    for principal in people:
        if principal.kind in kinds and fragment in principal.name.casefold():
            called = urn_label(principal.name)
            yield Hit(
                principal.kind,
                realm_state.realm.name,
                principal.kind,
                principal_text(principal),
                called,
            )


def _entities(realm_state: RealmState, fragment: str, visible: Iterable[int]) -> Iterator[Hit]:
    tree, spelling = realm_state.matrix.snapshot.coded.tree, realm_state.system.spelling
    folded = _folded(tree)
    for count, id in enumerate(visible):
        if not count % _EACH:
            cancellation.check()
        if fragment in folded[id]:
            entity = tree.entity(id)
            above = int(tree.above[id]) if id not in tree.looped else -1
            container = label(tree.entity(above), spelling) if above >= 0 else ""
            yield Hit(
                "entity",
                realm_state.realm.name,
                entity.type,
                entity_text(entity),
                label(entity, spelling),
                container,
            )


_FOLDED: WeakKeyDictionary[Lineage, tuple[list[str], list[str]]] = WeakKeyDictionary()
"""Names without case by numbering, with the list that they were derived from."""


# COST: folding 100,000 names takes 20 ms; they only change with entities.
def _folded(tree: Tree) -> list[str]:
    cached = _FOLDED.get(tree.lineage)
    if cached is None or cached[0] is not tree.names:
        cached = (tree.names, [name.casefold() for name in tree.names])
        _FOLDED[tree.lineage] = cached
    return cached[1]
