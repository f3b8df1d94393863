"""A link: two entities, usually of different realms, that are the same asset.

Links have no direction, and they are transitive: the assets form classes. A link says nothing about
access; it says which questions belong together.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput

MAX_CLASS: Final = 64
"""The most entities that may be one asset."""


class Asset(NamedTuple):
    """An entity of a realm."""

    realm: str
    entity: Entity

    def __str__(self) -> str:
        return f"{self.entity} in {self.realm}"


class Link(NamedTuple):
    """Two entities that are one asset; `one` is the lesser of the two, see `link`."""

    one: Asset
    other: Asset


def link(first: Asset, second: Asset) -> Link:
    """The link between the two, in either order; raises `BadInput` for an asset and itself.

    >>> a, b = Asset("cdap", Entity("dataset", "x.y")), Asset("lake", Entity("table", "l:c.x.y"))
    >>> link(a, b) == link(b, a) == Link(a, b)
    True
    """
    if first == second:
        raise BadInput(f"`{first}` is linked to itself")
    return Link(first, second) if first < second else Link(second, first)


@dataclass(frozen=True, slots=True)
class Links:
    """All links: by entity, the linked entities and the keeper of each link (empty: people)."""

    ends: Mapping[Asset, Mapping[Asset, str]] = field(default_factory=dict)

    @staticmethod
    def of(rows: Iterable[tuple[Link, str]]) -> Links:
        """The stored links, each with its keeper."""
        changes = LinkChanges(Links())
        for pair, keeper in rows:
            changes.put(pair, keeper)
        return changes.links()

    def keeper(self, of: Link) -> str | None:
        """The keeper of the link; None if there is no such link."""
        return self.ends.get(of.one, {}).get(of.other)

    def all(self) -> Iterator[tuple[Link, str]]:
        """Every link once, with its keeper, in order."""
        for asset in sorted(self.ends):
            for other, keeper in sorted(self.ends[asset].items()):
                if asset < other:
                    yield Link(asset, other), keeper

    def same(self, asset: Asset, realms: Container[str] | None = None) -> tuple[Asset, ...]:
        """The asset and all entities linked to it, directly or indirectly, sorted.

        With `realms`, no other realms are considered: links to other realms do not change the
        answer, even if two of these realms are linked only through another one.
        """
        reached, todo = {asset}, [asset]
        while todo:
            for other in self.ends.get(todo.pop(), ()):
                if other not in reached and (realms is None or other.realm in realms):
                    reached.add(other)
                    todo.append(other)
        return tuple(sorted(reached))


class LinkChanges:
    """A set of changes to links. Unchanged parts are shared with the previous links."""

    def __init__(self, before: Links) -> None:
        self._before = before
        self._ends: dict[Asset, Mapping[Asset, str]] | None = None
        self._own: dict[Asset, dict[Asset, str]] = {}

    def links(self) -> Links:
        """The current links."""
        return self._before if self._ends is None else Links(self._ends)

    def put(self, new: Link, keeper: str) -> None:
        """Stores the link; it now has this keeper."""
        for at, to in (new, new[::-1]):
            self._at(at)[to] = keeper

    def drop(self, old: Link) -> None:
        """Removes the link, if it exists."""
        for at, to in (old, old[::-1]):
            if to in self._now().get(at, ()):
                self._at(at).pop(to)
                self._forget(at)

    def drop_asset(self, asset: Asset) -> None:
        """Removes all links of an entity."""
        for other in list(self._now().get(asset, ())):
            self.drop(link(asset, other))

    def rename_asset(self, old: Asset, new: Asset) -> None:
        """Moves the links of an entity to its new name."""
        for other, keeper in list(self._now().get(old, {}).items()):
            self.drop(link(old, other))
            self.put(link(new, other), keeper)

    def drop_realm(self, realm: str) -> None:
        """Removes all links of entities of a realm."""
        for asset in [asset for asset in self._now() if asset.realm == realm]:
            self.drop_asset(asset)

    def _now(self) -> Mapping[Asset, Mapping[Asset, str]]:
        return self._before.ends if self._ends is None else self._ends

    def _at(self, asset: Asset) -> dict[Asset, str]:
        """The linked entities of an asset, in a mutable copy."""
        if self._ends is None:
            # COST: one pass over all linked entities for each write that changes links.
            self._ends = dict(self._before.ends)
        if asset not in self._own:
            self._own[asset] = dict(self._ends.get(asset, {}))
            self._ends[asset] = self._own[asset]
        return self._own[asset]

    def _forget(self, asset: Asset) -> None:
        if self._ends is not None and not self._ends[asset]:
            del self._ends[asset]
            self._own.pop(asset, None)
