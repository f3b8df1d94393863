"""What others changed in our policies and roles, and what policies of others grant."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from lakewarden.kernel.wildcard import is_pattern, matches
from lakewarden.pushdown.drift import ADDED, MISSING, Difference, ForeignGrant
from lakewarden.pushdown.grants import Grant
from lakewarden.pushdown.ranger.marks import digest_of
from lakewarden.pushdown.ranger.state import (
    ACCESS,
    ALL,
    ALL_BUT,
    ANYBODY,
    DELEGATED,
    EVERYBODY,
    ITEMS,
    ZONE_NAME,
    Held,
    Json,
    depth,
    grants_of,
    is_about_tags,
    policy_content,
    users_of,
)
from lakewarden.pushdown.ranger.tags import resource_key

_Part = tuple[str, str, Grant | None]


def differences(pushed: Held, found: Held, states: Mapping[str, list[str]]) -> Iterator[Difference]:
    """The deviations from the last push, except for what an unfinished push may have done.

    `states` are the states in its journal. A grantee's access in a policy is a member and a grant;
    any other field is a grant named after it.
    """
    now = found.digests()
    before_parts: set[_Part] = set()
    now_parts: set[_Part] = set()
    before, after = dict(pushed.objects()), dict(found.objects())
    for key in {**before, **after}:
        if before.get(key) == after.get(key) or now.get(key, "") in states.get(key, ()):
            continue
        was, found_now = _parts(key, before.get(key)), _parts(key, after.get(key))
        if was == found_now:  # a difference beyond the access, such as a condition of an item
            was, found_now = _content_part(key, before.get(key)), _content_part(key, after.get(key))
        before_parts |= was
        now_parts |= found_now
    for kind, parts in ((MISSING, before_parts - now_parts), (ADDED, now_parts - before_parts)):
        for name, member, grant in sorted(parts, key=str):
            yield Difference(kind, name, member, grant)


def _content_part(key: str, content: Json | None) -> set[_Part]:
    return {(key.partition(" ")[2], "", Grant((), f"content {digest_of(content)}"))}


def _parts(key: str, content: Json | None) -> set[_Part]:
    kind, _, name = key.partition(" ")
    if content is None:
        return set()
    if kind == "tagged":
        return {(f"tag {content['tag']}", "", _tag_grant(content["tag"], content["resource"]))}
    parts: set[_Part] = {(name, "", None)}
    if kind == "role":
        for of, members in content.items():
            for one, is_admin in members:
                parts.add((name, f"{of[:-1]} {one}" + (", who may change it" * is_admin), None))
        return parts
    for item, grant in grants_of(content):
        for who in grantees(item):
            parts.add((name, who, grant))
    own = ("resources", ITEMS[content["type"]])
    for field, value in content.items():
        if field not in own:
            parts.add((name, "", Grant((), f"{field} {digest_of(value)}" if isinstance(
                value, (list, dict)) else f"{field} {value}")))  # fmt: skip
    return parts


def foreign_tags(
    found: Held, desired: Mapping[str, Json], names: Collection[str]
) -> Iterator[ForeignGrant]:
    """Tags of these names that others put where ours are not: they bring masks there."""
    own = {(one["tag"], resource_key(one["resource"])) for one in desired.values()}
    for tag, resource in found.tags.foreign_tags:
        if tag in names and (tag, resource_key(resource)) not in own:
            yield ForeignGrant(f"tag {tag} of others", _tag_grant(tag, resource), (), ())


def _tag_grant(tag: str, resource: Mapping[str, object]) -> Grant:
    return Grant(tuple(str(resource[level]) for level in sorted(resource, key=depth)), f"tag {tag}")


def grantees(item: Json) -> Iterator[str]:
    """The grantees of an item, each with its kind before the name."""
    for kind in ("users", "groups", "roles"):
        for one in item.get(kind, ()):
            yield f"{kind[:-1]} {one}"


def foreign(
    found: Held, users: frozenset[str], allowed: Mapping[Grant, frozenset[str]], type: str
) -> Iterator[ForeignGrant]:
    """The grants of policies of others, and the users to whom the realm does not allow them.

    The members of Ranger's groups are unknown here. With a wildcard, a user is allowed what is
    allowed on each matching thing that our policies name; by a tag, what is allowed on all
    resources with it. `type` is the service type: policies about tags are for other types, too.
    """
    roles = users_of({**found.other_roles, **found.roles})
    allowing = _Allowing(found, users, allowed)
    for policy in found.others:
        name, zone = str(policy.get("name", "")), str(policy.get(ZONE_NAME) or "")
        name += f" in the security zone {zone}" if zone else ""
        content = policy_content(policy)
        is_by_tag = is_about_tags(content) and content["type"] == ACCESS
        for item, grant in grants_of(content):
            access = grant.privilege.removeprefix(f"{type}:")
            if is_by_tag and access == grant.privilege and access != DELEGATED:
                continue
            may = allowing.by_tag(grant, access) if is_by_tag else allowing.on(grant)
            for who in grantees(item):
                held = reached(who, users, roles)
                said = f"{who} by {name}"
                yield ForeignGrant(said, grant, tuple(sorted(held)), tuple(sorted(held - may)))


class _Allowing:
    """The users to whom the realm allows the grants of a policy; each grant is evaluated once."""

    def __init__(
        self, found: Held, users: frozenset[str], allowed: Mapping[Grant, frozenset[str]]
    ) -> None:
        self._found, self._users, self._allowed = found, users, allowed
        self._by_privilege: dict[str, list[Grant]] = {}
        for grant in allowed:
            self._by_privilege.setdefault(grant.privilege, []).append(grant)
        self._known: dict[Grant, frozenset[str]] = {}

    def on(self, grant: Grant) -> frozenset[str]:
        """The users allowed on everything that the path matches."""
        if grant not in self._known:
            self._known[grant] = _allowed_users(grant, self._allowed, self._by_privilege)
        return self._known[grant]

    def by_tag(self, grant: Grant, access: str) -> frozenset[str]:
        """The users with the access on all resources with the tag."""
        if grant not in self._known:
            places = _tagged_places(self._found, grant.path[0], access, self._by_privilege)
            self._known[grant] = self._users.intersection(*map(self.on, places))
        return self._known[grant]


def _tagged_places(
    found: Held, tag: str, access: str, by_privilege: Mapping[str, list[Grant]]
) -> Iterator[Grant]:
    """The access on all resources with a tag, and everything in them; for a column, on its table.

    With a wildcard or exclusions, on all resources with any matching tag.
    """
    ours = ((one["tag"], one["resource"]) for one in found.tagged.values())
    width = max((len(one.path) for one in by_privilege.get(access, ())), default=0)
    for name, resource in (*ours, *found.tags.foreign_tags):
        if _is_about(tag, name):
            path = _tag_grant(tag, resource).path[: max(width - 1, 0)]
            yield Grant((*path, *[ALL] * (width - len(path))), access)


def reached(who: str, users: frozenset[str], roles: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The users who get the grant; of groups, only the members of `public` are known."""
    kind, _, name = who.partition(" ")
    if kind == "group":
        return users if name == EVERYBODY else frozenset()
    if who == f"user {ANYBODY}":
        return users
    return users & (roles.get(name, frozenset()) if kind == "role" else frozenset((name,)))


