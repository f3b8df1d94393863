"""What others changed in policies and roles of ours, and what policies of others give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

from lakewarden.pushdown.drift import ADDED, MISSING, Difference, ForeignGrant
from lakewarden.pushdown.grants import Grant
from lakewarden.pushdown.ranger.state import (
    EVERYBODY,
    ITEMS,
    ZONE_NAME,
    Held,
    Json,
    digest_of,
    grants_of,
    policy_content,
    users_of,
)

_Part = tuple[str, str, Grant | None]


def differences(pushed: Held, found: Held, states: Mapping[str, list[str]]) -> Iterator[Difference]:
    """What is not as it was pushed, but for what a push that is not finished may have done.

    `states` are those of its journal. Who has which access by a policy is a member and a grant of
    it; a field beside is a grant of its name.
    """
    now = found.digests()
    before_parts: set[_Part] = set()
    now_parts: set[_Part] = set()
    before, after = dict(pushed.objects()), dict(found.objects())
    for key in {**before, **after}:
        if before.get(key) == after.get(key) or now.get(key, "") in states.get(key, ()):
            continue
        before_parts |= _parts(key, before.get(key))
        now_parts |= _parts(key, after.get(key))
    for kind, parts in ((MISSING, before_parts - now_parts), (ADDED, now_parts - before_parts)):
        for name, member, grant in sorted(parts, key=str):
            yield Difference(kind, name, member, grant)


def _parts(key: str, content: Json | None) -> set[_Part]:
    kind, _, name = key.partition(" ")
    if content is None:
        return set()
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


def grantees(item: Json) -> Iterator[str]:
    """To whom an item gives something, each with what it is before the name."""
    for kind in ("users", "groups", "roles"):
        for one in item.get(kind, ()):
            yield f"{kind[:-1]} {one}"


def foreign(
    found: Held, users: frozenset[str], allowed: Mapping[Grant, frozenset[str]]
) -> Iterator[ForeignGrant]:
    """What policies of others give, and to whom of the users the realm does not allow it.

    Who is in a group of Ranger is not known here. With a wildcard, a user is allowed what is
    allowed on each thing of that form that policies of ours name.
    """
    roles = users_of({**found.other_roles, **found.roles})
    by_privilege: dict[str, list[Grant]] = {}
    for grant in allowed:
        by_privilege.setdefault(grant.privilege, []).append(grant)
    may: dict[Grant, frozenset[str]] = {}
    for policy in found.others:
        name, zone = str(policy.get("name", "")), str(policy.get(ZONE_NAME) or "")
        name += f" in the security zone {zone}" if zone else ""
        for item, grant in grants_of(policy_content(policy)):
            for who in grantees(item):
                held = reached(who, users, roles)
                if grant not in may:
                    may[grant] = _may(grant, allowed, by_privilege)
                denied = held - may[grant]
                yield ForeignGrant(
                    f"{who} by {name}", grant, tuple(sorted(held)), tuple(sorted(denied))
                )


def reached(who: str, users: frozenset[str], roles: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The users to whom it is given then; of groups those of `public` alone are known."""
    kind, _, name = who.partition(" ")
    if kind == "group":
        return users if name == EVERYBODY else frozenset()
    return users & (roles.get(name, frozenset()) if kind == "role" else frozenset((name,)))


def _may(
    grant: Grant,
    allowed: Mapping[Grant, frozenset[str]],
    by_privilege: Mapping[str, list[Grant]],
) -> frozenset[str]:
    """Who may do it on everything that the path means."""
    covering = frozenset[str]().union(*(allowed.get(one, ()) for one in _covering(grant)))
    if not any(sign in part for part in grant.path for sign in "*?"):
        return covering
    alike = [
        allowed[one]
        for one in by_privilege.get(grant.privilege, ())
        if len(one.path) == len(grant.path) and all(map(fnmatchcase, one.path, grant.path))
    ]
    return frozenset.intersection(*alike) | covering if alike else covering


def _covering(grant: Grant) -> Iterator[Grant]:
    """The grant, and those on the folders of a path, which give the same on all below.

    With a wildcard, only those on folders that it does not make vary.
    """
    yield grant
    if len(grant.path) != 1 or not grant.path[0].startswith("/"):
        return
    steps = grant.path[0].strip("/").split("/")
    fixed = next((n for n, step in enumerate(steps) if {*step} & {*"*?"}), len(steps) - 1)
    for depth in range(min(fixed, len(steps) - 1), 0, -1):
        yield Grant(("/" + "/".join(steps[:depth]),), grant.privilege)
