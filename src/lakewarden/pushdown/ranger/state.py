"""Our policies and roles in a Ranger service, without the fields that Ranger fills in.

Policies are ours if their names have our form for the target, or if a push recorded their guid.
Roles are ours if their names have our form (`marks`). Objects of a style have names of their own:
they are ours by the label or, because roles have no labels, by the mark in their description. Tags
on resources are ours by their guid (`tags`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Final

import msgspec

from lakewarden.pushdown.grants import Grant
from lakewarden.pushdown.ranger.marks import Marks, digest_of
from lakewarden.service.ranger.tag_masks import TAG

Json = dict[str, Any]

ACCESS, MASK, FILTER = 0, 1, 2
"""Types of policies."""

ITEMS: Final[Mapping[int, str]] = {
    ACCESS: "policyItems",
    MASK: "dataMaskPolicyItems",
    FILTER: "rowFilterPolicyItems",
}
"""The item lists that our policies use, by type."""

_OTHER_ITEMS: Final = ("allowExceptions", "denyPolicyItems", "denyExceptions")
_OUTERMOST_FIRST: Final = ("catalog", "database", "schema", "table", "column")
"""The nested levels of Ranger's resources."""

ZONE_NAME: Final = "zoneName"
"""The field of a policy for its security zone."""

ALL: Final = "*"
ALL_BUT: Final = "* but "
"""Precedes the comma-separated names that a level of a policy excludes."""

EVERYBODY: Final = "public"
ANYBODY: Final = "{USER}"
"""The group, and the name of a user, that stand for all users."""

DELEGATED: Final = "delegateAdmin"
"""The privilege to change policies on the resources of an item."""


@dataclass(frozen=True, slots=True)
class TagsFound:
    """Ranger's data about tags, apart from where our own tags are.

    `guids` are those of resources by their keys, `own` the keys of those that we created and on
    which others put no tags. `types` has the existing tags, each with its guid if we created it,
    otherwise "". `old` are names of our tags that may exist. `foreign_tags` are the tags of others
    with the resources that they are on.
    """

    guids: Mapping[str, str] = field(default_factory=dict)
    own: frozenset[str] = frozenset()
    types: Mapping[str, str] = field(default_factory=dict)
    old: frozenset[str] = frozenset()
    foreign_tags: tuple[tuple[str, Json], ...] = ()


@dataclass(frozen=True, slots=True)
class Held:
    """Policies and roles by name, in the form of `policy_content` and `role_content`.

    `ids` and `guids` were assigned by Ranger, `others` are all policies of the service that are
    not ours, `other_roles` all such roles. `tagged` are our tags on resources, by the tag and the
    key of the resource, and `tag_guids` the guids of these tags.
    """

    policies: Mapping[str, Json] = field(default_factory=dict)
    roles: Mapping[str, Json] = field(default_factory=dict)
    policy_ids: Mapping[str, int] = field(default_factory=dict)
    guids: Mapping[str, str] = field(default_factory=dict)
    role_ids: Mapping[str, int] = field(default_factory=dict)
    others: tuple[Json, ...] = ()
    other_roles: Mapping[str, Json] = field(default_factory=dict)
    tagged: Mapping[str, Json] = field(default_factory=dict)
    tag_guids: Mapping[str, str] = field(default_factory=dict)
    tags: TagsFound = field(default_factory=TagsFound)

    def same(self, other: Held) -> bool:
        """Whether our objects are the same."""
        is_same = self.policies == other.policies and self.roles == other.roles
        return is_same and self.tagged == other.tagged

    def digests(self) -> Mapping[str, str]:
        """The digest of each object's content, by its kind and name."""
        return {key: digest_of(one) for key, one in self.objects()}

    def objects(self) -> Iterator[tuple[str, Json]]:
        """All our objects, by kind and name."""
        for name, policy in self.policies.items():
            yield f"policy {name}", policy
        for name, role in self.roles.items():
            yield f"role {name}", role
        for name, tagged in self.tagged.items():
            yield f"tagged {name}", tagged

    def data(self) -> dict[str, Any]:
        """Our objects as JSON values."""
        return {
            "policies": dict(sorted(self.policies.items())),
            "roles": dict(sorted(self.roles.items())),
            "guids": dict(sorted(self.guids.items())),
            **(
                {
                    "tagged": dict(sorted(self.tagged.items())),
                    "tag_guids": dict(sorted(self.tag_guids.items())),
                }
                if self.tagged
                else {}
            ),
        }


def from_data(data: Mapping[str, Any]) -> Held:
    """Reads the result of `Held.data`."""
    return Held(
        data.get("policies", {}),
        data.get("roles", {}),
        guids=data.get("guids", {}),
        tagged=data.get("tagged", {}),
        tag_guids=data.get("tag_guids", {}),
    )


