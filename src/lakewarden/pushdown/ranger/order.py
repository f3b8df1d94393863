"""The requests from the current to the wanted state of a Ranger service, without opening more.

Ranger has no transactions, so plugins may download the state after any request. Each request
replaces one object, and this is their order:

1. Roles are created, which no policy names yet.
2. Unwanted access is removed. If filters or masks of a table change, only the access that both
   sides grant stays; if somebody changed a role, or altered a limit beyond its items, the access
   is disabled meanwhile. Without filters and masks, a changing role keeps what both sides grant.
3. Masks are added, while the current ones still apply. If a filter of the table changes, too, the
   changing masks show nothing until step 6.
4. Roles that somebody changed are restored to what their names say.
5. Filters are set to the wanted ones: a reader has one condition, the old or the new one.
6. Unwanted masks are removed.
7. Access is added.
8. Roles that none of our policies uses any more are deleted.

Tags are put on resources after masks are added, and removed before masks are. They only bring
masks that show nothing: no tag is put anywhere if a policy of others refers to it.

So at every moment a reader has a grant of the old or the new state, with masks of both and a
filter of either.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

from lakewarden.pushdown.ranger.state import ACCESS, FILTER, ITEMS, MASK, Held, Json, overlaps
from lakewarden.service.ranger.definition import MASKS

_MASKS: Final = ITEMS[MASK]


class RangerAct(StrEnum):
    """The action of a request."""

    DELETE_FOREIGN = "delete policy of others"
    NARROW_POLICY = "narrow policy"
    DELETE_POLICY = "delete policy"
    CREATE_POLICY = "create policy"
    UPDATE_POLICY = "update policy"
    CREATE_ROLE = "create role"
    UPDATE_ROLE = "update role"
    DELETE_ROLE = "delete role"
    TAG_RESOURCE = "tag resource"
    UNTAG_RESOURCE = "untag resource"
    DELETE_TAG = "delete tag"
    DELETE_RESOURCE = "delete tagged resource"


_KINDS: Final[Mapping[RangerAct, str]] = {
    RangerAct.DELETE_FOREIGN: "foreign",
    RangerAct.CREATE_ROLE: "role",
    RangerAct.UPDATE_ROLE: "role",
    RangerAct.DELETE_ROLE: "role",
    RangerAct.TAG_RESOURCE: "tagged",
    RangerAct.UNTAG_RESOURCE: "tagged",
    RangerAct.DELETE_TAG: "tag",
    RangerAct.DELETE_RESOURCE: "resource",
}
"""The objects of acts that are not on a policy."""

TAG_ACTS: Final = frozenset({
    RangerAct.TAG_RESOURCE, RangerAct.UNTAG_RESOURCE, RangerAct.DELETE_TAG,
    RangerAct.DELETE_RESOURCE,
})  # fmt: skip
ROLE_ACTS: Final = frozenset({RangerAct.CREATE_ROLE, RangerAct.UPDATE_ROLE, RangerAct.DELETE_ROLE})


@dataclass(frozen=True, slots=True)
class RangerStep:
    """One request: the content of an object after it; None if it is deleted.

    The name of a policy of others is its id.
    """

    act: RangerAct
    name: str
    content: Json | None = None

    @property
    def key(self) -> str:
        """The key of the object in `Held.objects`."""
        return f"{_KINDS.get(self.act, 'policy')} {self.name}"


def steps(held: Held, desired: Held) -> Sequence[RangerStep]:
    """The requests in their order."""
    return [*_Order(held, desired).steps()]


class _Order:
    """Computes the requests of one push."""

    def __init__(self, held: Held, desired: Held) -> None:
        self._held, self._wanted = held, desired
        self._between: dict[str, Json] = {}

    def steps(self) -> Iterator[RangerStep]:
        yield from self._new_roles()
        yield from self._removal_steps()
        yield from self._more_masks()
        yield from self._tag()
        yield from self._changed_roles()
        yield from self._replaced(FILTER)
        yield from self._untag()
        yield from self._replaced(MASK)
        yield from self._replaced(ACCESS)
        yield from self._old_roles()
        yield from self._old_tags()

    # --- what changes ---

    @cached_property
    def _altered_roles(self) -> frozenset[str]:
        """The roles that somebody changed, and the roles that contain them."""
        before, after = self._held.roles, self._wanted.roles
        dirty = {name for name in before.keys() & after.keys() if before[name] != after[name]}
        inside = {name: _member_roles(role) for name, role in (*before.items(), *after.items())}
        todo = [*dirty]
        while todo:
            one = todo.pop()
            for name, inner in inside.items():
                if one in inner and name not in dirty:
                    dirty.add(name)
                    todo.append(name)
        return frozenset(dirty)

    @cached_property
    def _has_limits(self) -> bool:
        """Whether there are filters or masks, before or after."""
        both = (*self._held.policies.values(), *self._wanted.policies.values())
        return any(one["type"] != ACCESS for one in both)

    @cached_property
    def _changing(self) -> Sequence[Json]:
        """The filters and masks that change, before and after."""
        before, after = self._held.policies, self._wanted.policies
        names = [
            name
            for name in {**before, **after}
            if _unlabelled(before.get(name)) != _unlabelled(after.get(name))
        ]
        both = (side.get(name) for name in names for side in (before, after))
        return [one for one in both if one is not None and one["type"] != ACCESS]

    @cached_property
    def _altered_limits(self) -> Sequence[Json]:
        """The filters and masks that somebody changed beyond their items, or through a role."""
        before, after = self._held.policies, self._wanted.policies
        found = []
        for name in {**before, **after}:
            sides = [side[name] for side in (before, after) if name in side]
            if all(one["type"] == ACCESS for one in sides):
                continue
            is_odd = len(sides) > 1 and _rest(sides[0]) != _rest(sides[1])
            if is_odd or any(self._altered_roles & _roles(one) for one in sides):
                found += sides
        return found

    # --- policies ---

    def _removal_steps(self) -> Iterator[RangerStep]:
        narrowed = []
        for name, content in sorted(self._of(ACCESS, self._held.policies).items()):
            after = self._wanted.policies.get(name)
            if after is None:
                yield RangerStep(RangerAct.DELETE_POLICY, name)
                continue
            less = self._reduced(content, after)
            if less is not None and less != content:
                self._between[name] = less
                narrowed.append(RangerStep(RangerAct.NARROW_POLICY, name, less))
        yield from narrowed

    def _reduced(self, before: Json, after: Json) -> Json | None:
        """The policy until access is added; None if it can wait until then."""
        if not before.get("isEnabled", True):
            return None
        is_dirty = bool(self._altered_roles & (_roles(before) | _roles(after)))
        if is_dirty and not self._has_limits and _rest(before) == _rest(after):
            kept = _common(before, after)
            is_plain = len(kept) == len(_pairs(before)) and _is_plain(before)
            return None if is_plain else _of_pairs(after, kept)
        if is_dirty or any(overlaps(one, limit) for one in (before, after)
                           for limit in self._altered_limits):  # fmt: skip
            return {**after, "isEnabled": False}
        if before == after:
            return None
        if _rest(before) != _rest(after):
            return {**after, "isEnabled": False}
        kept = _common(before, after)
        if kept == _pairs(after):
            return after
        if any(overlaps(after, limit) for limit in self._changing):
            return _of_pairs(after, kept)
        return None

    def _more_masks(self) -> Iterator[RangerStep]:
        """Masks with the items of both sides: a user in either of them has the mask.

        If a filter changes, too, the changing masks show nothing meanwhile: otherwise the rows of
        one side would appear with the values of the other.
        """
        held, desired = self._held.policies, self._of(MASK, self._wanted.policies)
        for name in sorted({**self._of(MASK, held), **desired}):
            before, after = held.get(name), desired.get(name)
            both = self._between_masks(before, after)
            if both is None or both == before:
                continue
            self._between[name] = both
            act = RangerAct.CREATE_POLICY if before is None else RangerAct.UPDATE_POLICY
            yield RangerStep(act, name, both)

    def _between_masks(self, before: Json | None, after: Json | None) -> Json | None:
        """The mask until masks are removed; None if it waits until then."""
        side = before if after is None else after
        if side is None or before == after:
            return None
        hides = any(overlaps(side, one) for one in self._changing if one["type"] == FILTER)
        if after is None:
            return _with_hidden_values(side, ()) if hides else None
        if before is None:
            return _with_hidden_values(after, ()) if hides else after
        if _rest(before) != _rest(after):
            return after
        kept = before.get(_MASKS, ())
        more = [one for one in kept if one not in after[_MASKS]]
        both = {**after, _MASKS: [*after[_MASKS], *more]}
        return (
            _with_hidden_values(both, [one for one in kept if one in after[_MASKS]])
            if hides
            else both
        )

    def _replaced(self, type: int) -> Iterator[RangerStep]:
        """Replaces the policies of a type by the wanted ones."""
        held, desired = self._held.policies, self._of(type, self._wanted.policies)
        for name in sorted(self._of(type, held)) if type != ACCESS else ():
            if name not in desired:
                yield RangerStep(RangerAct.DELETE_POLICY, name)
        for name, after in sorted(desired.items()):
            now = self._between.get(name, held.get(name))
            if now is None and type != MASK:
                yield RangerStep(RangerAct.CREATE_POLICY, name, after)
            elif now is not None and now != after:
                yield RangerStep(RangerAct.UPDATE_POLICY, name, after)

    def _of(self, type: int, policies: Mapping[str, Json]) -> Mapping[str, Json]:
        """The policies of a type; one whose type was altered counts as the type that is wanted."""
        return {
            name: one
            for name, one in policies.items()
            if self._wanted.policies.get(name, one)["type"] == type
        }

    # --- tags ---

    def _tag(self) -> Iterator[RangerStep]:
        for name, content in sorted(self._wanted.tagged.items()):
            if name not in self._held.tagged:
                yield RangerStep(RangerAct.TAG_RESOURCE, name, content)

    def _untag(self) -> Iterator[RangerStep]:
        for name in sorted(self._held.tagged.keys() - self._wanted.tagged.keys()):
            yield RangerStep(RangerAct.UNTAG_RESOURCE, name)

    def _old_tags(self) -> Iterator[RangerStep]:
        """Our resources and tags that are unused; an interrupted push may have left some."""
        found, tagged = self._held.tags, self._wanted.tagged
        for key in sorted(found.own - {name.partition(" ")[2] for name in tagged}):
            yield RangerStep(RangerAct.DELETE_RESOURCE, key)
        for tag in sorted(found.old - {one["tag"] for one in tagged.values()}):
            yield RangerStep(RangerAct.DELETE_TAG, tag)

    # --- roles ---

    def _new_roles(self) -> Iterator[RangerStep]:
        roles = self._wanted.roles
        for name in _members_first(roles, (name for name in roles if name not in self._held.roles)):
            yield RangerStep(RangerAct.CREATE_ROLE, name, roles[name])

    def _changed_roles(self) -> Iterator[RangerStep]:
        before, after = self._held.roles, self._wanted.roles
        changed = (name for name in after if name in before and before[name] != after[name])
        for name in _members_first(after, changed):
            yield RangerStep(RangerAct.UPDATE_ROLE, name, after[name])

    def _old_roles(self) -> Iterator[RangerStep]:
        before, after = self._held.roles, self._wanted.roles
        gone = _members_first(before, (name for name in before if name not in after))
        for name in reversed(gone):
            yield RangerStep(RangerAct.DELETE_ROLE, name)


def _member_roles(role: Json) -> frozenset[str]:
    return frozenset(name for name, _ in role.get("roles", ()))


def _with_hidden_values(content: Json, kept: Collection[Json]) -> Json:
    """A mask that shows nothing to the users of its items, except for the kept items."""
    items = [*kept]
    for one in content.get(_MASKS, ()):
        hidden = {**one, "mask": {"dataMaskType": MASKS[0]}}
        if one not in kept and hidden not in items:
            items.append(hidden)
    return {**content, _MASKS: items}


def _roles(content: Json) -> frozenset[str]:
    items = content.get(ITEMS[content["type"]], ())
    return frozenset(role for item in items for role in item.get("roles", ()))


def _rest(content: Json) -> Json:
    """The parts of a policy other than its items, and its labels, which have no effect."""
    items = ITEMS[content["type"]]
    return {key: value for key, value in _unlabelled(content).items() if key != items}


def _unlabelled(content: Json | None) -> Json:
    return {key: value for key, value in (content or {}).items() if key != "labels"}


_Pair = tuple[str, str, str]
_PLAIN: Final = frozenset({"accesses", "users", "groups", "roles"})


def _pairs(content: Json) -> frozenset[_Pair]:
    """The grantees of the items and their accesses. Items with other fields are skipped."""
    return frozenset(
        (kind, who, access)
        for item in content.get(ITEMS[ACCESS], ())
        if not {*item} - _PLAIN
        for kind in ("users", "groups", "roles")
        for who in item.get(kind, ())
        for access in item["accesses"]
    )


def _is_plain(content: Json) -> bool:
    """Whether its items contain only grantees and accesses."""
    return not any({*item} - _PLAIN for item in content.get(ITEMS[ACCESS], ()))


def _common(before: Json, after: Json) -> frozenset[_Pair]:
    return _pairs(before) & _pairs(after)


def _of_pairs(after: Json, pairs: Collection[_Pair]) -> Json:
    by_who: dict[tuple[str, str], list[str]] = {}
    for kind, who, access in sorted(pairs):
        by_who.setdefault((kind, who), []).append(access)
    items = [{"accesses": each, kind: [who]} for (kind, who), each in by_who.items()]
    if not items:  # Ranger accepts no policy without items
        return {**after, "isEnabled": False}
    return {**after, ITEMS[ACCESS]: items}


def _members_first(roles: Mapping[str, Json], names: Iterable[str]) -> list[str]:
    """The names, sorted so that a role comes after the roles in it."""
    desired, done = [*names], dict[str, None]()

    def add(name: str, above: frozenset[str]) -> None:
        if name in done or name in above:
            return
        for inner in sorted(_member_roles(roles.get(name, {}))):
            add(inner, above | {name})
        done[name] = None

    for name in sorted(desired):
        add(name, frozenset())
    chosen = {*desired}
    return [name for name in done if name in chosen]
