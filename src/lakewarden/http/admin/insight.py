"""Questions whose answer is a picture: a matrix, two principals compared, one summed up."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from lakewarden.http.admin.bodies import RequestBody, ResponseBody, SentencePart
from lakewarden.http.admin.endpoint import Endpoint, HandlerResult, Parameter
from lakewarden.http.admin.field_types import EntityText, PrincipalText, Word
from lakewarden.http.admin.loading import LIMIT
from lakewarden.http.admin.preview import PreviewRequest, draft_matrix
from lakewarden.http.admin.problem import written
from lakewarden.http.admin.sentences import sentence_parts
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.statement_file import principal_text
from lakewarden.service.access_matrix import MOST, access_matrix
from lakewarden.service.compare import ComparedEntities, compare
from lakewarden.service.control import Denied
from lakewarden.service.principal_summary import summary

_SAMPLE = 20
_Limit = Annotated[int, Meta(ge=1, le=MOST)]


class MatrixQuestion(RequestBody, kw_only=True):
    """Who may do an operation on what: `type` where it is about several, `within` a container.

    `against` is a draft, as a preview takes it: the matrix is then that of both policies.
    """

    ask: Word
    type: str | None = None
    within: EntityText | None = None
    limit_rows: _Limit = MOST
    limit_columns: _Limit = MOST
    against: PreviewRequest | UnsetType = UNSET


class MatrixRow(ResponseBody, kw_only=True):
    """Users who act as the same; `sample` are the first of them."""

    principals: list[str]
    users: int
    sample: list[str]


class MatrixColumn(ResponseBody, kw_only=True):
    """Entities that no statement tells apart; `within` is what the first lies in."""

    entities: int
    sample: str
    within: str | None


class MatrixRemainder(ResponseBody, kw_only=True):
    """What is beyond the rows and columns shown."""

    rows: int
    users: int
    columns: int
    entities: int


class MatrixResponse(ResponseBody, kw_only=True):
    """The matrix. `cells` has a text for each row, with a letter for each column.

    `a` allowed, `.` denied, `o` allowed to owners alone, `?` different within the cell.
    `cells_then` are the letters with the draft, null without one.
    """

    ask: str
    type: str
    rows: list[MatrixRow]
    columns: list[MatrixColumn]
    cells: list[str]
    cells_then: list[str] | None
    other: MatrixRemainder
    revision: int


class ComparedPrincipal(RequestBody, kw_only=True):
    """One of two who are compared."""

    principal: PrincipalText


class CompareQuestion(RequestBody, kw_only=True):
    """On what may only the one, only the other, and both do an operation?"""

    a: ComparedPrincipal
    b: ComparedPrincipal
    ask: Word
    within: EntityText | None = None


class ContainerDifference(ResponseBody, kw_only=True):
    """Entities directly in one container, the first of them, and why the other may not there."""

    within: str | None
    entities: int
    sample: str
    why: list[SentencePart]


class ComparisonPart(ResponseBody, kw_only=True):
    """How many entities, and the containers they lie in, the fullest first."""

    entities: int
    inside: list[ContainerDifference]


class ComparisonResponse(ResponseBody, kw_only=True):
    """What two principals may, beside each other."""

    only_a: ComparisonPart
    both: ComparisonPart
    only_b: ComparisonPart
    revision: int


class MembershipPath(ResponseBody, kw_only=True):
    """A group or role, and the memberships that lead there; the last of `path` is it."""

    path: list[str]
    from_directory: bool


class ReachableEntities(ResponseBody, kw_only=True):
    """How many entities of a type are reached in a way, asked as which operation."""

    way: str
    type: str
    operation: str
    entities: int


class PrincipalSummaryResponse(ResponseBody, kw_only=True):
    """What a realm knows of a principal; `owned` are the first of the entities it `owns`."""

    principal: str
    belongs: list[MembershipPath]
    members: int
    reached: list[ReachableEntities]
    owned: list[str]
    owns: int
    statements: list[str]
    last_used: str
    revision: int


def matrix(exchange: Exchange, body: MatrixQuestion) -> HandlerResult:
    """Who may do an operation on what, as classes."""
    found = access_matrix(
        exchange.state,
        exchange.actor,
        exchange.params["realm"],
        body.ask,
        exchange.now,
        type=body.type,
        within=body.within,
        rows=body.limit_rows,
        columns=body.limit_columns,
        against=None if body.against is UNSET else draft_matrix(exchange, body.against),
    )
    if isinstance(found, Denied):
        return found
    return MatrixResponse(
        ask=found.operation,
        type=found.type,
        rows=[
            MatrixRow(
                principals=[principal_text(one) for one in row.principals],
                users=len(row.users),
                sample=[one.name for one in row.users[:_SAMPLE]],
            )
            for row in found.rows
        ],
        columns=[
            MatrixColumn(
                entities=column.entities,
                sample=written(column.sample),
                within=None if column.within is None else written(column.within),
            )
            for column in found.columns
        ],
        cells=list(found.cells),
        cells_then=None if found.cells_then is None else list(found.cells_then),
        other=MatrixRemainder(
            rows=found.rest.rows,
            users=found.rest.users,
            columns=found.rest.columns,
            entities=found.rest.entities,
        ),
        revision=found.revision,
    )


def compared(exchange: Exchange, body: CompareQuestion) -> HandlerResult:
    """What two principals may, beside each other."""
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
                within=None if one.within is None else written(one.within),
                entities=one.entities,
                sample=written(one.sample),
                why=sentence_parts(one.why),
            )
            for one in part.inside
        ],
    )


def principal(exchange: Exchange) -> HandlerResult:
    """What a realm knows of a principal."""
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
                path=[principal_text(step) for step in one.path],
                from_directory=one.from_directory,
            )
            for one in principal_summary.belongs
        ],
        members=principal_summary.members,
        reached=[
            ReachableEntities(
                way=one.way, type=one.type, operation=one.operation, entities=one.entities
            )
            for one in principal_summary.reached
        ],
        owned=[written(one) for one in principal_summary.owned],
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
