"""Column masks by tags, as policies of Ranger's that are about tags, and the tags of resources.

A policy about a tag is for all that ever has it, also what is not stored here and what others put
it on. So it is not for one type of column, and shows nothing: it says NULL. What is stored has
policies of its own, which come first. Access by tags is not given: what is not stored is denied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyroaring import BitMap

from lakewarden.engines.ranger_service import RangerService
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.obligations import obligations_anywhere
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Condition, Effect, Statement, Where
from lakewarden.names.letter_case import same_but_for_case
from lakewarden.service.ranger.definition import named
from lakewarden.service.ranger.limits import COLUMN_EXACTLY
from lakewarden.service.ranger.places import Places
from lakewarden.service.residue import Residue, Residues
from lakewarden.service.state import RealmState

TAG: Final = "tag"
"""The relation to tags in models, and what Ranger calls the level of policies about tags."""

_NAMEABLE: Final = re.compile(r"[A-Za-z0-9_@#~=+.-]+")
"""Names of tags that Ranger reads as they are; `:` is left to marks."""

_UNSAID: Final = "Ranger would read the name of the tag in another way"


@dataclass(frozen=True, slots=True)
class Tagged:
    """A resource of a service, by its levels from the outermost, and a tag that lies on it."""

    tag: str
    resource: tuple[tuple[str, str], ...]


class TagMasks:
    """The masks of a realm that choose by tags alone, and where these tags lie.

    A mask that asks who owns what it is about is left to the policies of resources, and so is one
    whose tag Ranger cannot name.
    """

    def __init__(
        self,
        realm: RealmState,
        service: RangerService,
        metalake: str,
        places: Places,
        residues: Residues,
        now: float,
    ) -> None:
        self._realm, self._service, self._metalake = realm, service, metalake
        self._places, self._residues, self._now = places, residues, now
        self._tags: dict[str, tuple[Entity, ...]] = {}
        for granted in realm.matrix.snapshot.table.obligations(Effect.MASK):
            tags = tuple(self._chosen(granted.statement))
            if tags:
                self._tags[granted.statement.id] = tags
        self._names = self._nameable_tags()

    def binding(self, principal: Principal) -> frozenset[str]:
        """The names of the tags whose masks bind the principal, whatever they lie on."""
        request = Request(principal, "", NO_RESOURCE, self._now)
        masks = obligations_anywhere(self._realm.matrix, request, Effect.MASK)
        tags = (tag for one in masks for tag in self._tags.get(one.id, ()))
        return frozenset(self._names[tag] for tag in tags if tag in self._names)

    def tagged(self) -> Iterator[Tagged]:
        """The resources that carry the tags themselves, each with each of them once."""
        coded = self._realm.matrix.snapshot.coded
        for entity, name in sorted(self._names.items()):
            id, edges = coded.tree.find(entity), coded.relations[TAG]
            carriers = BitMap() if id is None else edges.sources_of(BitMap([id]))
            found = {path for carrier in carriers for path in self._resources(carrier)}
            for path in sorted(found):
                yield Tagged(name, path)

    # --- which tags ---

    def _chosen(self, statement: Statement) -> Iterator[Entity]:
        """The tags of the metalake by which alone a mask chooses; none for another one."""
        scope = statement.scope
        if not isinstance(scope, Where) or len(scope.criteria) != 1:
            return
        (criterion,), model = scope.criteria, self._realm.matrix.snapshot.model
        field = model.fields[criterion.field]
        is_plain = field.origin == (TAG,) and field.inherited and not field.up | field.itself
        if not is_plain or criterion.condition is not Condition.EQUALS:
            return
        if statement.owners is not None or statement.except_owners is not None:
            why = (
                "who owns what a tag lies on is not known to Ranger, so that no policy is about it"
            )
            self._residues.add(Residue(why, statement=statement.id))
            return
        for value in criterion.values:
            for type in sorted(model.relations[TAG].targets):
                entity = Entity(type, value)
                parts = self._realm.system.spelling.parts(entity)
                if len(parts) == 2 and parts[0] == self._metalake:
                    yield entity

    def _nameable_tags(self) -> Mapping[Entity, str]:
        """The tags that Ranger can name: some stores of it take names for equal but for case."""
        parts, names = self._realm.system.spelling.parts, dict[Entity, str]()
        tags = {tag for some in self._tags.values() for tag in some}
        known = [*map(self._folded, tags)]
        for tag in sorted(tags):
            if _NAMEABLE.fullmatch(parts(tag)[-1]) and known.count(self._folded(tag)) == 1:
                names[tag] = parts(tag)[-1]
            else:
                self._residues.add(Residue(_UNSAID, entity=f"{tag.type}:{tag.name}"))
        return names

    def _folded(self, tag: Entity) -> str:
        return same_but_for_case(self._realm.system.spelling.parts(tag)[-1])

    # --- where they lie ---

    @property
    def _levels(self) -> Sequence[str]:
        """The levels that lie in one another down to what is read, without those left unnamed."""
        reading = self._service.reading
        path = () if reading is None else self._service.path(self._service.levels[reading.reads])
        return [level.name for level in path if not level.hidden]

    def _resources(self, carrier: int) -> Iterator[tuple[tuple[str, str], ...]]:
        """What a policy can name of something that carries a tag: itself, or the most inside."""
        tree = self._realm.matrix.snapshot.coded.tree
        for name in self._levels:
            level = self._service.levels[name]
            ids = tree.subtree(carrier) & self._places.ids(level)
            if ids:
                for id in ids:
                    path = self._places.of(level)[id].path
                    yield tuple(zip(named(self._service, level), path, strict=False))
                return
        yield from self._column(tree.entity(carrier))

    def _column(self, entity: Entity) -> Iterator[tuple[tuple[str, str], ...]]:
        snapshot, spelling = self._realm.matrix.snapshot, self._realm.system.spelling
        above = spelling.parent(entity)
        if not snapshot.model.types[entity.type].masked or above is None or not self._levels:
            return
        level, table = self._service.levels[self._levels[-1]], snapshot.coded.tree.find(above)
        own = spelling.parts(entity)[-1]
        place = None if table is None else self._places.of(level).get(table)
        if place is None:
            return
        if not COLUMN_EXACTLY.fullmatch(own):
            why = "Ranger would read the name of the column in another way, so it gets no tag"
            self._residues.add(Residue(why, entity=f"{entity.type}:{entity.name}"))
            return
        yield tuple(zip(named(self._service, level), (*place.path, own), strict=True))
