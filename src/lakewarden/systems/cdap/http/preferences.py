"""Preferences: maps of strings at every level; if resolved together, the deeper level wins.

SOURCE: cdap reference 2 (K10), 4.9, 4.10 (P7).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap import names as cdap
from lakewarden.systems.cdap.http import ids, object_store
from lakewarden.systems.cdap.http.authorization import allow, write
from lakewarden.systems.cdap.http.bodies import empty_reply, is_on, ok, read, texts

MEMBER: Final = "preferences"
"""The member of an entity's document that holds its preferences."""

RESOLVED: Final = "resolved"


@dataclass(frozen=True, slots=True)
class Level:
    """A kind of entity with preferences: the type, the path, and how a request names it."""

    type: str
    path: str
    named: Callable[[Exchange], Entity]

    def get(self, exchange: Exchange) -> Reply:
        """The preferences set here, or with `resolved=true` all that apply here."""
        target = self.named(exchange)
        allow(exchange, f"{self.type}.get_preference", target)
        chain = [*_above(exchange, target), target] if is_on(exchange, RESOLVED) else [target]
        merged: dict[str, str] = {}
        for body in object_store.documents(exchange, chain):
            merged |= texts(body.get(MEMBER))
        return ok(merged)

    def put(self, exchange: Exchange) -> Reply:
        """Replaces all preferences."""
        return self._set(exchange, "set_preference", read(exchange, dict[str, str]))

    def delete(self, exchange: Exchange) -> Reply:
        """Removes all preferences."""
        return self._set(exchange, "delete_preference", None)

    def _set(self, exchange: Exchange, verb: str, values: dict[str, str] | None) -> Reply:
        target = self.named(exchange)

        def put_preferences(transaction: WriteTransaction) -> None:
            object_store.put(transaction, exchange.realm, target, **{MEMBER: values})

        write(exchange, f"{self.type}.{verb}", target, put_preferences)
        return empty_reply()

    def routes(self) -> Iterator[Route]:
        """The routes of this level."""
        path = f"{self.path}/preferences"
        yield Route("GET", path, f"{self.type}.get_preference", self.get)
        yield Route("PUT", path, f"{self.type}.set_preference", self.put)
        yield Route("DELETE", path, f"{self.type}.delete_preference", self.delete)


def _above(exchange: Exchange, entity: Entity) -> list[Entity]:
    """The containers, from the instance inwards."""
    chain: list[Entity] = []
    at = cdap.parent(entity)
    while at is not None:
        chain.append(at)
        at = cdap.parent(at)
    is_instance = entity.type == "instance"
    return [*([] if is_instance else [ids.instance(exchange)]), *reversed(chain)]


def _stream(exchange: Exchange) -> Entity:
    return ids.entity(exchange, "stream")


_APP: Final = "/v3/namespaces/{namespace}/apps/{app}"

LEVELS: Final = (
    Level("instance", "/v3", ids.instance),
    Level("namespace", "/v3/namespaces/{namespace}", ids.namespace),
    Level("application", _APP, ids.application),
    Level("program", f"{_APP}/{{kind}}/{{program}}", ids.program),
    Level("stream", "/v3/namespaces/{namespace}/streams/{stream}", _stream),
)

ROUTES: Final[Sequence[Route]] = tuple(route for level in LEVELS for route in level.routes())