def held(
    marks: Marks,
    guids: Mapping[str, str],
    policies: Iterable[Json],
    roles: Iterable[Json],
    *,
    styled: bool = False,
    zone: str = "",
) -> Held:
    """The current state, from all policies of the service and all roles of Ranger.

    `guids` were recorded by a push, by names of policies: a renamed policy is still ours. Names
    of a `styled` target do not have our form, so its marks count. An object that another store
    marked is not ours, whatever its name.
    Another security zone may have policies with the same names, so names and marks only count in
    the target's zone.
    """
    pushed = {guid: name for name, guid in guids.items()}
    ours: dict[str, Json] = {}
    ids: dict[str, int] = {}
    found: dict[str, str] = {}
    others: list[Json] = []
    for policy in policies:
        own, guid = str(policy.get("name", "")), str(policy.get("guid", ""))
        name = pushed.get(guid, own)
        is_told, labels = str(policy.get(ZONE_NAME) or "") == zone, policy.get("policyLabels") or ()
        is_marked = styled and marks.has(labels, name)
        is_ours = guid in pushed or (is_told and (is_marked or marks.is_policy(name)))
        if is_ours and name not in ours and not marks.is_of_another(labels):
            ours[name] = policy_content(policy)
            ids[name], found[name] = int(policy["id"]), guid
        else:
            others.append(policy)
    own_roles, role_ids, other_roles = {}, {}, {}
    for role in roles:
        name = str(role.get("name", ""))
        words = str(role.get("description") or "").split()
        is_ours = marks.is_role(name) or (styled and marks.has(words, name))
        if is_ours and not marks.is_of_another(words):
            own_roles[name], role_ids[name] = role_content(role), int(role["id"])
        else:
            other_roles[name] = role_content(role)
    return Held(ours, own_roles, ids, found, role_ids, tuple(others), other_roles)


# --- what an object says, without what Ranger fills in, and back ---


def policy_content(policy: Json) -> Json:
    """The content of a policy; fields with Ranger's default values are left out."""
    content: Json = {
        "name": str(policy.get("name", "")),
        "type": int(policy.get("policyType") or ACCESS),
        "labels": sorted(policy.get("policyLabels") or ()),
        "resources": _resources(policy.get("resources") or {}),
    }
    for key in (*ITEMS.values(), *_OTHER_ITEMS):
        if policy.get(key):
            content[key] = [_item(one) for one in policy[key]]
    if policy.get("validitySchedules"):
        content["validitySchedules"] = [
            {
                key: str(one.get(key) or "")
                for key in ("startTime", "endTime", "timeZone")
                if one.get(key)
            }
            | ({"recurrences": one["recurrences"]} if one.get("recurrences") else {})
            for one in policy["validitySchedules"]
        ]
    defaults = {"isEnabled": True, "isAuditEnabled": True, "isDenyAllElse": False}
    for key, default in (*defaults.items(), ("policyPriority", 0), (ZONE_NAME, "")):
        value = policy.get(key)
        if value is not None and value != default:
            content[key] = value
    for key in ("additionalResources", "conditions"):
        if policy.get(key):
            content[key] = policy[key]
    return content


def _resources(resources: Mapping[str, Json]) -> Json:
    return {
        level: {
            "values": sorted(map(str, one.get("values") or ())),
            **{key: True for key in ("isExcludes", "isRecursive") if one.get(key)},
        }
        for level, one in sorted(resources.items())
    }


def _item(item: Json) -> Json:
    accesses = item.get("accesses") or ()
    content: Json = {
        "accesses": sorted(str(one.get("type")) for one in accesses if one.get("isAllowed", True))
    }
    refused = sorted(str(one.get("type")) for one in accesses if not one.get("isAllowed", True))
    if refused:
        content["refused"] = refused
    for key in ("users", "groups", "roles"):
        if item.get(key):
            content[key] = sorted(map(str, item[key]))
    for key in ("conditions", "delegateAdmin"):
        if item.get(key):
            content[key] = item[key]
    if item.get("rowFilterInfo"):
        content["filter"] = str(item["rowFilterInfo"].get("filterExpr") or "")
    if item.get("dataMaskInfo"):
        info = item["dataMaskInfo"]
        keys = ("dataMaskType", "conditionExpr", "valueExpr")
        content["mask"] = {key: str(info[key]) for key in keys if info.get(key)}
    return content


def policy_sent(service: str, content: Json, description: str) -> Json:
    """The policy with this content, in the form that Ranger accepts; it contains no denials."""
    policy: Json = {
        "service": service,
        "name": content["name"],
        "description": description,
        "policyType": content["type"],
        "policyPriority": content.get("policyPriority", 0),
        "policyLabels": content["labels"],
        "isEnabled": content.get("isEnabled", True),
        "isAuditEnabled": True,
        "isDenyAllElse": False,
        "resources": {
            level: {"isExcludes": False, "isRecursive": False, **one}
            for level, one in content["resources"].items()
        },
        **{key: [] for key in (*ITEMS.values(), *_OTHER_ITEMS)},
        "validitySchedules": content.get("validitySchedules", []),
        **{key: content[key] for key in (ZONE_NAME,) if key in content},
    }
    items = ITEMS[content["type"]]
    policy[items] = [_item_sent(one) for one in content.get(items, ())]
    return policy


