"""Owners of objects: get and set.

An object has at most one owner, a user of the metalake; in mode `next` also a group.
SOURCE: gravitino reference 2.4, 3.4, 4.3, 6.1 and 9.
"""

from __future__ import annotations

from typing import Final

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.principal import GROUP, USER, Principal
from lakewarden.names.canonical import quoted
from lakewarden.service.owner import owners_of, set_owner
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.http.authorization import allow, is_next, is_stored, write
from lakewarden.systems.gravitino.http.bodies import Body, enum_word, ok, read
from lakewarden.systems.gravitino.http.errors import NOT_FOUND, Failure, illegal
from lakewarden.systems.gravitino.http.kinds import METALAKE
from lakewarden.systems.gravitino.http.permissions import no_such_object
from lakewarden.systems.gravitino.http.securable import object_of_path


class Set(Body):
    """The new owner: a name, and `user` or `group` in any case."""

    name: str
    type: str


def get(exchange: Exchange) -> Reply:
    """The owner; the reply is empty if the object has none."""
    target = object_of_path(exchange)
    state = allow(exchange, "owner.load", target, missing=no_such_object)
    rows = owners_of(state, target)
    if not rows:
        return ok()
    return ok(owner={"name": rows[0].owner.name, "type": rows[0].owner.kind})


def put(exchange: Exchange) -> Reply:
    """Makes a user the owner, replacing the previous one."""
    target = object_of_path(exchange)
    body = read(exchange, Set)
    kind = enum_word(body.type, (USER, GROUP), "type of owner")
    record = gravitino.entity(exchange.params["metalake"], kind, body.name)
    # A column belongs to the owner of its table.
    if not exchange.realm_state.system.model.types[target.type].owned:
        raise illegal(f"a {target.type} has no owner of its own")

    def write_owner(transaction: WriteTransaction) -> None:
        state = transaction.realm(exchange.realm)
        if kind == GROUP and not is_next(state):
            raise illegal("only a user can own an object, a group cannot")
        if not is_stored(state, record):
            message = f"{kind} {quoted(body.name)} does not exist in the metalake"
            raise Failure(404, NOT_FOUND, "NotFoundException", message)
        set_owner(transaction, exchange.realm, target, Principal(kind, body.name))

    details = {"owner": f"{kind}:{body.name}"}
    write(exchange, "owner.set", target, write_owner, missing=no_such_object, details=details)
    return ok(set=True)


_PATH: Final = METALAKE + "/owners/{type}/{name}"

ROUTES: Final = (
    Route("GET", _PATH, "owner.load", get),
    Route("PUT", _PATH, "owner.set", put),
)
