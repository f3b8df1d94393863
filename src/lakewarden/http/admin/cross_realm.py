"""Questions to several realms at once, and who reaches an asset through any of them."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import field

from lakewarden.http.admin.bodies import (
    Act,
    Body,
    EntityName,
    ExplanationGiven,
    Given,
    PageGiven,
    Parts,
    Reached,
    StatementGiven,
)
from lakewarden.http.admin.endpoint import Answered, Endpoint, place_of, token_after
from lakewarden.http.admin.links import End, end_of
from lakewarden.http.admin.problem import written
from lakewarden.http.admin.questions import told, words_of
from lakewarden.http.admin.statements import given
from lakewarden.http.admin.words import EntityText, RealmName, Word, described
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.listing import Page
from lakewarden.kernel.model import WAYS
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.statement_file import principal_text
from lakewarden.service import cross_realm
from lakewarden.service.asset_access import (
    MAX_PAGE,
    AssetAccess,
    By,
    Path,
    PersonAccess,
    asset_access,
)
from lakewarden.service.control import Denied
from lakewarden.service.cross_realm import Answers, Silent, Unit
from lakewarden.service.questions import Reasons
from lakewarden.service.realm_selection import MAX_REALMS
from lakewarden.service.state import State

Realms = Annotated[list[RealmName] | None, described(maxItems=MAX_REALMS)]
"""The realms that are asked; None: all of the caller's directory."""


class WhoAcross(Act, kw_only=True):
    """Who may do it in several realms? `home` says in which of them the entity is."""

    operation: Word
    realms: Realms = None
    home: RealmName | None = None


class ListAcross(Parts, kw_only=True):
    """On what may the principal do it, in several realms? A page of each, see `Place`."""

    operation: Word
    realms: Realms = None
    limit: Annotated[int, described(minimum=1, maximum=1_000)] = 100
    after: list[Place] | None = None


class Place(Body, kw_only=True):
    """Behind which entity a realm's page begins; only places that are given are listed."""

    realm: RealmName
    operation: Word
    entity: EntityText


class ExplainAcross(Parts, kw_only=True):
    """Why may the principal do it in several realms, or why not?"""

    operation: Word
    realms: Realms = None
    home: RealmName | None = None


class SilentGiven(Given, kw_only=True):
    """A realm to which the question does not apply, and why."""

    realm: str
    why: str


class Spread(Given, kw_only=True):
    """What several realms answer: those that are silent, and those left out."""

    silent: list[SilentGiven]
    left_out: list[str]


class Part(Given, kw_only=True):
    """One realm's part: what it was asked there."""

    realm: str
    operation: str
    entity: str | None
    notes: list[str]


class UsersPart(Part, kw_only=True):
    """The users who may, as the realm spells them."""

    users: list[str]


class Person(Given, kw_only=True):
    """Somebody of the directory, and the realms that say yes."""

    person: str
    realms: list[str]


class UsersAcross(Spread, kw_only=True):
    """Who may, realm by realm and in all."""

    realms: list[UsersPart]
    union: list[Person]


class ListingPart(Part, kw_only=True):
    """A page of a realm's entities; `after` is the last one where more follow."""

    total: int
    entities: list[EntityName]
    after: str | None


class ListingAcross(Spread, kw_only=True):
    """On what, realm by realm; `total` is that of all of them."""

    realms: list[ListingPart]
    total: int


class ExplanationPart(Part, kw_only=True):
    """One realm's explanation."""

    explanation: ExplanationGiven


class ExplanationsAcross(Spread, kw_only=True):
    """Why, realm by realm; `allow`: one of them says yes."""

    allow: bool
    realms: list[ExplanationPart]


class ReachQuestion(Body, kw_only=True):
    """Who reaches an asset? `realm` says where the entity is, `realms` which are asked."""

    asset: EntityText
    realm: RealmName | None = None
    realms: Realms = None
    ways: list[Annotated[str, described(enum=list(WAYS))]] = field(
        default_factory=lambda: list(WAYS)
    )
    limit: Annotated[int, described(minimum=1, maximum=MAX_PAGE)] = 100
    token: str = ""


class PathGiven(Given, kw_only=True):
    """A way to the asset: the entity, and the operation of its realm."""

    realm: str
    entity: str
    way: str
    operation: str


class ByGiven(PathGiven, kw_only=True):
    """An open way, and what opens it: statements and over whom they reach, and other facts.

    A statement that `reaching` does not name reaches the person as an owner.
    `told` false: the caller may not have it explained.
    """

    told: bool
    statements: list[StatementGiven]
    reaching: list[Reached]
    facts: list[str]


class PersonReaching(Given, kw_only=True):
    """Somebody who reaches the asset."""

    person: str
    by: list[ByGiven]


