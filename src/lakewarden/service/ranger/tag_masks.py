"""Column masks by tags, as Ranger policies about tags, and the tags of resources.

A policy about a tag covers all resources that ever have it, including those that are not stored
here and those that others tag. Therefore it does not depend on the type of a column, and always
uses NULL. Stored resources have their own policies, which take precedence. Access is never granted
by tags: what is not stored is denied.
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
"""The relation to tags in models, and Ranger's name of the level of policies about tags."""

_NAMEABLE: Final = re.compile(r"[A-Za-z0-9_@#~=+.-]+")
"""Names of tags that Ranger takes literally; `:` is reserved for marks."""

_UNSAID: Final = "Ranger would read the name of the tag in another way"


@dataclass(frozen=True, slots=True)
class Tagged:
    """A resource of a service, by its levels from the outermost, and one of its tags."""

    tag: str
    resource: tuple[tuple[str, str], ...]


class TagMasks:
    """The masks of a realm that select only by tags, and the resources with these tags.

    A mask that depends on owners is left to the policies of resources, and so is a mask whose tag
    Ranger cannot name.
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
        """The names of the tags whose masks apply to the principal, regardless of the resource."""
        request = Request(principal, "", NO_RESOURCE, self._now)
        masks = obligations_anywhere(self._realm.matrix, request, Effect.MASK)
        tags = (tag for one in masks for tag in self._tags.get(one.id, ()))
        return frozenset(self._names[tag] for tag in tags if tag in self._names)

    def tagged(self) -> Iterator[Tagged]:
        """The resources that have the tags themselves; each pair once."""
        coded = self._realm.matrix.snapshot.coded
        for entity, name in sorted(self._names.items()):
            id, edges = coded.tree.find(entity), coded.relations[TAG]
            carriers = BitMap() if id is None else edges.sources_of(BitMap([id]))
            found = {path for carrier in carriers for path in self._resources(carrier)}
            for path in sorted(found):
                yield Tagged(name, path)

    # --- tags ---

    def _chosen(self, statement: Statement) -> Iterator[Entity]:
        """The tags of the metalake if a mask selects only by tags; else empty."""
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
        """The tags that Ranger can name: some of its stores ignore case in comparing names."""
        parts, names = self._realm.system.spelling.parts, dict[Entity, str]()
        tags = {tag for some in self._tags.values() for tag in some}
        known = [*map(self._folded, tags)]
        for tag in sorted(tags):
            if _NAMEABLE.fullmatch(parts(tag)[-1]) and known.count(self._folded(tag)) == 1:
                names[tag] = parts(tag)[-1]
            else:
                self._residues.add(Residue(_UNSAID, entity=str(tag)))
        return names

    def _folded(self, tag: Entity) -> str:
        return same_but_for_case(self._realm.system.spelling.parts(tag)[-1])

    # --- tagged resources ---

    @property
    def _levels(self) -> Sequence[str]:
        """The nested levels down to the one that is read, without unnamed ones."""
        reading = self._service.reading
        path = () if reading is None else self._service.path(self._service.levels[reading.reads])
        return [level.name for level in path if not level.hidden]

    def _resources(self, carrier: int) -> Iterator[tuple[tuple[str, str], ...]]:
        """What a policy can name of a tagged entity: itself, or the outermost places inside it."""
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
            self._residues.add(Residue(why, entity=str(entity)))
            return
        yield tuple(zip(named(self._service, level), (*place.path, own), strict=True))
