"""Bodies about the audit trail."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from lakewarden.http.admin.bodies.base import NextPage, ResponseBody
from lakewarden.http.admin.bodies.statement import SentencePart


class AuditRowResponse(ResponseBody, kw_only=True):
    """A row of the audit trail, and its sentence in `words`.

    `title` is what the operation is called; empty if nothing declares it.
    """

    seq: int
    revision: int
    digest: str
    seal: str
    event: dict[str, Any]
    title: str
    words: list[SentencePart]


class AuditRows(ResponseBody, kw_only=True):
    """Rows of the audit trail, in the requested order."""

    rows: list[AuditRowResponse]
    page: NextPage


class AuditCheckResponse(ResponseBody, kw_only=True):
    """The result of the integrity check; if it fails, the first row that was modified.

    `doubts` are modifications that the check cannot exclude.
    """

    whole: bool
    rows: int
    row: int | None = None
    what: str = ""
    doubts: tuple[str, ...] = ()


class HistoryRow(ResponseBody, kw_only=True):
    """A change. `was` and `now` are null if the object did not exist before or after.

    `at` is null and `by` empty if the audit trail lacks them. `first`: the change feed does not
    have the previous state.
    """

    revision: int
    kind: str
    at: datetime | None
    by: str
    operation: str
    was: Any
    now: Any
    first: bool
    words: list[SentencePart]


class HistoryResponse(ResponseBody, kw_only=True):
    """The changes of one object, the newest first."""

    rows: list[HistoryRow]
    page: NextPage


class UsageRow(ResponseBody, kw_only=True):
    """The number of uses of a key, and the day of the last."""

    key: str
    acts: int
    last: str


class UsageResponse(ResponseBody, kw_only=True):
    """Usage by key: days in order, other keys the most used first; `total` is the sum."""

    rows: list[UsageRow]
    total: int
