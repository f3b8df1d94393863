"""Bodies that answer a question: decisions, lists, users, and what a principal sees."""

from __future__ import annotations

from lakewarden.http.admin.bodies.base import PagedResponse, ResponseBody
from lakewarden.http.admin.bodies.entity import EntityName
from lakewarden.http.admin.bodies.statement import SentencePart


class Answer(ResponseBody, kw_only=True):
    """A decision with its reason, revision and notes."""

    allow: bool
    reason: str
    revision: int
    notes: list[str]


class BatchRow(ResponseBody, kw_only=True, omit_defaults=True):
    """A decision of a batch; for a malformed question, `error` has the message."""

    allow: bool
    reason: str
    error: str = ""


class Batch(ResponseBody, kw_only=True):
    """Decisions in the order of the questions."""

    answers: list[BatchRow]
    revision: int


class Listing(PagedResponse, kw_only=True):
    """The allowed entities; `after` is the last one if more follow."""

    entities: list[EntityName]
    after: str | None
    notes: list[str]


class WhoReasonResponse(ResponseBody, kw_only=True):
    """A group of users with the same cause of access.

    `through` are the principals that give the access; without `statements` it is by ownership.
    `users` are the first of them, `total` counts all.
    """

    through: list[str]
    statements: list[str]
    users: list[str]
    total: int


class Users(PagedResponse, kw_only=True):
    """The stored users who are allowed, sorted; `reasons` if requested."""

    users: list[str]
    notes: list[str]
    reasons: list[WhoReasonResponse] | None = None


class HeldPrivileges(ResponseBody, kw_only=True):
    """The privileges that are held on an entity, and the operations that are allowed on it."""

    privileges: list[str]
    operations: list[str]
    notes: list[str]


class BindingFilter(ResponseBody, kw_only=True):
    """A row filter that binds; `words` is its sentence, empty if the caller reads no statements."""

    id: str
    expression: str
    words: list[SentencePart]


class MaskedColumn(ResponseBody, kw_only=True):
    """A masked column: `mask` is the one that counts, `masks` the ids of all that bind."""

    column: str
    mask: str
    expression: str
    masks: list[str]


class RenderedRead(ResponseBody, kw_only=True):
    """What a read has to keep to, in the SQL of an engine.

    `may_read` is also false where one of the columns is denied. `missing` are the privileges that a
    denied read lacks. `masks` have the SQL to show instead of a column's values, by column, or null
    for its values.
    """

    may_read: bool
    missing: list[str]
    filters: list[str]
    masks: dict[str, str | None]


class SightResponse(ResponseBody, kw_only=True):
    """What a principal sees of a table.

    `operation` is what reading requires; empty if the model has no operation for it. Rows have to
    meet all `filters`. `columns` are the masked ones, of `stored` columns. `rendered` is there if
    the question has an engine.
    """

    may_read: bool
    operation: str
    filters: list[BindingFilter]
    columns: list[MaskedColumn]
    stored: int
    notes: list[str]
    rendered: RenderedRead | None = None


class OperationAccess(ResponseBody, kw_only=True):
    """The users who may do one operation."""

    operation: str
    users: list[str]


class AccessReview(ResponseBody, kw_only=True):
    """By operation, the users who may do it on the entity."""

    entity: str | None
    access: list[OperationAccess]
