"""Questions to several realms at once, and the people who reach an asset through any of them."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import field

from lakewarden.http.admin.bodies.base import NextPage, RequestBody, ResponseBody
from lakewarden.http.admin.bodies.entity import EntityName
from lakewarden.http.admin.bodies.explanation import ExplanationResponse, StatementPath
from lakewarden.http.admin.bodies.question import PrincipalQuestion, TargetQuestion
from lakewarden.http.admin.bodies.statement import StatementResponse
from lakewarden.http.admin.endpoint import (
    Endpoint,
    HandlerResult,
    naming_body,
    place_of,
    token_after,
)
from lakewarden.http.admin.field_types import ActionName, EntityText, RealmName, described
from lakewarden.http.admin.links import LinkEnd, end_of
from lakewarden.http.admin.questions import explanation_response, question_text
from lakewarden.http.admin.statements import statement_response
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.listing import Page
from lakewarden.kernel.model import WAYS
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.statement_file import principal_text
from lakewarden.names.identities import entity_text
from lakewarden.service import access_table, cross_realm
from lakewarden.service.access_table import AccessTable, CountedRow
from lakewarden.service.asset_access import (
    MAX_PEOPLE,
    AssetAccess,
    PathGrants,
    PersonAccess,
    asset_access,
)
from lakewarden.service.asset_paths import AssetPath, AssetQuestion
from lakewarden.service.asset_rows import OTHERS, ROWS
from lakewarden.service.control import Denied
from lakewarden.service.cross_realm import CrossRealmAnswers, InapplicableRealm, RealmQuestion
from lakewarden.service.page_size import PAGE_ROWS
from lakewarden.service.questions import Reasons
from lakewarden.service.realm_selection import MAX_REALMS
from lakewarden.service.state import State

Realms = Annotated[list[RealmName] | None, described(maxItems=MAX_REALMS)]
"""The realms of the question; None: all of the caller's directory."""


_ROW = f"^((user|group|roles):.+|{OTHERS})$"
COLUMNS = ("ways", "operations")
_SAMPLE = 6


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


def who(exchange: Exchange, body: CrossRealmWhoQuestion) -> HandlerResult:
    """A reverse question to several realms."""
    state, actor, now = exchange.state, exchange.actor, exchange.now
    text = question_text(body, body.operation)
    answers = cross_realm.who(state, actor, text, now, body.realms, body.home)
    return answers if isinstance(answers, Denied) else users_response(state, answers)


def users_response(
    state: State, answers: CrossRealmAnswers[tuple[Principal, ...]]
) -> CrossRealmUsers:
    """The response of `who`."""
    return CrossRealmUsers(
        realms=[
            UsersPart(**_part(answer.unit, answer.notes), users=[p.name for p in answer.result])
            for answer in answers.each
        ],
        union=[
            PersonRealms(person=name, realms=list(realms))
            for name, realms in cross_realm.realms_by_person(state, answers).items()
        ],
        **_common_parts(answers.silent, answers.left_out),
    )


def listing(exchange: Exchange, body: CrossRealmListQuestion) -> HandlerResult:
    """A list question to several realms."""
    after = body.after
    places = None if after is None else {(p.realm, p.operation): p.entity for p in after}
    answers = cross_realm.listing(
        exchange.state,
        exchange.actor,
        question_text(body, body.operation),
        exchange.now,
        body.realms,
        size=body.limit,
        after=places,
    )
    return answers if isinstance(answers, Denied) else listing_response(answers)


def listing_response(answers: CrossRealmAnswers[Page]) -> CrossRealmListing:
    """The response of `listing`."""
    return CrossRealmListing(
        realms=[
            ListingPart(
                **_part(answer.unit, answer.notes),
                total=answer.result.total,
                entities=[EntityName(type=e.type, name=e.name) for e in answer.result.entities],
                after=None if answer.result.after is None else entity_text(answer.result.after),
            )
            for answer in answers.each
        ],
        total=sum(answer.result.total for answer in answers.each),
        **_common_parts(answers.silent, answers.left_out),
    )


def explain(exchange: Exchange, body: CrossRealmExplainQuestion) -> HandlerResult:
    """An explain question to several realms."""
    text = question_text(body, body.operation)
    state, actor, now = exchange.state, exchange.actor, exchange.now
    answers = cross_realm.explain(state, actor, text, now, body.realms, body.home)
    return answers if isinstance(answers, Denied) else explanations_response(answers)


def explanations_response(answers: CrossRealmAnswers[Reasons]) -> CrossRealmExplanations:
    """The response of `explain`."""
    return CrossRealmExplanations(
        allow=any(answer.result.explanation.decision.allow for answer in answers.each),
        realms=[
            ExplanationPart(
                **_part(answer.unit, ()),
                explanation=explanation_response(answer.result, answer.notes),
            )
            for answer in answers.each
        ],
        **_common_parts(answers.silent, answers.left_out),
    )


def _part(unit: RealmQuestion, notes: tuple[str, ...]) -> dict[str, Any]:
    entity = None if unit.entity is None else entity_text(unit.entity)
    return {
        "realm": unit.realm,
        "operation": unit.operation,
        "entity": entity or None,
        "notes": list(notes),
    }


