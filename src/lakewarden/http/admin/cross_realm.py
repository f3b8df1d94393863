"""Questions to several realms at once, and who reaches an asset through any of them."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import field

from lakewarden.http.admin.bodies import (
    EntityName,
    ExplanationResponse,
    NextPage,
    PrincipalQuestion,
    RequestBody,
    ResponseBody,
    StatementPath,
    StatementResponse,
    TargetQuestion,
)
from lakewarden.http.admin.endpoint import Endpoint, HandlerResult, place_of, token_after
from lakewarden.http.admin.field_types import EntityText, RealmName, Word, described
from lakewarden.http.admin.links import LinkEnd, end_of
from lakewarden.http.admin.problem import written
from lakewarden.http.admin.questions import explanation_response, words_of
from lakewarden.http.admin.statements import statement_response
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.listing import Page
from lakewarden.kernel.model import WAYS
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.statement_file import principal_text
from lakewarden.service import cross_realm
from lakewarden.service.asset_access import (
    MAX_PAGE,
    AssetAccess,
    AssetPath,
    PathGrants,
    PersonAccess,
    asset_access,
)
from lakewarden.service.control import Denied
from lakewarden.service.cross_realm import CrossRealmAnswers, InapplicableRealm, RealmQuestion
from lakewarden.service.questions import Reasons
from lakewarden.service.realm_selection import MAX_REALMS
from lakewarden.service.state import State

Realms = Annotated[list[RealmName] | None, described(maxItems=MAX_REALMS)]
"""The realms that are asked; None: all of the caller's directory."""


class CrossRealmWhoQuestion(TargetQuestion, kw_only=True):
    """Who may do it in several realms? `home` says in which of them the entity is."""

    operation: Word
    realms: Realms = None
    home: RealmName | None = None


class CrossRealmListQuestion(PrincipalQuestion, kw_only=True):
    """On what may the principal do it, in several realms? A page of each, see `PageStart`."""

    operation: Word
    realms: Realms = None
    limit: Annotated[int, described(minimum=1, maximum=1_000)] = 100
    after: list[PageStart] | None = None


class PageStart(RequestBody, kw_only=True):
    """Behind which entity a realm's page begins; only places that are given are listed."""

    realm: RealmName
    operation: Word
    entity: EntityText


class CrossRealmExplainQuestion(PrincipalQuestion, kw_only=True):
    """Why may the principal do it in several realms, or why not?"""

    operation: Word
    realms: Realms = None
    home: RealmName | None = None


class RealmNotApplicable(ResponseBody, kw_only=True):
    """A realm to which the question does not apply, and why."""

    realm: str
    why: str


class CrossRealmResponse(ResponseBody, kw_only=True):
    """What several realms answer: those that are silent, and those left out."""

    silent: list[RealmNotApplicable]
    left_out: list[str]


class RealmPart(ResponseBody, kw_only=True):
    """One realm's part: what it was asked there."""

    realm: str
    operation: str
    entity: str | None
    notes: list[str]


class UsersPart(RealmPart, kw_only=True):
    """The users who may, as the realm spells them."""

    users: list[str]


class PersonRealms(ResponseBody, kw_only=True):
    """Somebody of the directory, and the realms that say yes."""

    person: str
    realms: list[str]


class CrossRealmUsers(CrossRealmResponse, kw_only=True):
    """Who may, realm by realm and in all."""

    realms: list[UsersPart]
    union: list[PersonRealms]


class ListingPart(RealmPart, kw_only=True):
    """A page of a realm's entities; `after` is the last one where more follow."""

    total: int
    entities: list[EntityName]
    after: str | None


class CrossRealmListing(CrossRealmResponse, kw_only=True):
    """On what, realm by realm; `total` is that of all of them."""

    realms: list[ListingPart]
    total: int


class ExplanationPart(RealmPart, kw_only=True):
    """One realm's explanation."""

    explanation: ExplanationResponse


class CrossRealmExplanations(CrossRealmResponse, kw_only=True):
    """Why, realm by realm; `allow`: one of them says yes."""

    allow: bool
    realms: list[ExplanationPart]


class ReachQuestion(RequestBody, kw_only=True):
    """Who reaches an asset? `realm` says where the entity is, `realms` which are asked."""

    asset: EntityText
    realm: RealmName | None = None
    realms: Realms = None
    ways: list[Annotated[str, described(enum=list(WAYS))]] = field(
        default_factory=lambda: list(WAYS)
    )
    limit: Annotated[int, described(minimum=1, maximum=MAX_PAGE)] = 100
    token: str = ""


class AccessPath(ResponseBody, kw_only=True):
    """A way to the asset: the entity, and the operation of its realm."""

    realm: str
    entity: str
    way: str
    operation: str


class GrantedPath(AccessPath, kw_only=True):
    """An open way, and what opens it: statements and over whom they reach, and other facts.

    A statement that `reaching` does not name reaches the person as an owner.
    `told` false: the caller may not have it explained.
    """

    told: bool
    statements: list[StatementResponse]
    reaching: list[StatementPath]
    facts: list[str]


class PersonWithAccess(ResponseBody, kw_only=True):
    """Somebody who reaches the asset."""

    person: str
    by: list[GrantedPath]


