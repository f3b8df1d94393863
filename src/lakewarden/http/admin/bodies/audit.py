"""Bodies about the audit trail."""

from __future__ import annotations

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
