"""Policies of others in Ranger: what users of a realm hold through them, on stored entities.

Only policies that plainly state grants are read: a policy with denials, conditions or an end is
left out, and so is everything that a denial of others may be about. A wildcard stands for the
matching stored entities.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lakewarden.engines.mapping import EngineMapping
from lakewarden.engines.ranger_service import Level, RangerService
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.request import Request
from lakewarden.kernel.wildcard import is_pattern, matches
from lakewarden.pushdown.adopt import NotAdopted
from lakewarden.pushdown.drift import ForeignGrant
from lakewarden.pushdown.grants import Grant, Path
from lakewarden.pushdown.ranger.desired_state import Zones
from lakewarden.pushdown.ranger.drift import grantees, reached
from lakewarden.pushdown.ranger.state import (
    ACCESS,
    ALL,
    ANYBODY,
    EVERYBODY,
    ITEMS,
    ZONE_NAME,
    Held,
    depth,
    is_about_tags,
    policy_content,
    users_of,
)
from lakewarden.pushdown.ranger.tags import concerns
from lakewarden.pushdown.ranger.zones import Zone
from lakewarden.service.ranger.definition import named
from lakewarden.service.ranger.places import Naming, Place, Places
from lakewarden.service.residue import Residues
from lakewarden.service.state import RealmState

Json = dict[str, Any]

EVERYONE: Final = f"group-{EVERYBODY}"
"""The grantee that stands for everyone."""

_PLAIN: Final = frozenset(
    {"name", "type", "labels", "resources", "policyItems", "isAuditEnabled", ZONE_NAME}
)
"""The fields that a policy may have besides its grants."""

_PLAIN_ITEM: Final = frozenset({"accesses", "users", "groups", "roles", "delegateAdmin"})
_DENIES: Final = frozenset({"denyPolicyItems", "isDenyAllElse"})
_EVERY: Final = "all"
"""The access that implies every other one."""


@dataclass(frozen=True, slots=True)
class Holding:
    """What a grantee holds through a policy of others on one stored entity.

    `users` are users of the realm, `acts` what they may do by it, and `grant` what a policy of
    ours would grant instead.
    """

    policy: str
    grantee: str
    users: frozenset[str]
    entity: Entity
    path: Path
    grant: Grant
    acts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ForeignHoldings:
    """Holdings through policies of others, what is left out of them, and the effect of visibility.

    `seen` are the acts of a user who holds anything on a thing, by its path; `acts` those that
    some access stands for. `names` are the names of the policies that were read completely, that
    are only about stored entities, and only for users whom the realm knows.
    """

    holdings: Sequence[Holding]
    left: Sequence[NotAdopted]
    seen: Mapping[Path, frozenset[str]]
    acts: frozenset[str]
    names: frozenset[str]

    def grants(self, realm: RealmState, mapping: EngineMapping, now: float) -> list[ForeignGrant]:
        """The holdings as acts of the engine, with the users to whom the realm denies them."""
        found: dict[tuple[str, Grant], tuple[Entity, set[str]]] = {}
        for one in self.holdings:
            for act in one.acts:
                key = one.grantee, Grant(one.path, act)
                found.setdefault(key, (one.entity, set()))[1].update(one.users)
        grants = []
        for (grantee, grant), (entity, users) in sorted(found.items()):
            operation = mapping.operation(grant.privilege)
            denied = sorted(
                user
                for user in users
                if not realm.matrix.decide(
                    Request(realm.system.identities.user(user), operation, entity, now)
                ).allow
            )
            grants.append(ForeignGrant(grantee, grant, tuple(sorted(users)), tuple(denied)))
        return grants

    def managed_roles(self) -> list[ForeignGrant]:
        """The holdings as accesses of Ranger."""
        return [
            ForeignGrant(one.grantee, one.grant, tuple(sorted(one.users)), ())
            for one in self.holdings
        ]


@dataclass(frozen=True, slots=True)
class ServicePolicies:
    """The state of a service, and the realm and its `users` for which it is read."""

    realm: RealmState
    mapping: EngineMapping
    service: RangerService
    naming: Naming
    found: Held
    users: frozenset[str]
    zones: Zones


def foreign_holdings(policies: ServicePolicies) -> ForeignHoldings:
    """What users hold through the `others` found in the target's zone."""
    return _Reader(policies).others()