def _item_sent(content: Json) -> Json:
    item: Json = {
        "accesses": [{"type": access, "isAllowed": True} for access in content["accesses"]],
        **{key: content.get(key, []) for key in ("users", "groups", "roles")},
        "conditions": [],
        "delegateAdmin": False,
    }
    if "filter" in content:
        item["rowFilterInfo"] = {"filterExpr": content["filter"]}
    if "mask" in content:
        item["dataMaskInfo"] = content["mask"]
    return item


def role_content(role: Json) -> Json:
    """The content of a role: its members, each with whether it may change the role."""
    return {
        kind: sorted([str(one.get("name")), bool(one.get("isAdmin"))] for one in role[kind])
        for kind in ("users", "groups", "roles")
        if role.get(kind)
    }


def role_sent(name: str, content: Json, description: str) -> Json:
    """The role with this content, in the form that Ranger accepts."""
    return {
        "name": name,
        "description": description,
        **{
            kind: [{"name": one, "isAdmin": is_admin} for one, is_admin in content.get(kind, ())]
            for kind in ("users", "groups", "roles")
        },
    }


def signature(content: Json) -> bytes:
    """The fields that must be unique in a service: Ranger refuses a second policy with them."""
    keys = ("type", "resources", "validitySchedules", "policyPriority", ZONE_NAME, "conditions")
    return msgspec.json.encode(
        {key: content[key] for key in keys if key in content}, order="sorted"
    )


def is_about_tags(content: Json) -> bool:
    """Whether a policy is one of a service of tags: there, a tag is its only resource."""
    return TAG in content["resources"]


def overlaps(one: Json, other: Json) -> bool:
    """Whether two of our policies may be about the same thing: on each level that both name."""
    mine, theirs = one["resources"], other["resources"]
    for level in mine.keys() & theirs.keys():
        values, others = {*mine[level]["values"]}, {*theirs[level]["values"]}
        if ALL not in values | others and not values & others:
            return False
    return bool(mine.keys() & theirs.keys())


# --- what it means for people ---


def users_of(roles: Mapping[str, Json]) -> Mapping[str, frozenset[str]]:
    """The users of each role, including those through roles in it."""
    found: dict[str, frozenset[str]] = {}

    def reached(name: str, above: frozenset[str]) -> frozenset[str]:
        if name not in found:
            if name in above or name not in roles:
                return frozenset()
            role = roles[name]
            inner = (reached(one, above | {name}) for one, _ in role.get("roles", ()))
            found[name] = frozenset(one for one, _ in role.get("users", ())).union(*inner)
        return found[name]

    for name in roles:
        reached(name, frozenset())
    return found


def grants_of(content: Json) -> Iterator[tuple[Json, Grant]]:
    """The grants of each item of a policy, on each of its resources; none if it is disabled.

    Excluded names form one part of the path, after `ALL_BUT`.
    """
    if not content.get("isEnabled", True):
        return
    each = (content["resources"], *content.get("additionalResources", ()))
    paths = [path for resources in each for path in _paths(resources)]
    for item in content.get(ITEMS[content["type"]], ()):
        if "filter" in item:
            privileges = [f"row filter {item['filter']}"]
        elif "mask" in item:
            privileges = [" ".join(("mask", *item["mask"].values()))]
        else:
            privileges = item["accesses"]
        if item.get(DELEGATED):
            privileges = [*privileges, DELEGATED]
        for path in paths:
            for privilege in privileges:
                yield item, Grant(path, privilege)


def _paths(resources: Mapping[str, Json]) -> Iterator[tuple[str, ...]]:
    levels = (resources[level] for level in sorted(resources, key=depth))
    values = ((one.get("values") or (), bool(one.get("isExcludes"))) for one in levels)
    return product(
        *([ALL_BUT + ",".join(some)] if is_excluded else some for some, is_excluded in values)
    )


def depth(level: str) -> tuple[int, str]:
    """The sort key of Ranger's levels in paths of grants."""
    return _OUTERMOST_FIRST.index(level) if level in _OUTERMOST_FIRST else 0, level


def holders(of: Held) -> Mapping[Grant, frozenset[str]]:
    """The holders of each grant of our policies. `public` and `{USER}` stand for themselves."""
    users = users_of({**of.other_roles, **of.roles})
    found: dict[Grant, list[frozenset[str]]] = {}
    together: dict[tuple[str, ...], frozenset[str]] = {}
    for content in of.policies.values():
        for item, grant in grants_of(content):
            key = (*item.get("roles", ()), "", *item.get("users", ()), "", *item.get("groups", ()))
            if key not in together:
                direct = frozenset((*item.get("users", ()), *item.get("groups", ())))
                inner = (users.get(role, frozenset()) for role in item.get("roles", ()))
                together[key] = direct.union(*inner)
            found.setdefault(grant, []).append(together[key])
    return {
        grant: each[0] if len(each) == 1 else each[0].union(*each[1:])
        for grant, each in found.items()
    }
