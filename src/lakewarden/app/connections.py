"""The connections of one process: their limits, and which are closed to admit new ones.

At the limit, in total or per address, the connection that has been idle longest is closed; idle
means that no request is in progress on it, no matter how it was opened. If all are busy, a few more
are accepted in reserve, which answer only probes of health and figures. Beyond these, connections
are refused. Proxies connect for many callers, so their addresses have no limit of their own.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

from lakewarden.app import log, metrics
from lakewarden.app.client_address import Network, is_among, unmapped
from lakewarden.service.client_site import site

RESERVE: Final = 16
"""Connections beyond the limit, for probes of health and for figures."""

LOG_SECONDS: Final = 10.0
"""The log reports closed or refused connections at most once within this time."""


class Closable(Protocol):
    """A connection."""

    def end(self) -> None:
        """Closes it now."""
        ...


class Admission(Enum):
    """The admission of a new connection."""

    FULL = "full"
    RESERVE = "reserve"
    """Only for health and figures."""
    REFUSED = "refused"


class CloseReason(Enum):
    """Why a connection was closed, or refused."""

    IDLE = "idle"
    IDLE_OF_ADDRESS = "idle_of_address"
    REFUSED = "refused"


@dataclass(slots=True)
class _TrackedConnection:
    address: str
    is_reserve: bool


class Connections:
    """The open connections. Belongs to one event loop.

    `limit` of them, and `address_limit` from one address that is not among `proxies`.
    """

    def __init__(
        self,
        limit: int,
        address_limit: int,
        *,
        reserve: int = RESERVE,
        proxies: Sequence[Network] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limit = limit
        self.address_limit = address_limit
        self._reserve = reserve
        self._proxies = proxies
        self._clock = clock
        self._open: dict[Closable, _TrackedConnection] = {}
        self._in_reserve = 0
        self._of_address: dict[str, int] = {}
        self._idle: dict[bool, OrderedDict[Closable, None]] = {
            False: OrderedDict(),
            True: OrderedDict(),
        }
        self._idle_of_address: dict[str, OrderedDict[Closable, None]] = {}
        self._logged = -float("inf")
        self._untold: dict[CloseReason, int] = {}

    def __len__(self) -> int:
        return len(self._open)

    def opened(self, connection: Closable, address: str) -> Admission:
        """Admits a new, idle connection; closes another one for it if necessary."""
        address = unmapped(address)
        is_proxy = is_among(address, self._proxies)
        address = address if is_proxy else site(address)
        admission = self._admitted(address, is_proxy=is_proxy)
        if admission is Admission.REFUSED:
            self._count(CloseReason.REFUSED)
            return admission
        is_reserve = admission is Admission.RESERVE
        self._open[connection] = _TrackedConnection(address, is_reserve)
        self._in_reserve += is_reserve
        if not is_reserve:
            self._of_address[address] = self._of_address.get(address, 0) + 1
        self.idle(connection)
        metrics.CONNECTIONS.set(len(self._open))
        return admission

    def _admitted(self, address: str, *, is_proxy: bool) -> Admission:
        if self._of_address.get(address, 0) >= self.address_limit and not is_proxy:
            idle, why = self._idle_of_address.get(address), CloseReason.IDLE_OF_ADDRESS
        elif len(self._open) - self._in_reserve >= self.limit:
            idle, why = self._idle[False], CloseReason.IDLE
        else:
            return Admission.FULL
        if self._close_first(idle, why):
            return Admission.FULL
        if self._in_reserve < self._reserve or self._close_first(
            self._idle[True], CloseReason.IDLE
        ):
            return Admission.RESERVE
        return Admission.REFUSED

    def _close_first(self, idle: OrderedDict[Closable, None] | None, why: CloseReason) -> bool:
        """Closes the connection that has been idle longest; returns whether there was one."""
        if not idle:
            return False
        connection = next(iter(idle))
        self.closed(connection)
        connection.end()
        self._count(why)
        return True

    def busy(self, connection: Closable) -> None:
        """A request is in progress."""
        tracked = self._open.get(connection)
        if tracked is not None:
            self._remove_idle(connection, tracked)

    def idle(self, connection: Closable) -> None:
        """No request is in progress: it is now the last connection to be closed for another."""
        tracked = self._open.get(connection)
        if tracked is None:
            return
        idle = self._idle[tracked.is_reserve]
        if connection in idle:  # the request was answered while it was parsed
            idle.move_to_end(connection)
            if not tracked.is_reserve:
                self._idle_of_address[tracked.address].move_to_end(connection)
            return
        idle[connection] = None
        if not tracked.is_reserve:
            self._idle_of_address.setdefault(tracked.address, OrderedDict())[connection] = None

    def closed(self, connection: Closable) -> None:
        """The connection is closed. Idempotent."""
        tracked = self._open.pop(connection, None)
        if tracked is None:
            return
        self._remove_idle(connection, tracked)
        self._in_reserve -= tracked.is_reserve
        if not tracked.is_reserve:
            remaining = self._of_address[tracked.address] - 1
            if remaining:
                self._of_address[tracked.address] = remaining
            else:
                del self._of_address[tracked.address]
        metrics.CONNECTIONS.set(len(self._open))

    def _remove_idle(self, connection: Closable, tracked: _TrackedConnection) -> None:
        self._idle[tracked.is_reserve].pop(connection, None)
        of_address = self._idle_of_address.get(tracked.address)
        if of_address is not None and not tracked.is_reserve:
            of_address.pop(connection, None)
            if not of_address:
                del self._idle_of_address[tracked.address]

    def _count(self, why: CloseReason) -> None:
        metrics.CONNECTIONS_CLOSED.labels(why.value).inc()
        self._untold[why] = self._untold.get(why, 0) + 1
        now = self._clock()
        if now - self._logged < LOG_SECONDS:
            return
        self._logged = now
        counts = {each.value: number for each, number in self._untold.items()}
        self._untold.clear()
        log.get().warning(
            "too many connections",
            open=len(self._open),
            limit=self.limit,
            address_limit=self.address_limit,
            closed=counts,
        )
