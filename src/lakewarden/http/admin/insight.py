"""Questions answered with a picture: a matrix, a comparison of two principals, a summary of one."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from msgspec import UNSET

from lakewarden.http.admin.bodies.insight import (
    CompareQuestion,
    ComparisonPart,
    ComparisonResponse,
    ContainerDifference,
    MatrixColumn,
    MatrixQuestion,
    MatrixReason,
    MatrixRemainder,
    MatrixResponse,
    MatrixRow,
    MembershipPath,
    PrincipalSummaryResponse,
    ReachableEntities,
)
from lakewarden.http.admin.bodies.preview import PreviewRequest
from lakewarden.http.admin.endpoint import Endpoint, HandlerResult, Parameter
from lakewarden.http.admin.loading import LIMIT
from lakewarden.http.admin.preview import draft_matrix
from lakewarden.http.admin.sentences import sentence_parts
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.statement_file import principal_text
from lakewarden.names.identities import entity_text
from lakewarden.service.access_matrix import CellReason, ComparedPolicy, access_matrix
from lakewarden.service.compare import ComparedEntities, compare
from lakewarden.service.control import Denied
from lakewarden.service.input_field import in_field
from lakewarden.service.past_realm import realm_at
from lakewarden.service.principal_summary import summary
from lakewarden.service.state import RealmState

_SAMPLE = 20


def matrix(exchange: Exchange, body: MatrixQuestion) -> HandlerResult:
    """The access matrix of an operation, by classes."""
    against = None if body.against is UNSET else _against(exchange, body.against)
    cells = access_matrix(
        exchange.state,
        exchange.actor,
        exchange.params["realm"],
        body.ask,
        exchange.now,
        type=body.type,
        within=body.within,
        rows=body.limit_rows,
        columns=body.limit_columns,
        against=against,
        explained=body.explain,
    )
    if isinstance(cells, Denied):
        return cells
    return MatrixResponse(
        ask=cells.operation,
        type=cells.type,
        rows=[
            MatrixRow(
                principals=[principal_text(principal) for principal in row.principals],
                users=len(row.users),
                sample=[user.name for user in row.users[:_SAMPLE]],
            )
            for row in cells.rows
        ],
        columns=[
            MatrixColumn(
                entities=column.entities,
                sample=entity_text(column.sample),
                within=None if column.within is None else entity_text(column.within),
            )
            for column in cells.columns
        ],
        cells=list(cells.cells),
        cells_then=None if cells.cells_then is None else list(cells.cells_then),
        other=MatrixRemainder(
            rows=cells.rest.rows,
            users=cells.rest.users,
            columns=cells.rest.columns,
            entities=cells.rest.entities,
        ),
        revision=cells.revision,
        revision_then=cells.revision_then,
        reasons=[_reason(reason) for reason in cells.reasons],
    )


def _against(exchange: Exchange, against: PreviewRequest | int | datetime) -> ComparedPolicy:
    """The policy of a draft, or that of an earlier revision."""
    if isinstance(against, PreviewRequest):
        make = draft_matrix(exchange, against)
        return ComparedPolicy("realm.plan", lambda realm: replace(realm, matrix=make(realm)))

    at = against.timestamp() if isinstance(against, datetime) else against

    def past(realm: RealmState) -> RealmState:
        with exchange.service.reading() as reading, in_field("body.against"):
            return realm_at(reading, realm, at, exchange.now)

    return ComparedPolicy("audit.read", past)


def _reason(reason: CellReason) -> MatrixReason:
    compared = reason.compared
    return MatrixReason(
        row=reason.row,
        column=reason.column,
        summary=sentence_parts(reason.current.summary),
        statements=list(reason.current.explanation.statements),
        summary_then=None if compared is None else sentence_parts(compared.summary),
        statements_then=None if compared is None else list(compared.explanation.statements),
    )


def compared(exchange: Exchange, body: CompareQuestion) -> HandlerResult:
    """Compares the access of two principals."""
    comparison = compare(
        exchange.state,
        exchange.actor,
        exchange.params["realm"],
        body.a.principal,
        body.b.principal,
        body.ask,
        exchange.now,
        within=body.within,
    )
    if isinstance(comparison, Denied):
        return comparison
    return ComparisonResponse(
        only_a=_part(comparison.only_a),
        both=_part(comparison.both),
        only_b=_part(comparison.only_b),
        revision=comparison.revision,
    )


def _part(part: ComparedEntities) -> ComparisonPart:
    return ComparisonPart(
        entities=part.entities,
        inside=[
            ContainerDifference(
                within=None if difference.within is None else entity_text(difference.within),
                entities=difference.entities,
                sample=entity_text(difference.sample),
                why=sentence_parts(difference.why),
            )
            for difference in part.inside
        ],
    )


def principal(exchange: Exchange) -> HandlerResult:
    """The summary of a principal in a realm."""
    with exchange.service.reading() as reading:
        principal_summary = summary(
            reading,
            exchange.state,
            exchange.actor,
            exchange.params["realm"],
            exchange.one("p"),
            exchange.now,
        )
    if isinstance(principal_summary, Denied):
        return principal_summary
    return PrincipalSummaryResponse(
        principal=principal_text(principal_summary.principal),
        belongs=[
            MembershipPath(
                path=[principal_text(step) for step in membership.path],
                from_directory=membership.from_directory,
            )
            for membership in principal_summary.belongs
        ],
        members=principal_summary.members,
        reached=[
            ReachableEntities(
                way=reached.way,
                type=reached.type,
                operation=reached.operation,
                entities=reached.entities,
            )
            for reached in principal_summary.reached
        ],
        owned=[entity_text(entity) for entity in principal_summary.owned],
        owns=principal_summary.owns,
        statements=list(principal_summary.statements),
        last_used=principal_summary.last_used,
        revision=principal_summary.revision,
    )


_REALM = "/realms/{realm}"

ENDPOINTS = (
    Endpoint(
        "POST",
        _REALM + "/matrix",
        "subject.search",
        matrix,
        "compute the access matrix, by classes of users and entities",
        request=MatrixQuestion,
        response=MatrixResponse,
        body_limit=LIMIT,
    ),
    Endpoint(
        "POST",
        _REALM + "/compare",
        "decision.ask",
        compared,
        "compare the access of two principals",
        request=CompareQuestion,
        response=ComparisonResponse,
    ),
    Endpoint(
        "GET",
        _REALM + "/principal",
        "person.list",
        principal,
        "read a summary of a principal",
        response=PrincipalSummaryResponse,
        query=(Parameter("p", "the principal, `kind:name`", required=True),),
    ),
)
