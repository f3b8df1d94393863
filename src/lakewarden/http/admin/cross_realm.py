"""Questions to several realms at once, and the people who reach an asset through any of them."""

from __future__ import annotations

from typing import Any

from lakewarden.http.admin.bodies.base import NextPage
from lakewarden.http.admin.bodies.cross_realm import (
    COLUMNS,
    AccessPath,
    AccessTableQuestion,
    AccessTableResponse,
    AccessTableRow,
    ClosedRowsResponse,
    CrossRealmExplainQuestion,
    CrossRealmExplanations,
    CrossRealmListing,
    CrossRealmListQuestion,
    CrossRealmUsers,
    CrossRealmWhoQuestion,
    ExplanationPart,
    GrantedPath,
    ListingPart,
    PersonRealms,
    PersonWithAccess,
    ReachQuestion,
    ReachResponse,
    RealmNotApplicable,
    RealmPrincipal,
    UsersPart,
)
from lakewarden.http.admin.bodies.entity import EntityName
from lakewarden.http.admin.bodies.explanation import StatementPath
from lakewarden.http.admin.endpoint import (
    Endpoint,
    HandlerResult,
    naming_body,
    place_of,
    token_after,
)
from lakewarden.http.admin.links import end_of
from lakewarden.http.admin.questions import explanation_response, question_text
from lakewarden.http.admin.statements import statement_response
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.listing import Page
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.statement_file import principal_text
from lakewarden.names.identities import entity_text
from lakewarden.service import access_table, cross_realm
from lakewarden.service.access_table import AccessTable, CountedRow
from lakewarden.service.asset_access import AssetAccess, PathGrants, PersonAccess, asset_access
from lakewarden.service.asset_paths import AssetPath, AssetQuestion
from lakewarden.service.control import Denied
from lakewarden.service.cross_realm import CrossRealmAnswers, InapplicableRealm, RealmQuestion
from lakewarden.service.questions import Reasons
from lakewarden.service.state import State

_SAMPLE = 6


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
