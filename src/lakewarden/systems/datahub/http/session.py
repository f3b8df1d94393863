"""Refuses callers by their account status: see `use_cases.account_status`."""

from __future__ import annotations

from functools import wraps

from lakewarden.http.exchange import Exchange, Handler, Reply
from lakewarden.systems.datahub.http.authorization import caller
from lakewarden.systems.datahub.http.errors import forbidden
from lakewarden.systems.datahub.settings import DataHubSettings
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.account_status import SAYING, is_known_user, refusal_of


def with_account_check(handler: Handler) -> Handler:
    """The handler with an account check, which reads the store, so the route cannot be inline."""

    @wraps(handler)
    def handle(exchange: Exchange) -> Reply:
        reason = refusal(exchange)
        if reason:
            raise forbidden(reason)
        return handler(exchange)

    return handle


def refusal(exchange: Exchange) -> str:
    """The reason why the caller is not admitted; empty for an admitted one."""
    user, state = caller(exchange), exchange.realm_state
    with exchange.service.reading() as reading:
        read = aspects.read(reading, state, [user]).get(user, {})
    values = (read[name].value if name in read else {} for name in SAYING)
    must_exist = exchange.services.of(DataHubSettings).existence
    is_there = not must_exist or is_known_user(state, user.name)
    return refusal_of(user.name, *values, is_there=is_there)