def _common_parts(
    silent: tuple[InapplicableRealm, ...], left_out: tuple[str, ...]
) -> dict[str, Any]:
    told_of = [RealmNotApplicable(realm=realm.realm, why=realm.why) for realm in silent]
    return {"silent": told_of, "left_out": list(left_out)}


def access(exchange: Exchange, body: ReachQuestion) -> HandlerResult:
    """The people who reach an asset through any of its realms."""
    asset_question = AssetQuestion(body.asset, body.realm, body.realms, body.ways, body.operations)
    question = (exchange.path, asset_question, body.row)
    after = place_of(body.token, str, *question, where="body.token")
    with naming_body():
        reached = asset_access(
            exchange.state,
            exchange.actor,
            asset_question,
            exchange.now,
            row=body.row,
            size=body.limit,
            after=after,
        )
    if isinstance(reached, Denied):
        return reached
    return reach_response(reached, token_after(reached.after, *question))


def table(exchange: Exchange, body: AccessTableQuestion) -> HandlerResult:
    """The people who reach an asset, as a table."""
    if body.columns not in COLUMNS:
        message = f"expected one of: {', '.join(COLUMNS)}; got `{body.columns}`"
        raise BadInput(message, where="body.columns")
    operations = () if body.columns == "operations" else None
    asset_question = AssetQuestion(body.asset, body.realm, body.realms, operations=operations)
    question = (exchange.path, asset_question, body.rows)
    skip = place_of(body.token, int, *question, where="body.token") or 0
    with naming_body():
        counted = access_table.access_table(
            exchange.state,
            exchange.actor,
            asset_question,
            exchange.now,
            by=body.rows,
            size=body.limit,
            skip=skip,
        )
    if isinstance(counted, Denied):
        return counted
    return _table_response(counted, token_after(counted.after, *question))


def _table_response(counted: AccessTable, page: NextPage) -> AccessTableResponse:
    return AccessTableResponse(
        assets=[end_of(asset) for asset in counted.assets],
        columns=[AccessPath(**_path(path)) for path in counted.paths],
        people=counted.people,
        known=counted.known,
        counts=list(counted.counts),
        total=counted.total,
        rows=[_table_row(row) for row in counted.rows],
        closed=ClosedRowsResponse(rows=counted.closed.rows, people=counted.closed.people),
        left_out=list(counted.left_out),
        page=page,
        revision=counted.revision,
    )


def _table_row(counted: CountedRow) -> AccessTableRow:
    return AccessTableRow(
        key=counted.row.key,
        people=len(counted.row.people),
        sample=list(counted.row.people[:_SAMPLE]),
        acts_as=[
            RealmPrincipal(realm=realm, principal=principal_text(principal))
            for realm, principal in counted.row.principals
        ],
        counts=list(counted.counts),
    )


def reach_response(reached: AssetAccess, page: NextPage) -> ReachResponse:
    """The response of `access`."""
    return ReachResponse(
        assets=[end_of(asset) for asset in reached.assets],
        asked=[AccessPath(**_path(path)) for path in reached.paths],
        total=reached.total,
        counts=reached.counts,
        people=[_person(access) for access in reached.people],
        left_out=list(reached.left_out),
        page=page,
    )


def _path(path: AssetPath) -> dict[str, Any]:
    end = end_of(path.asset)
    return {
        "realm": end.realm,
        "entity": end.entity,
        "way": path.way,
        "operation": path.operation,
    }


def _person(access: PersonAccess) -> PersonWithAccess:
    return PersonWithAccess(person=access.person, by=[_by(path, by) for path, by in access.paths])


def _by(path: AssetPath, by: PathGrants) -> GrantedPath:
    return GrantedPath(
        **_path(path),
        told=by.is_visible,
        statements=[statement_response(grant.statement) for grant in by.grants],
        reaching=[
            StatementPath(
                statement=grant.statement.id, over=[principal_text(p) for p in grant.over]
            )
            for grant in by.grants
            if grant.over is not None
        ],
        facts=list(by.facts),
    )


ENDPOINTS = (
    Endpoint(
        "POST",
        "/estate/who",
        "subject.search",
        who,
        "list the users who may perform an operation, in several realms",
        request=CrossRealmWhoQuestion,
        response=CrossRealmUsers,
    ),
    Endpoint(
        "POST",
        "/estate/list",
        "decision.ask_own",
        listing,
        "list the entities on which a user may perform an operation, in several realms",
        request=CrossRealmListQuestion,
        response=CrossRealmListing,
    ),
    Endpoint(
        "POST",
        "/estate/explain",
        "explain.ask_own",
        explain,
        "explain a decision in several realms",
        request=CrossRealmExplainQuestion,
        response=CrossRealmExplanations,
    ),
    Endpoint(
        "POST",
        "/estate/access",
        "entity.access",
        access,
        "list the users who can access an asset, through all realms that contain it",
        request=ReachQuestion,
        response=ReachResponse,
    ),
    Endpoint(
        "POST",
        "/estate/access/table",
        "entity.access",
        table,
        "count the users who can access an asset, by group, set of roles or person",
        request=AccessTableQuestion,
        response=AccessTableResponse,
    ),
)
