"""The bodies of questions to several realms, and about who reaches an asset."""

from __future__ import annotations

from typing import Annotated

from msgspec import field

from lakewarden.http.admin.bodies.base import NextPage, RequestBody, ResponseBody
from lakewarden.http.admin.bodies.entity import EntityName
from lakewarden.http.admin.bodies.explanation import ExplanationResponse, StatementPath
from lakewarden.http.admin.bodies.link import LinkEnd
from lakewarden.http.admin.bodies.question import PrincipalQuestion, TargetQuestion
from lakewarden.http.admin.bodies.statement import StatementResponse
from lakewarden.http.admin.field_types import ActionName, EntityText, RealmName, described
from lakewarden.kernel.model import WAYS
from lakewarden.service import access_table
from lakewarden.service.asset_access import MAX_PEOPLE
from lakewarden.service.asset_rows import OTHERS, ROWS
from lakewarden.service.page_size import PAGE_ROWS
from lakewarden.service.realm_selection import MAX_REALMS

Realms = Annotated[list[RealmName] | None, described(maxItems=MAX_REALMS)]
"""The realms of the question; None: all of the caller's directory."""

_ROW = f"^((user|group|roles):.+|{OTHERS})$"
COLUMNS = ("ways", "operations")


class CrossRealmWhoQuestion(TargetQuestion, kw_only=True):
    """A reverse question to several realms; `home` is the realm of the entity."""

    operation: ActionName
    realms: Realms = None
    home: RealmName | None = None


class CrossRealmListQuestion(PrincipalQuestion, kw_only=True):
    """A list question to several realms, a page of each, see `PageStart`."""

    operation: ActionName
    realms: Realms = None
    limit: Annotated[int, described(minimum=1, maximum=1_000)] = 100
    after: list[PageStart] | None = None


class PageStart(RequestBody, kw_only=True):
    """The start of a realm's page; only realms with a start are listed."""

    realm: RealmName
    operation: ActionName
    entity: EntityText


class CrossRealmExplainQuestion(PrincipalQuestion, kw_only=True):
    """An explain question to several realms."""

    operation: ActionName
    realms: Realms = None
    home: RealmName | None = None


class RealmNotApplicable(ResponseBody, kw_only=True):
    """A realm to which the question does not apply, and why."""

    realm: str
    why: str


class CrossRealmResponse(ResponseBody, kw_only=True):
    """Base of answers of several realms, with realms that do not apply or are not visible."""

    silent: list[RealmNotApplicable]
    left_out: list[str]


class RealmPart(ResponseBody, kw_only=True):
    """One realm's part of an answer, with the question that was put to it."""

    realm: str
    operation: str
    entity: str | None
    notes: list[str]


class UsersPart(RealmPart, kw_only=True):
    """The users who are allowed, as the realm spells them."""

    users: list[str]


class PersonRealms(ResponseBody, kw_only=True):
    """A person of the directory, and the realms that allow the operation."""

    person: str
    realms: list[str]


class CrossRealmUsers(CrossRealmResponse, kw_only=True):
    """The users who are allowed, by realm and over all realms."""

    realms: list[UsersPart]
    union: list[PersonRealms]


class ListingPart(RealmPart, kw_only=True):
    """A page of a realm's allowed entities; `after` is the last one if more follow."""

    total: int
    entities: list[EntityName]
    after: str | None


class CrossRealmListing(CrossRealmResponse, kw_only=True):
    """The allowed entities by realm; `total` is the sum over the realms."""

    realms: list[ListingPart]
    total: int


class ExplanationPart(RealmPart, kw_only=True):
    """One realm's explanation."""

    explanation: ExplanationResponse


class CrossRealmExplanations(CrossRealmResponse, kw_only=True):
    """Explanations by realm; `allow`: at least one realm allows it."""

    allow: bool
    realms: list[ExplanationPart]


class ReachQuestion(RequestBody, kw_only=True):
    """Who reaches an asset? `realm` says where the entity is, `realms` which are asked.

    `operations` are asked for instead of `ways`; none is every one that there is. `row` is the
    key of a row of the table: its people alone.
    """

    asset: EntityText
    realm: RealmName | None = None
    realms: Realms = None
    ways: list[Annotated[str, described(enum=list(WAYS))]] = field(
        default_factory=lambda: list(WAYS)
    )
    operations: list[ActionName] | None = None
    row: Annotated[str, described(pattern=_ROW)] | None = None
    limit: Annotated[int, described(minimum=1, maximum=MAX_PEOPLE)] = PAGE_ROWS
    token: str = ""


class AccessTableQuestion(RequestBody, kw_only=True):
    """Who reaches an asset, as a table? `realm`, `realms` and `columns` as in `ReachQuestion`."""

    asset: EntityText
    realm: RealmName | None = None
    realms: Realms = None
    rows: Annotated[str, described(enum=list(ROWS))] = "groups"
    columns: Annotated[str, described(enum=list(COLUMNS))] = "ways"
    limit: Annotated[int, described(minimum=1, maximum=access_table.MAX_ROWS)] = PAGE_ROWS
    token: str = ""


class AccessPath(ResponseBody, kw_only=True):
    """A way to the asset: the entity, and the operation of its realm; `way` may be empty."""

    realm: str
    entity: str
    way: str
    operation: str


class GrantedPath(AccessPath, kw_only=True):
    """An allowed path and its causes: statements, and facts such as ownership.

    A statement that `reaching` does not name applies to the person as an owner.
    `told` false: the caller may not read the causes.
    """

    told: bool
    statements: list[StatementResponse]
    reaching: list[StatementPath]
    facts: list[str]


class PersonWithAccess(ResponseBody, kw_only=True):
    """A person who reaches the asset, with the allowed paths."""

    person: str
    by: list[GrantedPath]


class ReachResponse(ResponseBody, kw_only=True):
    """A page of the people who reach an asset, with its linked entities and its paths."""

    assets: list[LinkEnd]
    asked: list[AccessPath]
    total: int
    counts: dict[str, int]
    people: list[PersonWithAccess]
    left_out: list[str]
    page: NextPage


class RealmPrincipal(ResponseBody, kw_only=True):
    """A group or role of a realm."""

    realm: str
    principal: str


class AccessTableRow(ResponseBody, kw_only=True):
    """Some people, the first of them, and how many of them may by column.

    The key is `user:` or `group:` with a name, `roles:` with the first person of a set of roles,
    or `others:` for people of no group. `acts_as` is told of a set of roles.
    """

    key: str
    people: int
    sample: list[str]
    acts_as: list[RealmPrincipal]
    counts: list[int]


class ClosedRowsResponse(ResponseBody, kw_only=True):
    """The rows of which nobody reaches the asset, and how many people are in them."""

    rows: int
    people: int


class AccessTableResponse(ResponseBody, kw_only=True):
    """Who reaches an asset, the rows with most such people first.

    `people` of all `known` ones reach it, `counts` by column; `total` counts the rows.
    """

    assets: list[LinkEnd]
    columns: list[AccessPath]
    people: int
    known: int
    counts: list[int]
    total: int
    rows: list[AccessTableRow]
    closed: ClosedRowsResponse
    left_out: list[str]
    page: NextPage
    revision: int