def _allowed_users(
    grant: Grant,
    allowed: Mapping[Grant, frozenset[str]],
    by_privilege: Mapping[str, list[Grant]],
) -> frozenset[str]:
    """The users allowed on everything that the path matches."""
    covering = frozenset[str]().union(*(allowed.get(one, ()) for one in _covering(grant)))
    if not any(map(is_pattern, grant.path)):
        return covering
    alike = [
        allowed[one]
        for one in by_privilege.get(grant.privilege, ())
        if len(one.path) == len(grant.path) and all(map(_is_about, grant.path, one.path))
    ]
    return frozenset.intersection(*alike) | covering if alike else covering


def _is_about(pattern: str, name: str) -> bool:
    """Whether a part of a path of others matches what our policy names, or some of it."""
    if not pattern.startswith(ALL_BUT):
        return matches(pattern, name)
    excluded = pattern.removeprefix(ALL_BUT).split(",")
    return not any(matches(one, name) for one in excluded)


def _covering(grant: Grant) -> Iterator[Grant]:
    """The grant, and those on the folders of a path, which also apply to all paths below.

    With a wildcard, only those on folders before the wildcard.
    """
    yield grant
    if len(grant.path) != 1 or not grant.path[0].startswith("/"):
        return
    steps = grant.path[0].strip("/").split("/")
    fixed = next((n for n, step in enumerate(steps) if is_pattern(step)), len(steps) - 1)
    for length in range(min(fixed, len(steps) - 1), 0, -1):
        yield Grant(("/" + "/".join(steps[:length]),), grant.privilege)
