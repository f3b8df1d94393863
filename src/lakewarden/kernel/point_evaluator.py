"""One subject, one place: a rule evaluated by walking it.

Used where a row leaves the answer open (ownership, relations, what comes with the request)
and for names that are not stored. Work is counted; a rule that needs too much is an error,
and an error is never an allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyroaring import BitMap

from lakewarden.kernel.algebra import Algebra
from lakewarden.kernel.blocks import Named, Stored
from lakewarden.kernel.cells import ALLOWED, DENIED, OWNERS
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import LimitExceeded
from lakewarden.kernel.expression import ANCESTORS, REQUEST, SELF, Compare, Node
from lakewarden.kernel.facts import ROOT
from lakewarden.kernel.grants import Grant
from lakewarden.kernel.model import AttributeType, Source
from lakewarden.kernel.named_place import NamedPlace
from lakewarden.kernel.principal import SERVICE_ADMINS, USER, Principal
from lakewarden.kernel.request import Request, Scalar
from lakewarden.kernel.scopes import matching_resources
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.kernel.statement import Criterion, Owners
from lakewarden.kernel.subject import Subject

WORK_LIMIT = 200_000
"""How many nodes the evaluation of one request may visit."""

EVERY_SUBRESOURCE = "urn:li:allEntities:all"
"""The sub-resource that stands for any: it meets every constraint.
SOURCE: DataHub, PolicyEngine; datahub reference 3.8."""

Spot = int | NamedPlace


class PointEvaluator(Algebra[bool, Spot]):
    """The truth of rules for one subject and one request."""

    def __init__(self, snapshot: Snapshot, subject: Subject, request: Request | None) -> None:
        self._snapshot = snapshot
        self._subject = subject
        self._request = request
        self._work = WORK_LIMIT

    def evaluate(self, node: Node, place: Spot) -> bool:
        self._work -= 1
        if self._work < 0:
            raise LimitExceeded(f"the rule needs more than {WORK_LIMIT} steps")
        return super().evaluate(node, place)

    def all_of(self, values: Iterator[bool]) -> bool:
        return all(values)

    def any_of(self, values: Iterator[bool]) -> bool:
        return any(values)

    def constant(self, truth: bool, place: Spot) -> bool:
        return truth

    def holds(self, privilege: str, place: Spot) -> bool:
        if self._is_self(privilege, place):
            return True
        return not self.denied(privilege, place) and self.is_granted(privilege, place)

    def is_granted(self, privilege: str, place: Spot) -> bool:
        """Whether some ALLOW gives the privilege here, for every sub-resource of the request.

        One statement alone must cover all sub-resources; statements do not add up.
        """
        if self._request is None or not self._request.subresources:
            return self._allowed(privilege, place)
        return any(
            grant.constraint is None or self._subresources_match(grant.constraint)
            for grant in self.allowing(privilege, place)
        )

    def _is_self(self, privilege: str, place: Spot) -> bool:
        if privilege not in self._snapshot.model.self_privileges:
            return False
        principal = self._snapshot.model.principal_kind(self.entity(place))
        return principal is not None and principal[0] == USER and self._is(principal)

    def _is(self, principal: tuple[str, str]) -> bool:
        return Principal(*principal) == self._subject.principal

    def _allowed(self, privilege: str, place: Spot) -> bool:
        if isinstance(place, int):
            bits = self._snapshot.cells(privilege, self._subject).at(place)
            if bits & ALLOWED or not bits & OWNERS or place not in self._subject.owned:
                return bool(bits & ALLOWED)
        return any(True for _ in self.allowing(privilege, place))

    def denied(self, privilege: str, place: Spot) -> bool:
        """Whether some DENY of the privilege applies to the subject here."""
        if isinstance(place, int):
            return bool(self._snapshot.cells(privilege, self._subject).at(place) & DENIED)
        return any(True for _ in self.denying(privilege, place))

    def denying(self, privilege: str, place: Spot) -> Iterator[Grant]:
        """The DENYs of the privilege in force that apply to the subject here."""
        for grant in self._snapshot.table.denies(privilege).of(self._subject.deny):
            if self._snapshot.lies_in(place, grant):
                yield grant

    def allowing(self, privilege: str, place: Spot) -> Iterator[Grant]:
        """The ALLOWs in force that give the privilege here, ignoring constraints."""
        snapshot, grants = self._snapshot, self._snapshot.table.allows(privilege)
        bits = ALLOWED | OWNERS
        if isinstance(place, int):
            bits = snapshot.cells(privilege, self._subject).at(place)
        if bits & ALLOWED:
            for grant in grants.of(self._subject.allow):
                if snapshot.lies_in(place, grant):
                    yield grant
        if bits & OWNERS:
            for grant in grants.to_owners:
                if snapshot.lies_in(place, grant) and self._owns_as(grant.owners, place):
                    yield grant

    def _owns_as(self, clause: Owners | None, place: Spot) -> bool:
        if clause is None or not isinstance(place, int):
            return False
        return self._snapshot.owns_as(self._subject, clause, place)

    def _subresources_match(self, constraint: tuple[Criterion, ...]) -> bool:
        request = self._request
        return request is not None and all(
            self.covers(sub, constraint) for sub in request.subresources
        )

    def covers(self, entity: Entity, criteria: tuple[Criterion, ...]) -> bool:
        """Whether every criterion holds on the sub-resource, or it stands for any sub-resource."""
        return entity.name == EVERY_SUBRESOURCE or self._matches_criteria(entity, criteria)

    def _matches_criteria(self, entity: Entity, criteria: tuple[Criterion, ...]) -> bool:
        place = self._snapshot.place(entity)
        if isinstance(place, NamedPlace):
            return bool(matching_resources(Named(self._snapshot.coded, entity), criteria))
        return bool(matching_resources(Stored(self._snapshot.coded, BitMap([place])), criteria))

    def not_denied(self, privilege: str, place: Spot) -> bool:
        return not self.denied(privilege, place)

    def owner(self, levels: tuple[str, ...], place: Spot) -> bool:
        return any(self._owns(level, place) for level in levels)

    def _owns(self, level: str, place: Spot) -> bool:
        at = place if level == SELF else self.ancestor(level, place)
        return isinstance(at, int) and at in self._subject.owned

    def is_self(self, place: Spot) -> bool:
        principal = self._snapshot.model.principal_kind(self.entity(place))
        return principal is not None and Principal(*principal) in self._subject.named

    def service_admin(self, place: Spot) -> bool:
        return SERVICE_ADMINS in self._subject.named

    def may(self, operation: str, place: Spot) -> bool:
        rules = self._snapshot.model.operation(operation)
        rule = rules.rule_or_none(self.entity(place).type)
        return rule is not None and self.evaluate(rule, place)

    def elsewhere(self, selector: str, inner: Node, place: Spot) -> bool:
        at = self.selected(selector, place)
        return at is not None and self.evaluate(inner, at)

    def selected(self, selector: str, place: Spot) -> Spot | None:
        """The place that a selector leads to, or None."""
        if selector.startswith(REQUEST):
            return self._request_target(selector.removeprefix(REQUEST))
        match selector:
            case "platform":
                return ROOT
            case "type":
                return self.spot(Entity(self.entity(place).type, ""))
            case "parent":
                return next(self._ancestors(place), None)
            case _:
                return self.ancestor(selector, place)

    def _request_target(self, target: str) -> Spot | None:
        entity = None if self._request is None else self._request.targets.get(target)
        return None if entity is None else self.spot(entity)

    def spot(self, entity: Entity) -> Spot | None:
        """The place of the entity; None where the model denies entities that are not stored."""
        place = self._snapshot.place(entity)
        if entity != NO_RESOURCE and not self._snapshot.is_judged(entity, place):
            return None
        return place

    def _ancestors(self, place: Spot) -> Iterator[Spot]:
        if isinstance(place, int):
            yield from self._snapshot.coded.tree.ancestors(place)
        else:
            yield from map(self._snapshot.place, place.ancestors)

    def ancestor(self, type: str, place: Spot) -> Spot | None:
        """The ancestor-or-self of a type, or None."""
        if self.entity(place).type == type:
            return place
        chain = self._ancestors(place)
        return next((at for at in chain if self.entity(at).type == type), None)

    def entity(self, place: Spot) -> Entity:
        """The entity at a place."""
        if isinstance(place, NamedPlace):
            return place.entity
        return self._snapshot.coded.tree.entity(place)

    def related(self, source: str, inner: Node, place: Spot, *, every: bool) -> bool:
        spots = list(self.related_spots(source, place))
        truths = (at is not None and self.evaluate(inner, at) for at in spots)
        return bool(spots) and (all(truths) if every else any(truths))

    def related_spots(self, source: str, place: Spot) -> Iterator[Spot | None]:
        """The places that a relation, or a list of the request, leads to."""
        if source == ANCESTORS:
            yield from self._ancestors(place)
        elif source.startswith(REQUEST):
            lists: Mapping[str, tuple[Entity, ...]] = self._request.lists if self._request else {}
            for entity in lists.get(source.removeprefix(REQUEST), ()):
                yield self.spot(entity)
        elif isinstance(place, int):
            within = self._snapshot.model.relations[source].within
            deep = self._snapshot.coded.tree.deep
            for target, _ in self._snapshot.coded.relations[source].of(place):
                type = self.entity(target).type
                at = self.ancestor(within[type], target) if type in within else target
                yield None if isinstance(at, int) and at in deep else at

    def compare(self, node: Compare, place: Spot) -> bool:
        return self.compare_for(node, place, self._subject.principal)

    def compare_for(self, node: Compare, place: Spot, principal: Principal) -> bool:
        """As `compare`, with the stored attributes of `principal`."""
        value = self._attribute(node.attribute, place, principal)
        if value is None:
            return False
        if isinstance(node.value, tuple):
            return value in node.value
        return (value == node.value) is (node.operator == "==")

    def _request_attribute(self, name: str, kind: AttributeType) -> Scalar | None:
        """The value that the request sends; None if it is not of the declared type."""
        value = self._request.attributes.get(name) if self._request is not None else None
        kinds = (float, int) if kind is float else (kind,)
        return value if value.__class__ in kinds else None

    def _attribute(self, name: str, place: Spot, principal: Principal) -> Scalar | None:
        declared = self._snapshot.model.attributes[name]
        requested = self._request_attribute(name, declared.type)
        if declared.source is Source.REQUEST or (
            requested is not None and declared.source is Source.REQUEST_OVER_STORED
        ):
            return requested
        return self._snapshot.stored_attribute(name, place, principal)
