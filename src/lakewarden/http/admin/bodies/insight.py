"""The bodies of the matrix, of differences between revisions, and of principals."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, field

from lakewarden.http.admin.bodies.base import RequestBody, ResponseBody
from lakewarden.http.admin.bodies.preview import PreviewRequest
from lakewarden.http.admin.bodies.statement import SentencePart
from lakewarden.http.admin.field_types import ActionName, EntityText, Moment, PrincipalText
from lakewarden.service.access_matrix import EXPLAINED, MOST

_Limit = Annotated[int, Meta(ge=1, le=MOST)]
_Place = Annotated[int, Meta(ge=0, lt=MOST)]
_Revision = Annotated[int, Meta(ge=0)]


class MatrixQuestion(RequestBody, kw_only=True):
    """The access matrix of an operation on entities of a `type`, `within` a container.

    `against` is a draft, as a preview takes it, or an earlier revision, by its number or a time:
    the matrix is then that of both. `explain` are cells, by row and column: their reasons are told.
    """

    ask: ActionName
    type: str | None = None
    within: EntityText | None = None
    limit_rows: _Limit = MOST
    limit_columns: _Limit = MOST
    against: PreviewRequest | _Revision | Moment | UnsetType = UNSET
    explain: Annotated[list[tuple[_Place, _Place]], Meta(max_length=EXPLAINED)] = field(
        default_factory=list
    )


class MatrixRow(ResponseBody, kw_only=True):
    """Users with the same effective principals; `sample` are the first of them."""

    principals: list[str]
    users: int
    sample: list[str]


class MatrixColumn(ResponseBody, kw_only=True):
    """Entities of one class; `within` is the container of the first."""

    entities: int
    sample: str
    within: str | None


class MatrixRemainder(ResponseBody, kw_only=True):
    """The rows and columns beyond the limits, counted."""

    rows: int
    users: int
    columns: int
    entities: int


class MatrixReason(ResponseBody, kw_only=True):
    """Why a cell is as it is, for its first user and entity, as a sentence.

    `statements` decide it. Those with `_then` are of the other policy, null without one.
    """

    row: int
    column: int
    summary: list[SentencePart]
    statements: list[str]
    summary_then: list[SentencePart] | None
    statements_then: list[str] | None


class MatrixResponse(ResponseBody, kw_only=True):
    """The access matrix. `cells` has a text for each row, with a letter for each column.

    `a` allowed, `.` denied, `o` allowed for owners only, `?` mixed.
    `cells_then` are the letters of the draft or of the earlier revision, `revision_then` is its
    revision; null without one. `reasons` are those of the cells of `explain`.
    """

    ask: str
    type: str
    rows: list[MatrixRow]
    columns: list[MatrixColumn]
    cells: list[str]
    cells_then: list[str] | None
    other: MatrixRemainder
    revision: int
    revision_then: int | None
    reasons: list[MatrixReason]


class ComparedPrincipal(RequestBody, kw_only=True):
    """One of the two compared principals."""

    principal: PrincipalText


class CompareQuestion(RequestBody, kw_only=True):
    """A comparison: on which entities may only one, only the other, or both do it?"""

    a: ComparedPrincipal
    b: ComparedPrincipal
    ask: ActionName
    within: EntityText | None = None


class ContainerDifference(ResponseBody, kw_only=True):
    """Entities of one container, the first of them, and why the other principal is denied."""

    within: str | None
    entities: int
    sample: str
    why: list[SentencePart]


class ComparisonPart(ResponseBody, kw_only=True):
    """The number of entities, and their containers, the largest first."""

    entities: int
    inside: list[ContainerDifference]


class ComparisonResponse(ResponseBody, kw_only=True):
    """The comparison of the access of two principals."""

    only_a: ComparisonPart
    both: ComparisonPart
    only_b: ComparisonPart
    revision: int


class MembershipPath(ResponseBody, kw_only=True):
    """A group or role, which is the last of `path`, and the memberships that lead to it."""

    path: list[str]
    from_directory: bool


class ReachableEntities(ResponseBody, kw_only=True):
    """The number of reachable entities of a type, by kind of access and its operation."""

    way: str
    type: str
    operation: str
    entities: int


class PrincipalSummaryResponse(ResponseBody, kw_only=True):
    """A summary of a principal in a realm; `owned` are the first of its entities."""

    principal: str
    belongs: list[MembershipPath]
    members: int
    reached: list[ReachableEntities]
    owned: list[str]
    owns: int
    statements: list[str]
    last_used: str
    revision: int
