"""A directory's attributes of its users, such as a region: row filters and masks use them.

A filter reads one as `$user.region`; it is NULL for a user without it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from lakewarden.kernel.change import AttributeChanged
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, LimitExceeded, Unknown
from lakewarden.kernel.principal import USER, Principal
from lakewarden.names.canonical import check_text
from lakewarden.service import control
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.realm import check_realm_name, people_of
from lakewarden.service.state import People, State
from lakewarden.service.write_transaction import WriteTransaction

MAX_ATTRIBUTES: Final = 50
"""The most attributes of one user."""

MAX_ATTRIBUTE_VALUE: Final = 200
"""The most characters of a value."""

ATTRIBUTE: Final = r"[A-Za-z_][A-Za-z0-9_]{0,63}"
"""The form of a name, as a regular expression."""

RESERVED: Final = frozenset({"name", "groups"})
"""The attributes of every user in expressions."""

_NONE: Final[Mapping[str, str]] = {}


def attributes(
    state: State, actor: Actor, directory: str, user: str, now: float
) -> Mapping[str, str] | Denied:
    """The attributes of a directory's user, by name. Raises `Unknown` for an unknown user."""
    check_realm_name(directory)
    refused = control.denied(state, actor, "person.list", control.directory(directory), now)
    if refused is not None:
        return refused
    return dict(sorted(_stored(state, directory, user).items()))


def put(
    transaction: WriteTransaction, directory: str, user: str, attributes: Mapping[str, str]
) -> Denied | None:
    """Replaces all attributes of a user.

    Raises `Unknown` for a user who is not stored, `BadInput` for an invalid name or value,
    `LimitExceeded` for too many.
    """
    check_realm_name(directory)
    _check(attributes)
    details = {"person": f"{USER}:{user}", "attributes": ", ".join(sorted(attributes))}
    at = control.directory(directory)
    refused = control.authorize(transaction, "person.describe", at, **details)
    if refused is not None:
        return refused
    known = _stored(transaction.state, directory, user)
    changes = [
        AttributeChanged(
            Entity(USER, user), name, (attributes[name],) if name in attributes else ()
        )
        for name in sorted({*known, *attributes})
        if known.get(name) != attributes.get(name)
    ]
    transaction.change(people_of(directory), *changes)
    return None


def change(
    transaction: WriteTransaction,
    directory: str,
    user: str,
    changed: Mapping[str, str],
    removed: Collection[str] = (),
) -> Denied | None:
    """Sets some attributes of a user, and removes others; raises the errors of `put`."""
    known = transaction.state.people.get(directory, People()).attributes.get(user, _NONE)
    return put(transaction, directory, user, after(known, changed, removed))


def after(
    known: Mapping[str, str], changed: Mapping[str, str], removed: Collection[str]
) -> dict[str, str]:
    """The attributes without the removed ones, and with the changed ones."""
    kept = {name: value for name, value in known.items() if name not in removed}
    return {**kept, **changed}


def _check(attributes: Mapping[str, str]) -> None:
    if len(attributes) > MAX_ATTRIBUTES:
        raise LimitExceeded(f"{len(attributes)} attributes, at most {MAX_ATTRIBUTES} are allowed")
    for name, value in attributes.items():
        where = f"attributes.{name}"
        if name in RESERVED:
            raise BadInput("is known of every user and cannot be set", where=where)
        if re.fullmatch(ATTRIBUTE, name) is None:
            message = f"expected a name of letters, digits and `_`, at most 64, got `{name}`"
            raise BadInput(message, where="attributes")
        if not 0 < len(value) <= MAX_ATTRIBUTE_VALUE:
            raise BadInput(
                f"expected 1 to {MAX_ATTRIBUTE_VALUE} characters, got {len(value)}", where=where
            )
        check_text(value, f"the value of `{name}`")


def removal_changes(state: State, directory: str, user: str) -> list[AttributeChanged]:
    """The changes that remove all attributes of a user."""
    known = state.people.get(directory, People()).attributes.get(user, _NONE)
    return [AttributeChanged(Entity(USER, user), name, ()) for name in sorted(known)]


def _stored(state: State, directory: str, user: str) -> Mapping[str, str]:
    people = state.people.get(directory, People())
    if Principal(USER, user) not in people.principals:
        raise Unknown("person", user, f"add the user to directory `{directory}` first")
    return people.attributes.get(user, _NONE)
