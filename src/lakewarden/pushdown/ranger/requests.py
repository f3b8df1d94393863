"""The requests by which a push changes what a Ranger admin holds.

Source: apache/ranger, `PublicAPIsv2.java` and `TagREST.java` of
`security-admin/src/main/java/org/apache/ranger/rest` at 8e7716cd3c36.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlencode

from lakewarden.pushdown.statement import Statement

Json = dict[str, Any]

API: Final = "/service/public/v2/api"
TAGS: Final = "/service/tags"
"""Where tags are put on resources one by one: the public import replaces those of others, too."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request: its path with what is below `API` or `TAGS`, its query and its JSON."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Json | None = None

    def statement(self, step: str) -> Statement:
        """The request as a plan shows it, for a step."""
        query = f"?{urlencode(self.query)}" if self.query else ""
        return Statement(step, f"{self.method} {self.path}{query}", self.body)


_WITH_MEMBERS: Final = {"createNonExistUserGroup": "true"}
"""Whoever Ranger does not know of the members of a role is made."""


def create_policy(policy: Json) -> Request:
    """Makes one."""
    return Request("POST", f"{API}/policy", body=policy)


def update_policy(policy: Json) -> Request:
    """Replaces the one of that id."""
    return Request("PUT", f"{API}/policy/{_id(policy['id'])}", body=policy)


def delete_policy(id: object) -> Request:
    """Deletes one."""
    return Request("DELETE", f"{API}/policy/{_id(id)}")


def create_role(role: Json) -> Request:
    """Makes one, and its members where Ranger does not know them."""
    return Request("POST", f"{API}/roles", _WITH_MEMBERS, role)


def update_role(role: Json) -> Request:
    """Replaces the one of that id."""
    return Request("PUT", f"{API}/roles/{_id(role['id'])}", _WITH_MEMBERS, role)


def delete_role(id: object) -> Request:
    """Deletes one."""
    return Request("DELETE", f"{API}/roles/{_id(id)}")


def put_tag_type(definition: Json) -> Request:
    """Makes a tag; one of that name stays as it is."""
    return Request("POST", f"{TAGS}/tagdefs/", body=definition)


def put_tag(tag: Json) -> Request:
    """Makes the object for a tag with that guid, or replaces it."""
    return Request("POST", f"{TAGS}/tags/", body=tag)


def create_tag_resource(resource: Json) -> Request:
    """Makes the resource with that guid; one that is there stays."""
    return Request("POST", f"{TAGS}/resources/", {"updateIfExists": "false"}, resource)


def tag_resource(tag: str, resource: str) -> Request:
    """Puts a tag on a resource, by their guids; it may be there."""
    query = {"tag-guid": tag, "resource-guid": resource, "lenient": "true"}
    return Request("POST", f"{TAGS}/tagresourcemaps/", query)


def untag_resource(tag: str, resource: str) -> Request:
    """Takes a tag off a resource, by their guids."""
    query = {"tag-guid": tag, "resource-guid": resource}
    return Request("DELETE", f"{TAGS}/tagresourcemaps/", query)


def delete_unused(kind: str, guid: str) -> Request:
    """Deletes a `resource`, a `tag` or a `tagdef` that nothing refers to."""
    return Request("DELETE", f"{TAGS}/{kind}/guid/{quote(guid, safe='')}")


def _id(of: object) -> str:
    """An id in a path. That of an object which Ranger has not made yet is in braces."""
    return quote(str(of), safe="{} ")
