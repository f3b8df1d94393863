"""Bodies about statements, row filters and column masks, and their sentences."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from lakewarden.http.admin.bodies.base import PagedResponse, RequestBody, ResponseBody
from lakewarden.http.admin.field_types import (
    READABLE,
    ActionName,
    EntityText,
    Moment,
    PrincipalText,
    described,
)
from lakewarden.kernel.statement import MAX_CRITERIA
from lakewarden.service.plan import MAX_KEEPER


class Criterion(RequestBody, kw_only=True):
    """A condition on a field of the resource."""

    field: str
    values: list[str]
    condition: Literal["EQUALS", "STARTS_WITH", "NOT_EQUALS"] = "EQUALS"


Criteria = Annotated[list[Criterion], described(maxItems=MAX_CRITERIA)]


class StatementParts(Struct, kw_only=True, omit_defaults=True):
    """The members of a statement: principals, privileges and scope.

    One of `on`, `matching` and `where` is the scope; without any, the scope is everything.
    """

    privileges: list[ActionName]
    to: list[PrincipalText]
    title: str = ""
    on: EntityText | None = None
    matching: EntityText | None = None
    where: Criteria | None = None
    constraint: Criteria | None = None
    valid_from: Moment | None = None
    valid_until: Moment | None = None
    active: bool = True


class StatementRequest(StatementParts, RequestBody, kw_only=True, forbid_unknown_fields=True):
    """A statement to store.

    `mark` names its keeper; to change a marked statement, its mark must be given.
    """

    privileges: Annotated[list[ActionName], described(minItems=1)]
    to: Annotated[list[PrincipalText], described(minItems=1)]
    effect: Literal["allow", "deny"] = "allow"
    mark: Annotated[str, Meta(max_length=MAX_KEEPER, pattern=READABLE)] = ""


class Reference(ResponseBody, kw_only=True):
    """What a sentence part names: entity, principal, privilege, operation or statement."""

    kind: str
    name: str
    realm: str


class SentencePart(ResponseBody, kw_only=True):
    """A part of a sentence, with a reference to what it names."""

    text: str
    ref: Reference | None = None


class StatementResponse(StatementParts, ResponseBody, kw_only=True):
    """A stored statement.

    A filter or a mask has an `expression` and no privileges; `except` are those whom it does not
    bind. Without `to` it binds everybody.
    """

    id: str
    effect: Literal["allow", "deny", "filter", "mask"] = "allow"
    excepted: list[PrincipalText] = field(default_factory=list, name="except")
    expression: str = ""


class ObligationRequest(RequestBody, kw_only=True, forbid_unknown_fields=True):
    """A row filter or a column mask to store, with `on` or `where` for what it is about.

    It binds whom `to` names, everybody if it names nobody, but not whom `except` names. An
    exception counts for this filter or mask alone. `mark` names its keeper, as for statements.
    """

    expression: Annotated[str, described(minLength=1)]
    to: list[PrincipalText] = field(default_factory=list)
    excepted: list[PrincipalText] = field(default_factory=list, name="except")
    title: str = ""
    on: EntityText | None = None
    where: Criteria | None = None
    valid_from: Moment | None = None
    valid_until: Moment | None = None
    active: bool = True
    mark: Annotated[str, Meta(max_length=MAX_KEEPER, pattern=READABLE)] = ""


class StatementReachResponse(ResponseBody, kw_only=True):
    """How many stored users and how many stored entities a statement applies to."""

    users: int
    entities: int


class LastChange(ResponseBody, kw_only=True):
    """The last change: time, actor and revision."""

    at: datetime
    by: str
    revision: int


class StatementRow(StatementResponse, kw_only=True):
    """A stored statement, and its sentence in `words`.

    `mark` names its keeper. `reach` and `changed` are present if requested in `fields`; of filters
    and masks `reach` is whom they bind and what they limit. `changed` is absent if the change feed
    no longer has the change. With the filter `reaching`, `source` is the entity that is the
    statement's scope, `direct` whether it is the requested entity, and `beaten_by` are the DENYs
    that override the statement there. `immutable_because` is the reason why a statement is not
    `editable`. Members with their default value are omitted.
    """

    words: list[SentencePart]
    mark: str = ""
    editable: bool = True
    immutable_because: str = ""
    reach: StatementReachResponse | None = None
    changed: LastChange | None = None
    source: str | None = None
    direct: bool = False
    beaten_by: list[str] = field(default_factory=list)


class Statements(PagedResponse, kw_only=True):
    """Statements of a realm, sorted by id or by title."""

    statements: list[StatementRow]


class DocumentResponse(ResponseBody, kw_only=True):
    """A statement as its own system writes it, and the version that a conditional write expects."""

    id: str
    value: dict[str, Any]
    version: str
