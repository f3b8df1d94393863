"""The bodies of routes about the server itself."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from lakewarden.http.admin.bodies.base import ResponseBody
from lakewarden.service import doctor


class SettingResponse(ResponseBody, kw_only=True):
    """A setting with its effective value.

    `source` is `option`, `variable`, `file`, `store` or `default`; `where` names the variable or
    the file. The value of a `secret` is masked.
    """

    name: str
    meaning: str
    value: Any
    source: str
    where: str
    secret: bool


class SettingsResponse(ResponseBody, kw_only=True):
    """All settings by name; the weakened protections, and settings without effect."""

    settings: list[SettingResponse]
    weakened: list[str]
    without_effect: list[str]


class HealthResponse(ResponseBody, kw_only=True):
    """The state of the server.

    `median_seconds` and `p99_seconds` are the time of a request since the start, bulk requests and
    logins left out; null before the first request, of `p99_seconds` before the hundredth.

    `requests` counts by outcome since the server started. `started`, `resident_bytes` and
    `store_seconds` are those of the process that answers.
    """

    status: Literal["ready", "writes fail"]
    release: str
    revision: int
    started: datetime
    processes: int
    realms: int
    entities: int
    resident_bytes: int | None
    store_seconds: float
    connections: int
    requests: dict[str, int]
    rate_limited: int
    stale_answers: int
    median_seconds: float | None
    p99_seconds: float | None
    warnings: list[str]


class CheckResponse(ResponseBody, kw_only=True):
    """The result of a check, and its fix; `fix` is empty if there is none."""

    name: str
    state: doctor.State
    says: str
    fix: str


class ChecksResponse(ResponseBody, kw_only=True):
    """All checks, in order."""

    checks: list[CheckResponse]
