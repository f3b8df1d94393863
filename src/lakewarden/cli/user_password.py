"""`lakewarden user password`: the password of a user, for DataHub or for the web pages."""

from __future__ import annotations

import sys
from getpass import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from lakewarden.cli.admin_target import done, opened, operator
from lakewarden.cli.outcome import NO, YES
from lakewarden.cli.question_target import Url
from lakewarden.kernel.errors import BadInput

if TYPE_CHECKING:
    from lakewarden.service.decision_service import DecisionService
    from lakewarden.service.state import RealmState


def password(
    name: Annotated[str, Parameter(help="The user's name; `datahub` is DataHub's root user.")],
    /,
    *,
    file: Annotated[
        Path | None,
        Parameter(help="File with the password; default: prompt for it, or read it from a pipe."),
    ] = None,
    remove: Annotated[
        bool, Parameter(help="Remove the password.", negative="", show_default=False)
    ] = False,
    realm: Annotated[str, Parameter(help="The realm.")] = "datahub",
    directory: Annotated[
        str | None,
        Parameter(help="The directory, for the password of one of its users."),
    ] = None,
    database: Url = None,
) -> int:
    """Sets the password of a DataHub user or of a directory's user, and ends the user's sessions.

    A user of a directory logs in to the web pages with it. Works on a database only. The root user
    of DataHub has no password until it is set here or in the settings. Exit code 1 if there was no
    password to remove.

    For example:

        lakewarden user password ana --directory main --database sqlite:///estate.db
    """
    with opened(database) as service:
        if directory is not None:
            return _of_directory(service, directory, name, file, remove=remove)
        return _of_realm(service, realm, name, file, remove=remove)


def _of_directory(
    service: DecisionService, directory: str, name: str, file: Path | None, *, remove: bool
) -> int:
    from lakewarden.authn.password import Passwords
    from lakewarden.service import directory_password, throttle
    from lakewarden.service.password import check_strength
    from lakewarden.service.realm import people_of

    actor = operator(service)
    if remove:
        removed = done(
            service.write(
                actor, lambda transaction: directory_password.remove(transaction, directory, name)
            )
        )
        return YES if removed else NO
    text = _read(file)
    check_strength(text, name)
    hashed = Passwords().hash(text)
    done(
        service.write(
            actor, lambda transaction: directory_password.put(transaction, directory, name, hashed)
        )
    )
    throttle.forget(service.store, people_of(directory), name)
    return YES


def _of_realm(
    service: DecisionService, realm: str, name: str, file: Path | None, *, remove: bool
) -> int:
    from lakewarden.authn.password import Passwords
    from lakewarden.service import throttle
    from lakewarden.service.password import check_strength

    realm_state, passwords = _passwords(service, realm)
    user = passwords.user_for_password(realm_state, name)
    if remove:
        removed = service.write(
            operator(service),
            lambda transaction: passwords.remove_password(transaction, realm, user, "operator"),
        )
        return YES if removed else NO
    text = _read(file)
    check_strength(text, name)
    hashed = Passwords().hash(text)
    service.write(
        operator(service),
        lambda transaction: passwords.set_password(transaction, realm, user, hashed, "operator"),
    )
    throttle.forget(service.store, realm, user)
    return YES


def _passwords(service: DecisionService, realm: str) -> tuple[RealmState, Any]:
    """The realm, and its system's module for passwords; raises `BadInput`."""
    from lakewarden.registry import registry

    realm_state = service.state.realm(realm)
    system = registry().shipper_of(realm_state.realm.model)
    if system is None or not system.passwords:
        titles = " or ".join(system.title for system, _ in registry().with_part("passwords"))
        raise BadInput(f"`{realm}` is not a realm of {titles}")
    return realm_state, system.load(system.passwords)


def _read(file: Path | None) -> str:
    """The password; never an argument, which every process on the machine could read."""
    if file is not None:
        try:
            return file.read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError):
            raise BadInput(f"the password in `{file}` cannot be read") from None
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    text = getpass("Password: ")
    if getpass("Once more: ") != text:
        raise BadInput("the passwords differ")
    return text
