"""Who is turned away before anything is asked: see `service.presence`; and sessions kept alive."""

from __future__ import annotations

from contextlib import suppress
from functools import wraps

from lakewarden.kernel.errors import WardenError
from lakewarden.service import aspects, session
from lakewarden.service.presence import SAYING, is_there, turned_away
from lakewarden.wire.datahub.asking import caller
from lakewarden.wire.datahub.errors import forbidden
from lakewarden.wire.exchange import Exchange, Handler, Reply


def checked(handler: Handler) -> Handler:
    """The handler behind the check; it reads the store, so the route cannot be inline."""

    @wraps(handler)
    def handle(exchange: Exchange) -> Reply:
        reason = refusal(exchange)
        if reason:
            raise forbidden(reason)
        return handler(exchange)

    return handle


def refusal(exchange: Exchange) -> str:
    """Why the caller may do nothing at all; empty for one who may."""
    user, found = caller(exchange), exchange.realm_state
    with exchange.plane.reading() as reading:
        read = aspects.read(reading, found, [user]).get(user, {})
    told = (read[name].value if name in read else {} for name in SAYING)
    there = not exchange.services.datahub.existence or is_there(found, user.name)
    return turned_away(user.name, *told, is_there=there)


def keep_alive(exchange: Exchange) -> None:
    """Puts off the end of the session with which the caller came, now and then.

    That this cannot be written now is no reason to answer nothing.
    """
    token = session.of(exchange.state, exchange.actor)
    if token is not None and session.kept_alive(token, exchange.now) is not None:
        with suppress(WardenError):
            exchange.write(lambda desk: session.keep_alive(desk, token))
