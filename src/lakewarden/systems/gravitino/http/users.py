"""Users of a metalake: add, remove, get, list; bulk add and bulk remove.

A user of a metalake is a record for a person of the directory. Removing it removes the person's
roles and ownerships in the metalake, and nothing else; the owner of the metalake cannot be removed.
SOURCE: gravitino reference 3.4, 4.3, 4.4 and 6.1; the bulk calls:
apache/gravitino:docs/open-api/bulk.yaml@0b0ffb3e12d7.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeVar

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.http.authorization import entity, write
from lakewarden.systems.gravitino.http.bodies import Body, Json, ok, read
from lakewarden.systems.gravitino.http.errors import Failure, failure_of, illegal, no_such_entity
from lakewarden.systems.gravitino.http.kinds import METALAKE
from lakewarden.systems.gravitino.http.people import (
    Add,
    add,
    add_one,
    get_one,
    list_all,
    remove_one,
    remove_person,
)

T = TypeVar("T")

MOST: Final = 100
"""The maximum number of users in one bulk call."""


class BulkAdd(Body):
    """The users to add."""

    users: list[Add]


class BulkRemove(Body):
    """The users to remove."""

    names: list[str]


def bulk_add(exchange: Exchange) -> Reply:
    """Adds users, each independently: failures are listed, the others are added."""
    metalake = entity(exchange, "metalake")
    users = _check_count(read(exchange, BulkAdd).users)
    names = [user.name for user in users]

    def add_each(transaction: WriteTransaction) -> Reply:
        acts = [partial(_added, exchange, transaction, user, metalake) for user in users]
        done, errors = _outcomes(names, acts)
        return _bulk_reply("users", done, errors, len(names))

    return write(exchange, "user.bulk_add", metalake, add_each, details={"users": names})


def bulk_remove(exchange: Exchange) -> Reply:
    """Removes users, each independently: failures are listed, the others are removed."""
    metalake = entity(exchange, "metalake")
    names = _check_count(read(exchange, BulkRemove).names)
    if len(set(names)) < len(names):
        raise illegal("body: a name is there twice")

    def remove(transaction: WriteTransaction, name: str) -> str:
        user = gravitino.entity(metalake.name, "user", name)
        if not remove_person(exchange, transaction, user):
            raise no_such_entity(user)
        return name

    def remove_each(transaction: WriteTransaction) -> Reply:
        done, errors = _outcomes(names, [partial(remove, transaction, name) for name in names])
        return _bulk_reply("names", done, errors, len(names))

    users = tuple(Entity("user", f"{metalake.name}:{name}") for name in names)
    details = {"users": names}
    return write(
        exchange, "user.bulk_remove", metalake, remove_each, lists={"users": users}, details=details
    )


def _check_count(items: list[T]) -> list[T]:
    if not 1 <= len(items) <= MOST:
        raise illegal(f"body: expected 1 to {MOST} users, got {len(items)}")
    return items


def _added(exchange: Exchange, transaction: WriteTransaction, user: Add, metalake: Entity) -> Json:
    return add(exchange, transaction, user.record(metalake, "user"))


def _outcomes(names: Sequence[str], acts: Sequence[Callable[[], T]]) -> tuple[list[T], list[Json]]:
    """The outcome for each name: results, and errors with the place in the request."""
    done: list[T] = []
    errors: list[Json] = []
    for index, (name, act) in enumerate(zip(names, acts, strict=True)):
        try:
            done.append(act())
        except (Failure, BadInput) as error:
            failure = failure_of(error)
            refusal = {"code": failure.code, "type": failure.type, "message": failure.message}
            errors.append({"index": index, "name": name, **refusal})
    return done, errors


def _bulk_reply(member: str, done: Sequence[object], errors: list[Json], total: int) -> Reply:
    summary = {"total": total, "succeeded": len(done), "failed": len(errors)}
    return ok(**{member: done}, errors=errors, summary=summary)


_BULK = "/api/bulk/metalakes/{metalake}/users"

ROUTES: Final = (
    Route("GET", METALAKE + "/users", "user.list", lambda exchange: list_all(exchange, "user")),
    Route("POST", METALAKE + "/users", "user.add", lambda exchange: add_one(exchange, "user")),
    Route(
        "GET", METALAKE + "/users/{user}", "user.load", lambda exchange: get_one(exchange, "user")
    ),
    Route(
        "DELETE",
        METALAKE + "/users/{user}",
        "user.remove",
        lambda exchange: remove_one(exchange, "user"),
    ),
    Route("POST", _BULK + "/add", "user.bulk_add", bulk_add),
    Route("POST", _BULK + "/remove", "user.bulk_remove", bulk_remove),
)
