"""The bodies of routes about links between entities of several realms."""

from __future__ import annotations

from typing import Annotated

from msgspec import field

from lakewarden.http.admin.bodies.base import PagedResponse, RequestBody, ResponseBody
from lakewarden.http.admin.field_types import READABLE, EntityText, RealmName, described
from lakewarden.service.links import MAX_KEEPER

_KEEPER = described(maxLength=MAX_KEEPER, pattern=READABLE)


class LinkEnd(RequestBody, kw_only=True):
    """An entity of a realm."""

    realm: RealmName
    entity: EntityText


class LinkRequest(RequestBody, kw_only=True):
    """Two entities that are one asset. `keeper` names the rules that link them, if any."""

    one: LinkEnd
    other: LinkEnd
    keeper: Annotated[str, _KEEPER] = ""


class LinkResponse(ResponseBody, kw_only=True):
    """A link and its keeper."""

    one: LinkEnd
    other: LinkEnd
    keeper: str


class LinksResponse(PagedResponse, kw_only=True):
    """Links, sorted, and the realms whose links are not visible to the caller."""

    links: list[LinkResponse]
    left_out: list[str]


class LinkRuleResponse(ResponseBody, kw_only=True):
    """A suggested rule in the format of a rule file, and how many links it makes."""

    name: str
    realms: dict[str, str]
    ignore_case: bool
    pairs: int


class SuggestionResponse(ResponseBody, kw_only=True):
    """Two entities that the rule would link."""

    one: LinkEnd
    other: LinkEnd
    rule: str


class SuggestionsResponse(PagedResponse, kw_only=True):
    """Suggested links, sorted, and the rules that make them."""

    suggestions: list[SuggestionResponse]
    rules: list[LinkRuleResponse]


class LinkRows(RequestBody, kw_only=True):
    """Links made by rules, with both ends. `prune` removes other links of the keeper."""

    keeper: Annotated[str, described(minLength=1, maxLength=MAX_KEEPER, pattern=READABLE)]
    prune: bool = False
    links: list[tuple[str, str, str, str]] = field(default_factory=list)


class LinksLoadResponse(ResponseBody, kw_only=True):
    """The numbers of added and removed links, and of links kept by others."""

    new: int
    gone: int
    left: int
    pruned: bool
    revision: int
