"""The operator's configured password of DataHub's root user; there is no default password.

At every start it is compared with the stored one. If they differ, it replaces the stored one, and
root's sessions end. Without a configured password, one set by `lakewarden user password` is kept.
"""

from __future__ import annotations

from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.service.actor import SYSTEM
from lakewarden.service.credential import PASSWORD
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.password import Hashing, check_strength
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub.settings import DataHubSettings
from lakewarden.systems.datahub.use_cases import native_user
from lakewarden.systems.datahub.use_cases.account_status import ROOT, TYPE

REALM: Final = "datahub"
_USER = Entity(TYPE, ROOT)


def set_root_password(
    service: DecisionService, settings: DataHubSettings, hashing: Hashing
) -> bool:
    """Stores the configured password; returns whether it changed.

    Raises `BadInput` for one that is too easily guessed, or for an unreadable file.
    """
    password = _configured_password(settings)
    if password is None or REALM not in service.state.realms:
        return False
    with service.reading() as reading:
        stored = reading.credential(REALM, _USER, PASSWORD)
    if hashing.verify(None if stored is None else stored.value, password):
        return False
    hashed = hashing.hash(password)

    def put_password(transaction: WriteTransaction) -> bool:
        # Another process may have stored it first: only one of them ends the sessions.
        if transaction.store.credential(REALM, _USER, PASSWORD) != stored:
            return False
        native_user.set_password(transaction, REALM, ROOT, hashed, "configuration")
        return True

    return service.write(SYSTEM, put_password)


def _configured_password(settings: DataHubSettings) -> str | None:
    secret, file = settings.root_password, settings.root_password_file
    if secret is not None:
        return secret.get_secret_value()
    if file is None:
        return None
    try:
        password = file.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError):
        raise BadInput(f"the password of root in `{file}` cannot be read") from None
    check_strength(password, "datahub")
    return password