class ReachGiven(Given, kw_only=True):
    """Who reaches an asset: all that it is, what was asked, and a page of the people."""

    assets: list[End]
    asked: list[PathGiven]
    total: int
    counts: dict[str, int]
    people: list[PersonReaching]
    left_out: list[str]
    page: PageGiven


def who(exchange: Exchange, body: WhoAcross) -> Answered:
    """Who may do something, in several realms?"""
    state, actor, now = exchange.state, exchange.actor, exchange.now
    words = words_of(body, body.operation)
    found = cross_realm.who(state, actor, words, now, body.realms, body.home)
    return found if isinstance(found, Denied) else users_given(state, found)


def users_given(state: State, found: Answers[tuple[Principal, ...]]) -> UsersAcross:
    """The answers to `who`, as a body."""
    return UsersAcross(
        realms=[
            UsersPart(**_part(one.unit, one.notes), users=[p.name for p in one.found])
            for one in found.each
        ],
        union=[
            Person(person=name, realms=list(realms))
            for name, realms in cross_realm.union(state, found).items()
        ],
        **_rest(found.silent, found.left_out),
    )


def listing(exchange: Exchange, body: ListAcross) -> Answered:
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
    return found if isinstance(found, Denied) else listing_given(found)


def listing_given(found: Answers[Page]) -> ListingAcross:
    """The answers to `list`, as a body."""
    return ListingAcross(
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
        **_rest(found.silent, found.left_out),
    )


def explain(exchange: Exchange, body: ExplainAcross) -> Answered:
    """Why may somebody do something in several realms, or why not?"""
    words = words_of(body, body.operation)
    state, actor, now = exchange.state, exchange.actor, exchange.now
    found = cross_realm.explained(state, actor, words, now, body.realms, body.home)
    return found if isinstance(found, Denied) else reasons_given(found)


def reasons_given(found: Answers[Reasons]) -> ExplanationsAcross:
    """The answers to `explain`, as a body."""
    return ExplanationsAcross(
        allow=any(one.found.found.decision.allow for one in found.each),
        realms=[
            ExplanationPart(**_part(one.unit, ()), explanation=told(one.found, one.notes))
            for one in found.each
        ],
        **_rest(found.silent, found.left_out),
    )


def _part(unit: Unit, notes: tuple[str, ...]) -> dict[str, Any]:
    entity = None if unit.entity is None else written(unit.entity)
    return {
        "realm": unit.realm,
        "operation": unit.operation,
        "entity": entity or None,
        "notes": list(notes),
    }


def _rest(silent: tuple[Silent, ...], left_out: tuple[str, ...]) -> dict[str, Any]:
    told_of = [SilentGiven(realm=one.realm, why=one.why) for one in silent]
    return {"silent": told_of, "left_out": list(left_out)}


def access(exchange: Exchange, body: ReachQuestion) -> Answered:
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
    return reach_given(found, token_after(found.after, *question))


def reach_given(found: AssetAccess, page: PageGiven) -> ReachGiven:
    """Who reaches an asset, as a body."""
    return ReachGiven(
        assets=[end_of(asset) for asset in found.assets],
        asked=[PathGiven(**_path(path)) for path in found.paths],
        total=found.total,
        counts=found.counts,
        people=[_person(one) for one in found.people],
        left_out=list(found.left_out),
        page=page,
    )


def _path(path: Path) -> dict[str, Any]:
    end = end_of(path.asset)
    return {
        "realm": end.realm,
        "entity": end.entity,
        "way": path.way,
        "operation": path.operation,
    }


def _person(one: PersonAccess) -> PersonReaching:
    return PersonReaching(person=one.person, by=[_by(path, by) for path, by in one.paths])


def _by(path: Path, by: By) -> ByGiven:
    return ByGiven(
        **_path(path),
        told=by.told,
        statements=[given(one.statement) for one in by.grants],
        reaching=[
            Reached(statement=one.statement.id, over=[principal_text(p) for p in one.over])
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
        "who may do something, in several realms?",
        takes=WhoAcross,
        gives=UsersAcross,
    ),
    Endpoint(
        "POST",
        "/estate/list",
        "decision.ask_own",
        listing,
        "on what may somebody do something, in several realms?",
        takes=ListAcross,
        gives=ListingAcross,
    ),
    Endpoint(
        "POST",
        "/estate/explain",
        "explain.ask_own",
        explain,
        "why may somebody do something in several realms, or why not?",
        takes=ExplainAcross,
        gives=ExplanationsAcross,
    ),
    Endpoint(
        "POST",
        "/estate/access",
        "entity.access",
        access,
        "who reaches an asset, through any realm that has it?",
        takes=ReachQuestion,
        gives=ReachGiven,
    ),
)
