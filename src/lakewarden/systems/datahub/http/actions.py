"""`?action=`: how Rest.li writes calls that are neither reads nor writes of one thing."""

from __future__ import annotations

from collections.abc import Mapping

from lakewarden.http.exchange import Exchange, Handler, Reply
from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import quoted

Actions = Mapping[str, tuple[str, Handler]]
"""What `?action=` may be: the operation that it asks for, and the handler that asks."""


def memberships(actions: Actions) -> Handler:
    """The handler that does what `?action=` says."""

    def act(exchange: Exchange) -> Reply:
        word = exchange.one("action")
        if word not in actions:
            expected = ", ".join(actions)
            message = f"unknown {quoted(word)}; expected one of: {expected}"
            raise BadInput(message, where="action")
        return actions[word][1](exchange)

    return act
