"""Bodies that explain a decision, and the denials that engines showed."""

from __future__ import annotations

from datetime import datetime

from lakewarden.http.admin.bodies.answer import Answer
from lakewarden.http.admin.bodies.base import ResponseBody
from lakewarden.http.admin.bodies.statement import SentencePart, StatementResponse


class RuleStep(ResponseBody, kw_only=True):
    """A node of a rule with its result; `steps` are its operands."""

    says: str
    holds: bool
    entity: str | None
    allowed_by: list[str]
    denied_by: list[str]
    steps: list[RuleStep]


class MissingGrant(ResponseBody, kw_only=True):
    """A missing ALLOW. `can_be_granted_by` is null if no operation grants it."""

    privilege: str
    on: str | None
    can_be_granted_by: list[str] | None


class BlockingDenial(ResponseBody, kw_only=True):
    """A DENY that applies, and who may remove it; null if no operation removes it."""

    statement: str
    can_be_lifted_by: list[str] | None


class BlockingMembership(ResponseBody, kw_only=True):
    """A membership through which a DENY applies to the principal."""

    member: str
    of: str


class AdviceResponse(ResponseBody, kw_only=True):
    """A minimal change that turns the denial into an ALLOW.

    `allow` are ALLOWs to add, `lift` DENYs to remove, `leave` and `join` memberships to end and to
    add. `opens` are further operations that the change allows on the entity; `others` counts the
    other entities on which it allows the operation, null if not counted.
    """

    allow: list[MissingGrant]
    lift: list[BlockingDenial]
    leave: list[BlockingMembership]
    join: list[str]
    opens: list[str]
    others: int | None


class StatementPath(ResponseBody, kw_only=True):
    """The groups and roles through which a statement applies to the principal."""

    statement: str
    over: list[str]


class BindingLimits(ResponseBody, kw_only=True):
    """The ids of the row filters and column masks that bind where the entity is read."""

    filters: list[str]
    masks: list[str]


class ExplanationResponse(Answer, kw_only=True):
    """A decision and its causes, as far as they are visible to the caller.

    `limits` is null where no row filter and no column mask binds.
    """

    rule: RuleStep | None
    statements: list[str]
    ways: list[AdviceResponse]
    named: list[StatementResponse]
    reaching: list[StatementPath]
    summary: list[SentencePart]
    limits: BindingLimits | None = None


class DenialResponse(ResponseBody, kw_only=True):
    """A denial that an engine showed: whom, what on what (null: no resource), and when last.

    `reason` is what the engine's user was told, `wire` the engine's protocol, `revision` that of
    the decision.
    """

    decision: str
    at: datetime
    revision: int
    principal: str
    operation: str
    entity: str | None
    reason: str
    wire: str


class DenialsResponse(ResponseBody, kw_only=True):
    """The latest denials of a principal, the newest first."""

    denials: list[DenialResponse]


class DecisionResponse(ResponseBody, kw_only=True):
    """A denial, and the same question explained as things are now."""

    denial: DenialResponse
    explanation: ExplanationResponse
