"""The dialect AuthZEN: its routes and its errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from lakewarden.http.authzen import discovery
from lakewarden.http.authzen.errors import reply_of
from lakewarden.http.authzen.evaluation import Evaluation
from lakewarden.http.authzen.search import Search
from lakewarden.http.exchange import WRITES, Exchange, Reply, Route

BATCH_BYTES: Final = 8 * 1024 * 1024
"""The longest body of a batch: ten thousand whole questions of 800 bytes."""


class AuthZen:
    """OpenID AuthZEN 1.0, for every realm."""

    name = "authzen"
    models: tuple[str, ...] = ()
    anonymous: str | None = None

    def __init__(self) -> None:
        evaluation = Evaluation()
        search = Search(evaluation)
        self._routes = (
            Route("POST", discovery.EVALUATION, "decision.ask_own", evaluation.one, inline=True),
            # Not on the event loop: a thousand questions of any shape may take long.
            Route(
                "POST",
                discovery.EVALUATIONS,
                "decision.ask_own",
                evaluation.many,
                body_limit=BATCH_BYTES,
                rate_class=WRITES,
            ),
            Route("POST", discovery.SUBJECTS, "subject.search", search.subjects),
            Route("POST", discovery.RESOURCES, "decision.ask_own", search.resources),
            Route("POST", discovery.ACTIONS, "decision.ask_own", search.actions),
            _discovery(discovery.WELL_KNOWN),
            _discovery(discovery.WELL_KNOWN + "/r/{realm}"),
        )

    def routes(self) -> Sequence[Route]:
        """The seven routes; questions about others need `decision.ask` (`caller`)."""
        return self._routes

    def failed(self, exchange: Exchange | None, error: Exception) -> Reply:
        """The error as a JSON string; a wrong content type is 400 here."""
        return reply_of(error)

    def unauthenticated(self, why: str) -> Reply:
        """401, with the challenge that the standard requires."""
        return Reply(401, msgspec.json.encode(why), headers={"WWW-Authenticate": "Bearer"})

    def missing(self, method: str, path: str, allowed: Sequence[str]) -> Reply:
        """404, or 405 that names the allowed methods."""
        if not allowed:
            return Reply(404, msgspec.json.encode("this path does not exist"))
        return Reply(405, msgspec.json.encode(f"expected one of: {', '.join(allowed)}"))


def _discovery(path: str) -> Route:
    return Route("GET", path, "server.about", discovery.configuration, inline=True, public=True)