class ReachResponse(ResponseBody, kw_only=True):
    """Who reaches an asset: all that it is, what was asked, and a page of the people."""

    assets: list[LinkEnd]
    asked: list[AccessPath]
    total: int
    counts: dict[str, int]
    people: list[PersonWithAccess]
    left_out: list[str]
    page: NextPage


def who(exchange: Exchange, body: CrossRealmWhoQuestion) -> HandlerResult:
    """Who may do something, in several realms?"""
    state, actor, now = exchange.state, exchange.actor, exchange.now
    words = words_of(body, body.operation)
    found = cross_realm.who(state, actor, words, now, body.realms, body.home)
    return found if isinstance(found, Denied) else users_response(state, found)


def users_response(
    state: State, found: CrossRealmAnswers[tuple[Principal, ...]]
) -> CrossRealmUsers:
    """The answers to `who`, as a body."""
    return CrossRealmUsers(
        realms=[
            UsersPart(**_part(one.unit, one.notes), users=[p.name for p in one.found])
            for one in found.each
        ],
        union=[
            PersonRealms(person=name, realms=list(realms))
            for name, realms in cross_realm.realms_by_person(state, found).items()
        ],
        **_common_parts(found.silent, found.left_out),
    )


def listing(exchange: Exchange, body: CrossRealmListQuestion) -> HandlerResult:
    """On what may somebody do something, in several realms?"""
    after = body.after
    places = None if after is None else {(p.realm, p.operation): p.entity for p in after}
    found = cross_realm.listing(
        exchange.state,
        exchange.actor,
        words_of(body, body.operation),
        exchange.now,
        body.realms,
        size=body.limit,
        after=places,
    )
    return found if isinstance(found, Denied) else listing_response(found)


def listing_response(found: CrossRealmAnswers[Page]) -> CrossRealmListing:
    """The answers to `list`, as a body."""
    return CrossRealmListing(
        realms=[
            ListingPart(
                **_part(one.unit, one.notes),
                total=one.found.total,
                entities=[EntityName(type=e.type, name=e.name) for e in one.found.entities],
                after=None if one.found.after is None else written(one.found.after),
            )
            for one in found.each
        ],
        total=sum(one.found.total for one in found.each),
        **_common_parts(found.silent, found.left_out),
    )


def explain(exchange: Exchange, body: CrossRealmExplainQuestion) -> HandlerResult:
    """Why may somebody do something in several realms, or why not?"""
    words = words_of(body, body.operation)
    state, actor, now = exchange.state, exchange.actor, exchange.now
    found = cross_realm.explain(state, actor, words, now, body.realms, body.home)
    return found if isinstance(found, Denied) else explanations_response(found)


def explanations_response(found: CrossRealmAnswers[Reasons]) -> CrossRealmExplanations:
    """The answers to `explain`, as a body."""
    return CrossRealmExplanations(
        allow=any(one.found.found.decision.allow for one in found.each),
        realms=[
            ExplanationPart(
                **_part(one.unit, ()), explanation=explanation_response(one.found, one.notes)
            )
            for one in found.each
        ],
        **_common_parts(found.silent, found.left_out),
    )


def _part(unit: RealmQuestion, notes: tuple[str, ...]) -> dict[str, Any]:
    entity = None if unit.entity is None else written(unit.entity)
    return {
        "realm": unit.realm,
        "operation": unit.operation,
        "entity": entity or None,
        "notes": list(notes),
    }


def _common_parts(
    silent: tuple[InapplicableRealm, ...], left_out: tuple[str, ...]
) -> dict[str, Any]:
    told_of = [RealmNotApplicable(realm=one.realm, why=one.why) for one in silent]
    return {"silent": told_of, "left_out": list(left_out)}


def access(exchange: Exchange, body: ReachQuestion) -> HandlerResult:
    """Who reaches an asset, through any realm that has it?"""
    question = (exchange.path, body.asset, body.realm, body.realms, body.ways)
    found = asset_access(
        exchange.state,
        exchange.actor,
        body.asset,
        exchange.now,
        home=body.realm,
        names=body.realms,
        ways=body.ways,
        size=body.limit,
        after=place_of(body.token, str, *question),
    )
    if isinstance(found, Denied):
        return found
    return reach_response(found, token_after(found.after, *question))


def reach_response(found: AssetAccess, page: NextPage) -> ReachResponse:
    """Who reaches an asset, as a body."""
    return ReachResponse(
        assets=[end_of(asset) for asset in found.assets],
        asked=[AccessPath(**_path(path)) for path in found.paths],
        total=found.total,
        counts=found.counts,
        people=[_person(one) for one in found.people],
        left_out=list(found.left_out),
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


def _person(one: PersonAccess) -> PersonWithAccess:
    return PersonWithAccess(person=one.person, by=[_by(path, by) for path, by in one.paths])


def _by(path: AssetPath, by: PathGrants) -> GrantedPath:
    return GrantedPath(
        **_path(path),
        told=by.told,
        statements=[statement_response(one.statement) for one in by.grants],
        reaching=[
            StatementPath(statement=one.statement.id, over=[principal_text(p) for p in one.over])
            for one in by.grants
            if one.over is not None
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
)
