"""The paths to one asset: its entities in the realms, and who may do what on each.

The asset is an entity of a realm, with all entities linked to it. A path is an operation on one of
these: one that the model declares for an access level (see, read, change), or any of its
operations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.model import WAYS
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.who import who
from lakewarden.service.actor import Actor
from lakewarden.service.cancellation import checked
from lakewarden.service.control import Denied
from lakewarden.service.cross_realm import candidate_assets, person
from lakewarden.service.input_field import in_field
from lakewarden.service.link import Asset
from lakewarden.service.links import asset
from lakewarden.service.realm_selection import RealmSelection, right, selected_realms
from lakewarden.service.state import State

_ACCESS = "entity.access"


@dataclass(frozen=True, slots=True, order=True)
class AssetPath:
    """An operation of a realm on one of its entities; `way` is empty if no level was requested."""

    asset: Asset
    way: str
    operation: str


@dataclass(frozen=True, slots=True)
class AssetQuestion:
    """The asset, the realms, and the requested access levels or operations.

    `text` names an entity of `home`, or of the only realm that may have it; `realms` None means all
    of the directory. `operations` are used instead of `ways`; () means every operation of the
    entity's type.
    """

    text: str
    home: str | None = None
    realms: Sequence[str] | None = None
    ways: Sequence[str] = WAYS
    operations: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class AssetPaths:
    """The entities of the asset, the paths to it in order, and the realms that are left out."""

    assets: tuple[Asset, ...]
    paths: tuple[AssetPath, ...]
    left_out: tuple[str, ...]


def asset_paths(
    state: State, actor: Actor, question: AssetQuestion, now: float
) -> AssetPaths | Denied:
    """The paths to an asset that the caller may ask about.

    Raises `BadInput` that names the field for an asset that several realms or no realm may have,
    and for an unknown access level or operation. The result does not depend on what is stored.
    """
    for way in question.ways:
        if way not in WAYS:
            message = f"unknown access level `{way}`; expected one of: {', '.join(WAYS)}"
            raise BadInput(message, where="ways")
    with in_field("realms"):
        may = right(state, actor, now, _ACCESS)
        where = selected_realms(state, actor, question.realms, now, may, _ACCESS)
    if isinstance(where, Denied):
        return where
    with in_field("asset"):
        start = _start(state, where, question)
    same = state.links.same(start, where.passing)
    assets = tuple(asset for asset in same if asset.realm in where.realms)
    _check_operations(state, where, question)
    paths = tuple(path for asset in assets for path in _paths(state, asset, question))
    return AssetPaths(assets, paths, where.left_out)


def users_of(state: State, path: AssetPath, now: float) -> frozenset[Principal]:
    """The stored users for whom the path is open."""
    request = Request(Principal(USER, ""), path.operation, path.asset.entity, now)
    return who(state.realm(path.asset.realm).matrix, request)


def open_paths(
    state: State, paths: Sequence[AssetPath], now: float
) -> dict[str, list[tuple[AssetPath, Principal]]]:
    """The open paths by person, each with the user in the spelling of its realm."""
    by_person: dict[str, list[tuple[AssetPath, Principal]]] = {}
    for path in checked(paths, every=1):
        system = state.realm(path.asset.realm).system
        for principal in users_of(state, path, now):
            by_person.setdefault(person(system, principal), []).append((path, principal))
    return by_person


def _start(state: State, where: RealmSelection, question: AssetQuestion) -> Asset:
    """The only entity that the text names among the realms."""
    text, home = question.text, question.home
    if home is not None:
        if home not in where.passing:
            hint = "none of the realms that you may query contains it"
            raise BadInput(str(Unknown("asset", text, hint)), where="realm")
        return asset(state, (home, text))
    candidates = candidate_assets(state, where, text)
    if len(candidates) > 1:
        names = ", ".join(candidate.realm for candidate in candidates)
        raise BadInput(f"several realms may contain `{text}`: {names}; name the realm")
    return candidates[0]


def _check_operations(state: State, where: RealmSelection, question: AssetQuestion) -> None:
    for name in question.operations or ():
        if not any(name in state.realm(realm).system.model.operations for realm in where.realms):
            message = str(Unknown("operation", name, "none of the realms contains it"))
            raise BadInput(message, where="operations")


def _paths(state: State, of: Asset, question: AssetQuestion) -> Iterator[AssetPath]:
    model = state.realm(of.realm).system.model
    if question.operations is None:
        for way in WAYS:
            operation = model.reaching(way, of.entity.type) if way in question.ways else None
            if operation is not None:
                yield AssetPath(of, way, operation)
        return
    for name, declared in model.operations.items():
        is_asked = not question.operations or name in question.operations
        if is_asked and declared.rule_or_none(of.entity.type) is not None:
            yield AssetPath(of, "", name)
