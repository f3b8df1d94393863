"""The administrators of a store: named at its first start, changed by administrators only."""

from __future__ import annotations

from lakewarden.config.settings import Origin, Settings
from lakewarden.kernel.errors import BadInput
from lakewarden.names.control import name_at_home
from lakewarden.service import control
from lakewarden.service.realm import CONTROL
from lakewarden.service.state import State


def administrators(state: State, now: float) -> tuple[str, ...]:
    """The names of the users who administer a store; empty before its first start."""
    if CONTROL not in state.realms:
        return ()
    people = control.administrators(state, now)
    names = (name_at_home(person.name) for person in people)
    return tuple(sorted(name for name in names if name is not None))


def is_added(state: State, settings: Settings, now: float) -> bool:
    """Whether this start adds the configured administrator to the store.

    It does at the first start, if the store has no administrator and the settings name one, and
    whenever `add_admin` is set.
    """
    if CONTROL not in state.realms or settings.add_admin:
        return True
    return settings.names_admin and not administrators(state, now)


def with_stored_administrator(state: State, settings: Settings, now: float) -> Settings:
    """The settings, with an administrator that the store has.

    Without a configured name this is `admin` or, if `admin` does not administer the store, the
    first administrator by name. Raises `BadInput` for a configured name that does not administer
    the store and is not being added.
    """
    names = administrators(state, now)
    if not names or settings.admin in names or settings.add_admin:
        return settings
    if settings.names_admin:
        raise BadInput(
            f"`{settings.admin}` is not an administrator of this database, `{names[0]}` is:"
            " omit `admin`, or add an administrator with `--add-admin`"
        )
    return settings.replaced("admin", names[0], Origin("store"))
