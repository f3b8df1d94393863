"""Who may do an operation on an entity: the matrix read by column.

One pass over the rule with sets of users as truth values; no user is evaluated one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from operator import and_, or_

from pyroaring import BitMap

from lakewarden.kernel.algebra import Algebra
from lakewarden.kernel.entity import NO_RESOURCE
from lakewarden.kernel.expression import SELF, Compare, Node
from lakewarden.kernel.grants import Grant
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.memberships import Memberships
from lakewarden.kernel.named_place import NamedPlace
from lakewarden.kernel.point_evaluator import PointEvaluator, Spot
from lakewarden.kernel.principal import (
    ALL_USERS,
    ANY_GROUP,
    GROUP,
    SERVICE_ADMINS,
    USER,
    Principal,
)
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.kernel.subject import nobody


def who(matrix: Matrix, request: Request) -> frozenset[Principal]:
    """The stored users for whom the request would be allowed; its own principal is not read.

    Raises as `Matrix.decide`. Groups and active roles belong to one subject and are
    ignored here; sub-resources are not.
    """
    matrix.require(request.now)
    operation = matrix.operation(request.operation)
    snapshot, target = matrix.snapshot, request.target
    if target != NO_RESOURCE:
        snapshot.model.check_type(target.type)
    rule = operation.rule(target.type)
    place = snapshot.place(target)
    if target != NO_RESOURCE and not snapshot.is_judged(target, place):
        return frozenset()
    users = Users(snapshot, request).evaluate(rule, place)
    return frozenset(snapshot.coded.memberships.principals[id] for id in users)


class StoredUsers:
    """The stored users of a realm, and which of them act as whom. Sets are of principal ids."""

    def __init__(self, memberships: Memberships) -> None:
        self._acting = memberships
        users = BitMap([id for id in memberships.stored if memberships.principals[id].kind == USER])
        self.everyone = users - self._too_nested(users)
        self._acting_as: dict[int, BitMap] = {}

    def _too_nested(self, users: BitMap) -> BitMap:
        """Of the users, those who are denied because their chain of memberships is too long."""
        memberships = self._acting
        if not memberships.too_nested:
            return BitMap()
        return BitMap([id for id in users if memberships.is_too_nested(memberships.principals[id])])

    def of(self, principals: Iterable[int]) -> BitMap:
        """The stored users that act as any of the principals."""
        users = [self._users(id) for id in principals]
        return BitMap.union(*users) if users else BitMap()

    def _users(self, id: int) -> BitMap:
        users = self._acting_as.get(id)
        if users is None:
            users = self._acting_as[id] = self._reaching(id)
        return users

    def _reaching(self, id: int) -> BitMap:
        """Users whose closure contains the principal; implied sets are expanded to members."""
        members = self._acting.acting_as(id)
        users = BitMap(members) & self.everyone
        if self._acting.ids[ALL_USERS] in members:
            users = self.everyone
        elif self._acting.ids[ANY_GROUP] in members:
            users |= self._in_some_group()
        return users

    def _in_some_group(self) -> BitMap:
        groups = (i for i, p in enumerate(self._acting.principals) if p.kind == GROUP)
        reached = BitMap.union(BitMap(), *(BitMap(self._acting.acting_as(id)) for id in groups))
        return self.everyone if self._acting.ids[ALL_USERS] in reached else reached & self.everyone


class Users(Algebra[BitMap, Spot]):
    """Truth as the set of stored users (principal ids) for whom it holds."""

    def __init__(
        self, snapshot: Snapshot, request: Request, stored: StoredUsers | None = None
    ) -> None:
        """`stored` are the users of the snapshot, if the caller has them already."""
        self._snapshot = snapshot
        self._acting = snapshot.coded.memberships
        self._stored = StoredUsers(self._acting) if stored is None else stored
        self.everyone = self._stored.everyone
        self._point = PointEvaluator(snapshot, nobody(request.principal), request)
        self._request = request

    def all_of(self, values: Iterator[BitMap]) -> BitMap:
        return reduce(and_, values)

    def any_of(self, values: Iterator[BitMap]) -> BitMap:
        return reduce(or_, values)

    def constant(self, truth: bool, place: Spot) -> BitMap:
        return self.everyone if truth else BitMap()

    def of(self, principals: Iterable[int]) -> BitMap:
        """The stored users that act as any of the principals."""
        return self._stored.of(principals)

    def holds(self, privilege: str, place: Spot) -> BitMap:
        grants = self._snapshot.table.allows(privilege).every
        allowed = [self._opened(grant, place) for grant in self._grants_at(grants, place)]
        users = BitMap.union(BitMap(), *allowed) - self.denied(privilege, place)
        if privilege in self._snapshot.model.self_privileges:
            users |= self._self_user(place)
        return users

    def _grants_at(self, grants: Iterable[Grant], place: Spot) -> Iterator[Grant]:
        for grant in grants:
            if self._snapshot.lies_in(place, grant) and self._covers(grant):
                yield grant

    def _covers(self, grant: Grant) -> bool:
        return grant.constraint is None or all(
            self._point.covers(sub, grant.constraint) for sub in self._request.subresources
        )

    def _opened(self, grant: Grant, place: Spot) -> BitMap:
        users = self.of(grant.principals)
        if grant.owners is not None and isinstance(place, int):
            coded, types = self._snapshot.coded, grant.owners.types
            labels = None if types is None else {coded.label(type) for type in types}
            owners = (o for o, n in coded.owners.of(place) if labels is None or n in labels)
            users = users | self.of(owners)
        return users

    def _self_user(self, place: Spot) -> BitMap:
        principal = self._principal(place)
        if principal is None or principal.kind != USER:
            return BitMap()
        id = self._acting.ids.get(principal)
        return BitMap([] if id is None else [id]) & self.everyone

    def _principal(self, place: Spot) -> Principal | None:
        entity = (
            place.entity
            if isinstance(place, NamedPlace)
            else self._snapshot.coded.tree.entity(place)
        )
        kind = self._snapshot.model.principal_kind(entity)
        return None if kind is None else Principal(*kind)

    def denied(self, privilege: str, place: Spot) -> BitMap:
        """The stored users to whom some DENY of the privilege applies here."""
        grants = self._snapshot.table.denies(privilege).every
        covering = (grant for grant in grants if self._snapshot.lies_in(place, grant))
        return BitMap.union(BitMap(), *(self.of(grant.principals) for grant in covering))

    def not_denied(self, privilege: str, place: Spot) -> BitMap:
        return self.everyone - self.denied(privilege, place)

    def owner(self, levels: tuple[str, ...], place: Spot) -> BitMap:
        users = BitMap()
        for level in levels:
            at = place if level == SELF else self._point.ancestor(level, place)
            owners = self._snapshot.coded.owners.of(at) if isinstance(at, int) else ()
            users |= self.of(owner for owner, _ in owners)
        return users

    def is_self(self, place: Spot) -> BitMap:
        principal = self._principal(place)
        if principal is None or principal not in self._acting.ids:
            return BitMap()
        return self.of([self._acting.ids[principal]])

    def service_admin(self, place: Spot) -> BitMap:
        return self.of([self._acting.ids[SERVICE_ADMINS]])

    def may(self, operation: str, place: Spot) -> BitMap:
        rules = self._snapshot.model.operation(operation)
        rule = rules.rule_or_none(self._point.entity(place).type)
        return BitMap() if rule is None else self.evaluate(rule, place)

    def elsewhere(self, selector: str, inner: Node, place: Spot) -> BitMap:
        at = self._point.selected(selector, place)
        return BitMap() if at is None else self.evaluate(inner, at)

    def related(self, source: str, inner: Node, place: Spot, *, every: bool) -> BitMap:
        users = [
            BitMap() if at is None else self.evaluate(inner, at)
            for at in self._point.related_spots(source, place)
        ]
        if not users:
            return BitMap()
        return BitMap.intersection(*users) if every else BitMap.union(*users)

    def compare(self, node: Compare, place: Spot) -> BitMap:
        if not node.attribute.startswith("subject."):
            return self.constant(self._point.compare(node, place), place)
        principals = self._acting.principals
        return BitMap(
            [id for id in self.everyone if self._point.compare_for(node, place, principals[id])]
        )
