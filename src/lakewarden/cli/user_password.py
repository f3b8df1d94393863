"""`lakewarden user password`: what somebody signs in with in a realm of DataHub."""

from __future__ import annotations

import sys
from getpass import getpass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from lakewarden.cli.admin_target import opened, operator
from lakewarden.cli.outcome import NO, YES
from lakewarden.cli.question_target import Url
from lakewarden.kernel.errors import BadInput


def password(
    name: Annotated[str, Parameter(help="The user's name; `datahub` is the root user.")],
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
    database: Url = None,
) -> int:
    """Sets the password of a DataHub user and ends the user's sessions.

    Works on a database only. The root user has no password until it is set here or in the settings.
    Exit code 1 if there was no password to remove.

    For example:

        lakewarden user password datahub --database sqlite:///estate.db
    """
    from lakewarden.authn.password import Passwords
    from lakewarden.registry import registry
    from lakewarden.service import throttle
    from lakewarden.service.decision_service import DecisionService
    from lakewarden.service.password import check_strength
    from lakewarden.service.state import RealmState

    def check(service: DecisionService) -> tuple[RealmState, Any]:
        found = service.state.realm(realm)
        system = registry().shipping(found.realm.model)
        if system is None or not system.passwords:
            titles = " or ".join(one.title for one, _ in registry().having("passwords"))
            raise BadInput(f"`{realm}` is no realm of {titles}")
        return found, system.load(system.passwords)

    with opened(database) as service:
        found, passwords = check(service)
        user = passwords.known(found, name)
        if remove:
            gone = service.write(
                operator(service),
                lambda transaction: passwords.forget(transaction, realm, user, "operator"),
            )
            return YES if gone else NO
        text = _read(file)
        check_strength(text, name)
        hashed = Passwords().hash(text)
        service.write(
            operator(service),
            lambda transaction: passwords.put(transaction, realm, user, hashed, "operator"),
        )
        throttle.forget(service.store, realm, user)
    return YES


def _read(file: Path | None) -> str:
    """The password; never an argument, which every process of the machine could read."""
    if file is not None:
        try:
            return file.read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError):
            raise BadInput(f"the password in `{file}` cannot be read") from None
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    text = getpass("Password: ")
    if getpass("Once more: ") != text:
        raise BadInput("these are two different passwords")
    return text
