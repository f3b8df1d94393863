"""Bodies about entities, their children, and the results of a search."""

from __future__ import annotations

from msgspec import field

from lakewarden.http.admin.bodies.base import PagedResponse, RequestBody, ResponseBody
from lakewarden.http.admin.field_types import EntityText, PrincipalText


class EntityName(ResponseBody, kw_only=True):
    """Type and name of an entity."""

    type: str
    name: str


class Owner(RequestBody, kw_only=True):
    """An owner, with its ownership type in systems that have ownership types."""

    principal: PrincipalText
    ownership: str = ""


class EntityRequest(RequestBody, kw_only=True):
    """An entity to store or move; `owners` replaces all owners of the entity."""

    entity: EntityText
    parent: EntityText | None = None
    owners: list[Owner] | None = None


class EntityResponse(ResponseBody, kw_only=True):
    """A stored entity with its parent, owners, attributes and relations."""

    entity: str
    type: str
    name: str
    parent: str | None
    owners: list[Owner]
    attributes: dict[str, list[str]]
    relations: dict[str, list[str]]


class Entities(PagedResponse, kw_only=True):
    """Entities in hierarchy order."""

    entities: list[EntityName]


class ChildResponse(ResponseBody, kw_only=True):
    """An entity in its container, with the number of its children and of its descendants."""

    entity: str
    type: str
    label: str
    children: int
    below: int


class ChildrenResponse(PagedResponse, kw_only=True):
    """The children of an entity, in hierarchy order."""

    children: list[ChildResponse]


class SearchHit(ResponseBody, kw_only=True):
    """A matching name; `in` is the label of its container, empty at the top."""

    kind: str
    realm: str
    type: str
    name: str
    label: str
    container: str = field(name="in")


class SearchResponse(ResponseBody, kw_only=True):
    """The best matches, the number of all matches, and the realms that were not searched."""

    results: list[SearchHit]
    total: int
    left_out: list[str]
