"""The guard of DataHub's interfaces, which also checks changes while they are made.

The operations of a proposal or an edit depend on what it changes, so use cases check within the
write and raise `NotAllowed`. The write is then rolled back, and the refusal is audited separately.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import structlog

from lakewarden.http.exchange import Exchange
from lakewarden.http.guard import Guard
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.request import Request
from lakewarden.service.audit import AuditEvent
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub.use_cases.aspect_guard import NEEDED_BY, NotAllowed

T = TypeVar("T")

_log: Final = structlog.get_logger("lakewarden.datahub")


class DataHubGuard(Guard):
    """The part that GraphQL and REST share; each has its own `forbidden`."""

    def forbidden(self, message: str) -> WardenError:
        """The interface's failure for a refused request."""
        raise NotImplementedError

    def message(self, request: Request) -> str:
        """The message of a refusal."""
        return f"not authorized to perform `{request.operation}`"

    def refusal(
        self, exchange: Exchange, state: RealmState, request: Request
    ) -> WardenError | None:
        if not self.is_on(exchange) or state.matrix.decide(request).allow:
            return None
        return self.forbidden(self.message(request))

    def committed(self, exchange: Exchange, job: Callable[[WriteTransaction], T]) -> T:
        """Runs the task in one write and returns its result; `NotAllowed` rolls the write back."""
        needed: list[AuditEvent] = []

        def noting(transaction: WriteTransaction) -> T:
            needed.clear()
            result = job(transaction)
            needed.extend(event for event in transaction.events if NEEDED_BY in event.details)
            return result

        try:
            result = exchange.write(noting)
        except NotAllowed as error:
            refused = error
        else:
            for event in needed:
                _log.warning(
                    "columns of filters or masks are gone",
                    realm=event.realm,
                    target=event.target,
                    columns=event.details["columns"],
                    needed_by=event.details[NEEDED_BY],
                )
            return result
        event = self.event(exchange, refused.request, "deny", str(refused))
        exchange.write(lambda transaction: transaction.record(event))
        raise self.forbidden(str(refused)) from None
