"""Tags on resources of a Ranger service: ours beside those of others, such as a tagsync.

In Ranger, a tag is an object that may be on many resources. Ours is one object for each tag and
target of a store, with a guid derived from these (`marks`), so only the places of this object are
ours. Resources that we create have guids of ours, too; those of others are reused. An import of
tags replaces all tags on a resource, including ours, so no mask depends on them: they bring masks
to later resources, and existing resources keep theirs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, Protocol

import msgspec

from lakewarden.engines.ranger_service import RangerService
from lakewarden.kernel.errors import BadInput
from lakewarden.pushdown.ranger.admin import Admin
from lakewarden.pushdown.ranger.marks import LABEL, Marks
from lakewarden.pushdown.ranger.state import (
    ITEMS,
    MASK,
    Json,
    TagsFound,
    is_about_tags,
    policy_content,
)
from lakewarden.service.ranger.definition import MASKS
from lakewarden.service.ranger.tag_masks import TAG, Tagged

_OF_ALL: Final = 1
"""The owner value of a tag that may be on several resources; 0 is for a tag of one resource."""

_FLAGS: Final = ("isExcludes", "isRecursive")


def require_masks(service: RangerService, definition: Mapping[str, Any]) -> None:
    """Raises `BadInput` if masks of the service cannot be about tags in this Ranger."""
    reading = service.reading
    if reading is None:
        message = f"a service of type `{service.type}` has no masks, so it does not accept `?tags=`"
        raise BadInput(message, where="url")
    masking = definition.get("dataMaskDef") or {}
    known = {
        str(one.get("name"))
        for key in ("accessTypes", "maskTypes")
        for one in masking.get(key) or ()
    }
    for needed in (reading.name, MASKS[0]):
        if name_about_tags(service, needed) not in known:
            message = (
                f"policies about tags have no `{name_about_tags(service, needed)}` in this Ranger"
            )
            raise BadInput(message, where="url")


def name_about_tags(service: RangerService, name: str) -> str:
    """The name of an access or a mask of a service in policies about tags."""
    return f"{service.type}:{name}"


def tag_policy(marks: Marks, service: RangerService, policy: Json) -> Json:
    """A policy about a tag in the form of its service.

    It also names a tag that is never used, so no two targets have one on the same resources.
    """
    items = [
        {
            **item,
            "accesses": [
                {**one, "type": name_about_tags(service, one["type"])} for one in item["accesses"]
            ],
            "dataMaskInfo": {
                **item["dataMaskInfo"],
                "dataMaskType": name_about_tags(service, item["dataMaskInfo"]["dataMaskType"]),
            },
        }
        for item in policy[ITEMS[MASK]]
    ]
    resource = policy["resources"][TAG]
    named = {**resource, "values": [*resource["values"], marks.label]}
    return {**policy, "resources": {TAG: named}, ITEMS[MASK]: items}


# --- where tags lie ---


def resource_key(resource: Mapping[str, object]) -> str:
    """A key that is equal for the same levels with the same names."""
    return msgspec.json.encode(resource, order="sorted").decode()


def tagged_of(tagged: Iterable[Tagged]) -> Mapping[str, Json]:
    """Tags on resources in the form of `Held.tagged`."""
    found = {}
    for one in tagged:
        resource = dict(one.resource)
        content = {"tag": one.tag, "resource": resource}
        found[f"{one.tag} {resource_key(resource)}"] = content
    return found


def tags_found(
    admin: Admin, marks: Marks, old: Collection[str]
) -> tuple[Mapping[str, Json], TagsFound]:
    """Our tags on resources, and the other data about tags; `old` are names of our tags."""
    document = admin.service_tags()
    tags, ids = document.get("tags") or {}, document.get("resourceToTagIds") or {}
    resources = {str(one.get("id")): one for one in document.get("serviceResources") or ()}
    tagged: list[Tagged] = []
    foreign_tags: list[tuple[str, Json]] = []
    for id, each in ids.items():
        resource = _levels(resources.get(str(id), {}))
        for one in each:
            tag = tags.get(str(one)) or {}
            name = str(tag.get("type", ""))
            if tag.get("guid") == marks.tag_guid(name):
                tagged.append(Tagged(name, tuple(resource.items())))
            else:
                foreign_tags.append((name, resource))
    guids = {resource_key(_levels(one)): str(one.get("guid", "")) for one in admin.tag_resources()}
    of_others = {resource_key(resource) for _, resource in foreign_tags}
    types = {
        str(one.get("name", "")): str(one.get("guid", "")) * _is_made(marks, one)
        for one in admin.tag_types()
    }
    own = {key for key, guid in guids.items() if marks.is_resource(guid)}
    found = TagsFound(
        guids,
        frozenset(own - of_others),
        types,
        frozenset({*old, *(one.tag for one in tagged)}),
        tuple(foreign_tags),
    )
    return tagged_of(tagged), found


def _is_made(marks: Marks, type: Mapping[str, Any]) -> bool:
    """Whether one of our pushes created the tag."""
    source, name = type.get("source"), str(type.get("name", ""))
    return source == marks.label or (source == marks.old_label and name in marks.guids)


def _levels(resource: Mapping[str, Any]) -> Json:
    """The levels of a resource with their names; unusual values are marked by extra data."""
    found: Json = {}
    for level, one in sorted((resource.get("resourceElements") or {}).items()):
        values = one.get("values") or []
        odd = {flag: True for flag in _FLAGS if one.get(flag)}
        found[str(level)] = str(values[0]) if len(values) == 1 and not odd else [values, odd]
    return found


class TagChanges(Protocol):
    """The changes of tags in a Ranger service; `Admin` executes them."""

    @property
    def service(self) -> str: ...

    def put_tag_type(self, definition: Json, /) -> None: ...

    def put_tag(self, tag: Json, /) -> None: ...

    def create_tag_resource(self, resource: Json, /) -> None: ...

    def tag_resource(self, tag: str, resource: str, /) -> None: ...

    def untag_resource(self, tag: str, resource: str, /) -> None: ...

    def delete_unused(self, kind: str, guid: str, /) -> None: ...


class TagWriter:
    """Puts tags on resources, each with one request that takes effect, and removes them."""

    def __init__(self, admin: TagChanges, marks: Marks, found: TagsFound) -> None:
        self._admin, self._marks = admin, marks
        self._types, self._guids = dict(found.types), dict(found.guids)
        self._made: set[str] = set()

    def put(self, content: Json) -> None:
        """Puts a tag on a resource; creates the tag and the resource if they do not exist."""
        tag, resource = content["tag"], content["resource"]
        self._make_tag(tag)
        key = resource_key(resource)
        if key not in self._guids:
            self._guids[key] = self._marks.resource_guid(key)
            elements = {
                level: {"values": [name], "isExcludes": False, "isRecursive": False}
                for level, name in resource.items()
            }
            made = {"guid": self._guids[key], "resourceElements": elements}
            self._admin.create_tag_resource({"serviceName": self._admin.service, **made})
        self._admin.tag_resource(self._guid(tag), self._guids[key])

    def untag(self, content: Json) -> None:
        """Removes a tag from a resource."""
        guid = self._guids.get(resource_key(content["resource"]))
        if guid is not None:
            self._admin.untag_resource(self._guid(content["tag"]), guid)

    def delete_resource(self, key: str) -> None:
        """Deletes a resource of ours that has no tags any more."""
        self._admin.delete_unused("resource", self._guids[key])

    def delete_tag(self, tag: str) -> None:
        """Deletes our object for a tag, and the tag itself if we created it and nobody uses it."""
        self._admin.delete_unused("tag", self._guid(tag))
        if self._types.get(tag):
            self._admin.delete_unused("tagdef", self._types[tag])

    def _make_tag(self, tag: str) -> None:
        if tag in self._made:
            return
        if tag not in self._types:
            made = {"name": tag, "source": self._marks.label, "attributeDefs": []}
            self._admin.put_tag_type(made)
            self._types[tag] = ""
        own = {"guid": self._guid(tag), "type": tag, "owner": _OF_ALL}
        self._admin.put_tag({**own, "attributes": {LABEL: self._marks.target}})
        self._made.add(tag)

    def _guid(self, tag: str) -> str:
        return self._marks.tag_guid(tag)


# --- what others have about tags ---


def about_tags(
    service: RangerService, others: Iterable[Json]
) -> Iterator[tuple[frozenset[str] | None, str]]:
    """Tags that policies of others are about, with the policy's name; None stands for any tag.

    If we put such a tag on a resource, their grants would apply, or their mask instead of ours.
    """
    for policy in others:
        content = policy_content(policy)
        if not is_about_tags(content) or not content.get("isEnabled", True):
            continue
        if not concerns(service, content):
            continue
        resource, name = content["resources"][TAG], str(content["name"])
        is_open = resource.get("isExcludes") or any({*one} & {*"*?{"} for one in resource["values"])
        is_open = is_open or bool(content.get("additionalResources"))
        yield (None if is_open else frozenset(resource["values"])), name


def concerns(service: RangerService, content: Json) -> bool:
    """Whether a policy about tags has items for the service, or denies all else."""
    if content.get("isDenyAllElse"):
        return True
    return any(
        access.startswith(name_about_tags(service, ""))
        for value in content.values()
        if isinstance(value, list)
        for item in value
        if isinstance(item, dict)
        for access in (*item.get("accesses", ()), *item.get("refused", ()))
    )
