"""The server itself: its settings, its figures, and its health."""

from __future__ import annotations

import threading
import time
from datetime import datetime
from importlib.metadata import version
from typing import Any, Final, Literal

from lakewarden.http.admin.bodies.base import ResponseBody
from lakewarden.http.admin.endpoint import Endpoint, HandlerResult, moment
from lakewarden.http.exchange import BULK, Exchange
from lakewarden.kernel.errors import Unavailable
from lakewarden.service import control, doctor
from lakewarden.service.audit_seal import Seals
from lakewarden.service.control import SERVER
from lakewarden.service.doctor import Budget, Subject
from lakewarden.service.realms import weakened

_BUDGET: Final = Budget(seconds=4.0, changes=100_000)
_EXAMINING: Final = threading.Lock()
"""One examination at a time in each process: each reads the whole audit trail."""


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


def settings(exchange: Exchange) -> HandlerResult:
    """The effective settings."""
    refused = control.denied(exchange.state, exchange.actor, "settings.read", SERVER, exchange.now)
    if refused is not None:
        return refused
    services = exchange.services
    return SettingsResponse(
        settings=[
            SettingResponse(
                name=setting.name,
                meaning=setting.meaning,
                value=setting.value,
                source=setting.source,
                where=setting.where,
                secret=setting.secret,
            )
            for setting in services.settings
        ],
        weakened=list(services.weakened),
        without_effect=list(services.without_effect),
    )


def health(exchange: Exchange) -> HandlerResult:
    """The state of the server, for callers who may read its metrics."""
    refused = control.denied(exchange.state, exchange.actor, "metrics.read", SERVER, exchange.now)
    if refused is not None:
        return refused
    state, figures = exchange.state, exchange.services.figures()
    began = time.perf_counter()
    exchange.service.store.revision()
    store_seconds = time.perf_counter() - began
    realms = state.realms.values()
    warnings = [*exchange.services.weakened, *weakened(realm.system.model for realm in realms)]
    return HealthResponse(
        status="writes fail" if exchange.service.store.write_health.fault else "ready",
        release=version("lakewarden"),
        revision=state.revision,
        started=moment(figures.started),
        processes=figures.processes,
        realms=len(state.realms),
        entities=sum(len(realm.matrix.snapshot.coded.tree.stored) for realm in realms),
        resident_bytes=figures.resident_bytes,
        store_seconds=store_seconds,
        connections=figures.connections,
        requests=dict(figures.requests),
        rate_limited=figures.rate_limited,
        stale_answers=figures.stale_answers,
        median_seconds=figures.median_seconds,
        p99_seconds=figures.p99_seconds,
        warnings=warnings,
    )


def examine(exchange: Exchange) -> HandlerResult:
    """The checks of `lakewarden doctor` that a server can run on itself."""
    refused = control.denied(exchange.state, exchange.actor, "server.check", SERVER, exchange.now)
    if refused is not None:
        return refused
    services = exchange.services
    subject = Subject(
        exchange.service,
        Seals(services.secret_keys),
        services.weakened,
        services.without_effect,
        _BUDGET,
    )
    if not _EXAMINING.acquire(blocking=False):
        raise Unavailable("the checks are already running")
    try:
        checks = doctor.examine(subject)
    finally:
        _EXAMINING.release()
    return ChecksResponse(
        checks=[
            CheckResponse(name=check.name, state=check.state, says=check.says, fix=check.fix)
            for check in checks
        ]
    )


ENDPOINTS = (
    Endpoint(
        "GET",
        "/server/settings",
        "settings.read",
        settings,
        "read the effective settings",
        response=SettingsResponse,
    ),
    Endpoint(
        "GET",
        "/server/health",
        "metrics.read",
        health,
        "read the state of the server",
        response=HealthResponse,
    ),
    Endpoint(
        "POST",
        "/server/doctor",
        "server.check",
        examine,
        "run the checks",
        response=ChecksResponse,
        rate_class=BULK,
    ),
)
