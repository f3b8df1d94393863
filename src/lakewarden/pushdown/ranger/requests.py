"""The requests by which a push changes the objects of a Ranger admin.

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
"""The API for single tags on resources; the public import would also replace those of others."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request: its path below `API` or `TAGS`, its query and its JSON body."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Json | None = None

    def statement(self, step: str) -> Statement:
        """The request as a plan shows it, for a step."""
        query = f"?{urlencode(self.query)}" if self.query else ""
        return Statement(step, f"{self.method} {self.path}{query}", self.body)


_WITH_MEMBERS: Final = {"createNonExistUserGroup": "true"}
"""Creates the members of a role that Ranger does not know."""


def create_policy(policy: Json) -> Request:
    """Creates a policy."""
    return Request("POST", f"{API}/policy", body=policy)


def update_policy(policy: Json) -> Request:
    """Replaces the policy with that id."""
    return Request("PUT", f"{API}/policy/{_id(policy['id'])}", body=policy)


def delete_policy(id: object) -> Request:
    """Deletes a policy."""
    return Request("DELETE", f"{API}/policy/{_id(id)}")


def create_role(role: Json) -> Request:
    """Creates a role, and its members if Ranger does not know them."""
    return Request("POST", f"{API}/roles", _WITH_MEMBERS, role)


def update_role(role: Json) -> Request:
    """Replaces the role with that id."""
    return Request("PUT", f"{API}/roles/{_id(role['id'])}", _WITH_MEMBERS, role)


def delete_role(id: object) -> Request:
    """Deletes a role."""
    return Request("DELETE", f"{API}/roles/{_id(id)}")


def put_tag_type(definition: Json) -> Request:
    """Creates a tag; an existing tag of that name stays as it is."""
    return Request("POST", f"{TAGS}/tagdefs/", body=definition)


def put_tag(tag: Json) -> Request:
    """Creates or replaces the object for a tag with that guid."""
    return Request("POST", f"{TAGS}/tags/", body=tag)


def create_tag_resource(resource: Json) -> Request:
    """Creates the resource with that guid; an existing one stays."""
    return Request("POST", f"{TAGS}/resources/", {"updateIfExists": "false"}, resource)


def tag_resource(tag: str, resource: str) -> Request:
    """Puts a tag on a resource, by their guids; it may already be there."""
    query = {"tag-guid": tag, "resource-guid": resource, "lenient": "true"}
    return Request("POST", f"{TAGS}/tagresourcemaps/", query)


def untag_resource(tag: str, resource: str) -> Request:
    """Removes a tag from a resource, by their guids."""
    query = {"tag-guid": tag, "resource-guid": resource}
    return Request("DELETE", f"{TAGS}/tagresourcemaps/", query)


def delete_unused(kind: str, guid: str) -> Request:
    """Deletes a `resource`, a `tag` or a `tagdef` if nothing refers to it."""
    return Request("DELETE", f"{TAGS}/{kind}/guid/{quote(guid, safe='')}")


def _id(of: object) -> str:
    """An id in a path. For an object that Ranger has not created yet, its name in braces."""
    return quote(str(of), safe="{} ")
