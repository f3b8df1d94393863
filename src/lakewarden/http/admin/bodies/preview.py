"""The bodies of previews: a draft, and what it would change."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType, field

from lakewarden.http.admin.bodies.base import RequestBody, ResponseBody
from lakewarden.http.admin.bodies.lint import FindingResponse
from lakewarden.http.admin.bodies.people import Membership
from lakewarden.http.admin.bodies.policy import AccessDifference, PolicyText, Written
from lakewarden.http.admin.bodies.statement import (
    ObligationRequest,
    SentencePart,
    StatementReachResponse,
    StatementRequest,
)
from lakewarden.http.admin.field_types import EntityText, PrincipalText
from lakewarden.service.statements import MAX_ID


class StatementDraft(StatementRequest, kw_only=True, forbid_unknown_fields=True):
    """A statement of a draft. Its mark is ignored."""

    id: Annotated[str, Meta(min_length=1, max_length=MAX_ID)]


class ObligationDraft(ObligationRequest, kw_only=True, forbid_unknown_fields=True):
    """A row filter or a column mask of a draft. Its mark is ignored."""

    id: Annotated[str, Meta(min_length=1, max_length=MAX_ID)]


class MembersDraft(RequestBody, kw_only=True):
    """Memberships that a draft adds and removes."""

    add: list[Membership] = field(default_factory=list)
    remove: list[Membership] = field(default_factory=list)


class OwnerDraft(RequestBody, kw_only=True):
    """An owner of an entity."""

    entity: EntityText
    principal: PrincipalText
    ownership: str = ""


class OwnersDraft(RequestBody, kw_only=True):
    """Owners that a draft adds and removes."""

    set: list[OwnerDraft] = field(default_factory=list)
    unset: list[OwnerDraft] = field(default_factory=list)


class PolicyDraft(RequestBody, kw_only=True):
    """A policy of a draft in the format of its system, with its name there."""

    name: Annotated[str, Meta(min_length=1, max_length=MAX_ID)]
    value: dict[str, Any]


class PoliciesDraft(RequestBody, kw_only=True):
    """Policies in the format of the realm's system that a draft stores and removes."""

    put: list[PolicyDraft] = field(default_factory=list)
    remove: list[str] = field(default_factory=list)


class PreviewRequest(RequestBody, kw_only=True):
    """A draft: any combination of these changes. `text` is a policy file."""

    put: list[StatementDraft] = field(default_factory=list)
    filters: list[ObligationDraft] = field(default_factory=list)
    masks: list[ObligationDraft] = field(default_factory=list)
    remove: list[str] = field(default_factory=list)
    members: MembersDraft | UnsetType = UNSET
    owners: OwnersDraft | UnsetType = UNSET
    principals_removed: list[PrincipalText] = field(default_factory=list)
    policies: PoliciesDraft | UnsetType = UNSET
    text: PolicyText | UnsetType = UNSET
    at_revision: Annotated[int, Meta(ge=0)] | None = None


class DraftFindings(ResponseBody, kw_only=True):
    """The findings in a draft, the most severe first."""

    findings: list[FindingResponse]


class PreviewEdit(ResponseBody, kw_only=True):
    """A statement before and after, with its sentences and reach."""

    id: str
    was: Written | None
    now: Written | None
    words_was: list[SentencePart]
    words_now: list[SentencePart]
    reach_was: StatementReachResponse
    reach_now: StatementReachResponse


class LimitChangeResponse(ResponseBody, kw_only=True):
    """What a change of a filter or a mask means for `users` on `entities` (tables, or columns).

    They see `less`, `more` or `other` rows or values. `people` are the first of the users, `sample`
    is one of the entities. `owners`: owners are bound or excepted apart, which is not counted.
    """

    id: str
    effect: Literal["filter", "mask"]
    change: Literal["less", "more", "other"]
    users: int
    people: list[str]
    entities: int
    sample: str
    owners: bool


class UsageImpact(ResponseBody, kw_only=True):
    """Operations of the last `days` that the draft would deny, and their users."""

    acts: int
    people: list[str]
    days: int
    whole: bool


class PreviewResponse(ResponseBody, kw_only=True):
    """The effect of a draft at this revision. `refused`: why it cannot be stored."""

    revision: int
    changes: list[PreviewEdit]
    access: AccessDifference
    limits: list[LimitChangeResponse]
    used: UsageImpact
    lint_new: list[FindingResponse]
    lint_gone: list[FindingResponse]
    refused: list[str]
