"""The server itself: its settings, its figures, and its health."""

from __future__ import annotations

import threading
import time
from importlib.metadata import version
from typing import Final

from lakewarden.http.admin.bodies.server import (
    CheckResponse,
    ChecksResponse,
    HealthResponse,
    SettingResponse,
    SettingsResponse,
)
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