class _Reader:
    """Reads the policies of others in one zone of a service."""

    def __init__(self, of: ServicePolicies) -> None:
        self._realm, self._mapping, self._service = of.realm, of.mapping, of.service
        self._places = Places(of.realm, of.mapping, of.service, of.naming, Residues())
        self._users, self._zones, found = of.users, of.zones, of.found
        self._depth = 1 + bool(of.naming.governs)
        self._all_roles = {**found.other_roles, **found.roles}
        self._roles = users_of(self._all_roles)
        contents = [policy_content(one) for one in found.others]
        self._contents = [
            one
            for one in contents
            if one.get(ZONE_NAME, "") == of.zones.own and one.get("isEnabled", True)
        ]
        self._left: list[NotAdopted] = []
        self._is_denied_by_tag = False
        self._seen: dict[Path, frozenset[str]] = {}

    def others(self) -> ForeignHoldings:
        denials = [one for one in self._contents if _DENIES & one.keys()]
        about_tags = (one for one in denials if is_about_tags(one))
        self._is_denied_by_tag = any(concerns(self._service, one) for one in about_tags)
        denied = [Zone("", [_values(one)], folds=True) for one in denials]
        holdings: list[Holding] = []
        names: set[str] = set()
        for content in self._contents:
            why = self._rejection_reason(content, denied)
            if why:
                self._omit(content, why)
                continue
            holdings += self._holdings(content)
            if self._is_known(content):
                names.add(content["name"])
        acts = {act for one in self._service.accesses.values() for a in one.opens.values()
                for act in a}  # fmt: skip
        acts |= {act for level in self._service.levels.values() for act in level.any}
        return ForeignHoldings(holdings, self._left, self._seen, frozenset(acts), frozenset(names))

    def _is_known(self, content: Json) -> bool:
        """Whether it contains only grants on stored entities to users of the realm."""
        level = self._level(content)
        if level is None:
            return False
        keys = named(self._service, level)[: len(named(self._service, level)) - len(level.rest)]
        if any(map(is_pattern, (v for key in keys for v in content["resources"][key]["values"]))):
            return False
        for item in content.get(ITEMS[ACCESS], ()):
            opening = {name for name, _ in self._opening(item["accesses"], level)}
            if item.get("groups") or {*item["accesses"]} - opening:
                return False
            roles = frozenset(item.get("roles", ()))
            if self._has_unknown_members(roles) or not {*item.get("users", ())} <= self._users:
                return False
        return True

    def _has_unknown_members(self, roles: Iterable[str]) -> bool:
        """Whether one of the roles may have a member who is no user of the realm."""
        todo, seen = [*roles], set[str]()
        while todo:
            name = todo.pop()
            role = self._all_roles.get(name)
            if role is None or role.get("groups"):
                return True
            if not {one for one, _ in role.get("users", ())} <= self._users:
                return True
            seen.add(name)
            todo += [one for one, _ in role.get("roles", ()) if one not in seen]
        return False

    def _rejection_reason(self, content: Json, denied: Sequence[Zone]) -> str:
        if content["type"] != ACCESS:
            return "row filters and masks must be added in the realm"
        odd = sorted(content.keys() - _PLAIN)
        odd += [key for item in content.get(ITEMS[ACCESS], ()) for key in item.keys() - _PLAIN_ITEM]
        if odd:
            return f"it has {', '.join(dict.fromkeys(odd))}, which statements cannot express"
        if any(one.get("isExcludes") for one in content["resources"].values()):
            return "it excludes resources"
        if is_about_tags(content):
            return "it is about a tag, and the realm has no grants by tag"
        if self._is_denied_by_tag or any(one.may_overlap(content) for one in denied):
            return "a policy of others denies something there"
        return ""

    def _omit(self, content: Json, why: str) -> None:
        levels = [*content["resources"].values()]
        path = tuple(",".join(one["values"]) for one in levels)
        items: Sequence[Json] = content.get(ITEMS[content["type"]], ())
        for item in items:
            for who in grantees(item):
                access = " ".join(item.get("accesses", ())) or _EVERY
                self._left.append(NotAdopted(_called(who), Grant(path, access), why))

    # --- what a policy gives on what ---

    def _holdings(self, content: Json) -> Iterator[Holding]:
        found = self._level(content)
        if found is None:
            self._omit(content, "the realm has no entities of that kind")
            return
        places = [one for one in self._places.of(found).values() if self._is_about(content, one)]
        for item in content.get(ITEMS[ACCESS], ()):
            accesses = [*self._opening(item["accesses"], found)]
            for who in grantees(item):
                users = reached(who, self._users, self._roles)
                name = _called(who)
                if who.startswith("group ") and name != EVERYONE:
                    path, said = (content["name"],), " ".join(item["accesses"])
                    why = "the members of Ranger's groups are unknown"
                    self._left.append(NotAdopted(name, Grant(path, said), why))
                    continue
                for place in places if users else ():
                    for access, acts in accesses:
                        yield self._holding(content, name, users, found, place, access, acts)

    def _holding(
        self,
        content: Json,
        grantee: str,
        users: frozenset[str],
        level: Level,
        place: Place,
        access: str,
        acts: Sequence[str],
    ) -> Holding:
        entity = self._realm.matrix.snapshot.coded.tree.entity(place.id)
        path = tuple(self._realm.system.spelling.parts(entity))[self._depth :]
        self._seen[path] = frozenset(level.any)
        said = tuple(act for act in acts if entity.type in self._types(act))
        names = named(self._service, level)
        values = dict(zip(names, (*place.path, *(ALL for _ in level.rest)), strict=False))
        grant = Grant(tuple(values[one] for one in sorted(values, key=depth)), access)
        return Holding(content["name"], grantee, users, entity, path, grant, said)

    def _types(self, act: str) -> Iterable[str]:
        return self._realm.matrix.operation(self._mapping.operation(act)).rules

    def _level(self, content: Json) -> Level | None:
        """The level whose things a policy names as a whole; None for a part or another level."""
        keys = {*content["resources"]}
        for whole in (True, False):
            for level in self._service.levels.values():
                names = named(self._service, level)
                own = names if whole else names[: len(names) - len(level.rest)]
                if level.part and keys == {*own}:
                    rest = [content["resources"][one]["values"] for one in level.rest if whole]
                    return level if all(ALL in values for values in rest) else None
        return None

    def _opening(
        self, accesses: Sequence[str], level: Level
    ) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The accesses that open acts on a level, also those that `all` implies."""
        known = self._service.accesses
        names = known if _EVERY in accesses else [one for one in accesses if one in known]
        for name in names:
            if not known[name].never and level.name in known[name].opens:
                yield name, known[name].opens[level.name]

    def _is_about(self, content: Json, place: Place) -> bool:
        """Whether the policy grants the whole thing, in the target's zone."""
        keys = [*content["resources"]]
        level = self._level(content)
        if level is None:
            return False
        names = [one for one in named(self._service, level) if one in keys]
        values = [content["resources"][one]["values"] for one in names]
        above, own = place.above, place.own
        if not all(map(self._matches_any, values, above)):
            return False
        if not all(self._matches_any(values[len(above)], one) for one in own):
            return False
        for one in own:
            path = dict(zip(names, (*above, one), strict=False))
            rest = {level: [ALL] for level in names[len(above) + 1 :]}
            if not self._is_in_target_zone(
                {**{level: [value] for level, value in path.items()}, **rest}
            ):
                return False
        return True

    def _is_in_target_zone(self, place: Mapping[str, Sequence[str]]) -> bool:
        content = {"resources": {level: {"values": values} for level, values in place.items()}}
        if self._zones.own:
            return any(
                one.has(content) for one in self._zones.all or () if one.name == self._zones.own
            )
        return not any(one.may_overlap(content) for one in self._zones.all or ())

    def _matches_any(self, values: Sequence[str], name: str) -> bool:
        if name.startswith("/"):
            return any(
                one in (ALL, "/*", name)
                or (not is_pattern(one) and name.startswith(one.rstrip("/") + "/"))
                for one in values
            )
        folded = (lambda text: text.lower()) if self._service.folds else str
        return any(matches(folded(one), folded(name)) for one in values if one.isascii())


def _called(who: str) -> str:
    """The name of the grantee's role in the realm."""
    return EVERYONE if who == f"user {ANYBODY}" else who.replace(" ", "-", 1)


def _values(content: Json) -> Mapping[str, Sequence[str]]:
    """The resources that a policy may be about; an excluded level counts as everything."""
    excluded = {level for level, one in content["resources"].items() if one.get("isExcludes")}
    return {
        level: [ALL] if level in excluded else one["values"]
        for level, one in content["resources"].items()
    }


def redundant(others: ForeignHoldings, given: Mapping[Grant, frozenset[str]]) -> frozenset[str]:
    """The names of policies of others that are redundant: ours grant everything that they do.

    `given` has the users of each of our grants. A policy for a grantee unknown to the realm, or
    for everyone, is never redundant.
    """
    needed = {
        one.policy
        for one in others.holdings
        if one.grantee == EVERYONE or not one.users <= given.get(one.grant, frozenset())
    }
    used = {one.policy for one in others.holdings}
    return (others.names & used) - needed
