"""The guard of DataHub's interfaces, where a change is also asked about while it is made.

What a proposal or an edit asks follows from what it changes, so use cases ask within the write and
raise `NotAllowed`: all of it is undone then, and the refusal is audited by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from lakewarden.http.exchange import Exchange
from lakewarden.http.guard import Guard
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.request import Request
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub.use_cases.aspect_guard import NotAllowed

T = TypeVar("T")


class DataHubGuard(Guard):
    """What GraphQL and REST share; each says its own `forbidden`."""

    def forbidden(self, message: str) -> WardenError:
        """The interface's failure for who may not."""
        raise NotImplementedError

    def message(self, request: Request) -> str:
        """What a refusal says."""
        return f"not authorized to perform `{request.operation}`"

    def refusal(
        self, exchange: Exchange, state: RealmState, request: Request
    ) -> WardenError | None:
        if not self.is_on(exchange) or state.matrix.decide(request).allow:
            return None
        return self.forbidden(self.message(request))

    def committed(self, exchange: Exchange, job: Callable[[WriteTransaction], T]) -> T:
        """What the task returns, in one write; what it raises `NotAllowed` for is undone."""
        try:
            return exchange.write(job)
        except NotAllowed as error:
            refused = error
        event = self.event(exchange, refused.request, "deny", str(refused))
        exchange.write(lambda transaction: transaction.record(event))
        raise self.forbidden(str(refused)) from None
