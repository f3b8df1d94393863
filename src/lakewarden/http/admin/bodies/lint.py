"""The bodies of routes about findings."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from lakewarden.http.admin.bodies.base import PagedResponse, RequestBody, ResponseBody
from lakewarden.http.admin.field_types import Moment
from lakewarden.service.lint import MAX_REASON


class DismissalRequest(RequestBody, kw_only=True):
    """The reason for dismissing a finding, and the end of the dismissal."""

    reason: Annotated[str, Meta(min_length=1, max_length=MAX_REASON)]
    until: Moment


class DismissalResponse(ResponseBody, kw_only=True):
    """A dismissal of a finding: reason, author and end."""

    reason: str
    by: str
    until: Moment


class FixResponse(ResponseBody, kw_only=True):
    """A draft that resolves a finding, as a preview takes it."""

    remove: list[str] = field(default_factory=list)


class FirstSeenResponse(ResponseBody, kw_only=True):
    """The first revision with the finding; its time is null if the audit trail lacks it."""

    revision: int
    at: Moment | None = None


class FindingResponse(ResponseBody, kw_only=True):
    """A finding of a lint rule: place, problem and fix.

    `edit` is present if a draft resolves it, `dismissed` if it is dismissed, `first_seen` if
    requested and known.
    """

    rule: str
    severity: str
    kind: str
    name: str
    says: str
    fix: str
    fingerprint: str
    edit: FixResponse | None = None
    dismissed: DismissalResponse | None = None
    first_seen: FirstSeenResponse | None = None


class Findings(PagedResponse, kw_only=True):
    """Findings, the most severe first; `rules` are the rules that ran."""

    findings: list[FindingResponse]
    rules: int
