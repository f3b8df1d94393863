"""`?action=`: Rest.li calls that are neither reads nor writes of one resource."""

from __future__ import annotations

from collections.abc import Mapping

from lakewarden.http.exchange import Exchange, Handler, Reply, Route
from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import quoted
from lakewarden.systems.datahub.http.bodies import LARGEST

Actions = Mapping[str, tuple[str, Handler]]
"""By the value of `?action=`: the operation, and the handler that checks it."""


def action_route(path: str, actions: Actions, *, body_limit: int | None = LARGEST) -> Route:
    """The route of several actions, each with its own operation."""
    why = "every action asks for an operation of its own"
    return Route("POST", path, "", _dispatcher(actions), why=why, body_limit=body_limit)


def _dispatcher(actions: Actions) -> Handler:
    def dispatch(exchange: Exchange) -> Reply:
        name = exchange.one("action")
        if name not in actions:
            expected = ", ".join(actions)
            message = f"unknown {quoted(name)}; expected one of: {expected}"
            raise BadInput(message, where="action")
        return actions[name][1](exchange)

    return dispatch
