"""The keys that seal secrets: the configured ones, or one stored next to a SQLite file.

An embedded store gets its own key at its first start, in a file that only its owner can read; a
copy of the database alone does not reveal the secrets. For any other store the operator configures
keys; without keys no secret can be stored.
"""

from __future__ import annotations

import os
from base64 import urlsafe_b64encode
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp
from typing import Final

from lakewarden.app.shared_revision import sqlite_file
from lakewarden.config.settings import PREFIX, Settings, load
from lakewarden.config.values import is_secret_key
from lakewarden.kernel.errors import BadInput, Unavailable

KEYS: Final = f"{PREFIX}SECRET_KEYS"
"""The environment variable that holds the keys."""


def secret_keys(settings: Settings) -> tuple[str, ...]:
    """The keys; the first one seals new secrets."""
    configured = tuple(key.get_secret_value() for key in settings.secret_keys)
    file = sqlite_file(settings.database)
    if configured or file is None:
        return configured
    return (_stored_keys(file.with_name(f"{file.name}-key")),)


def keys_of(database: str) -> tuple[str, ...]:
    """The keys without settings: those of the variable, else those of the key file.

    Raises `BadInput` if the variable holds no keys.
    """
    environment = {name: os.environ[name] for name in (KEYS,) if name in os.environ}
    return secret_keys(load(None, {"database": database}, environment))


def _stored_keys(path: Path) -> str:
    """The key in the file, which is created if missing; of concurrent writers one wins.

    Raises `BadInput` for a file without a key, `Unavailable` if it cannot be read or created.
    """
    with suppress(FileNotFoundError):
        return _read(path)
    try:
        _make(path)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise Unavailable(f"the key file `{path}` cannot be created: {reason}") from None
    return _read(path)


def _read(path: Path) -> str:
    """The key in the file; raises `BadInput`, `Unavailable`, and `FileNotFoundError`."""
    try:
        key = path.read_text(encoding="latin-1").strip()
    except FileNotFoundError:
        raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise Unavailable(f"the key file `{path}` cannot be read: {reason}") from None
    if not is_secret_key(key):
        raise BadInput(f"`{path}` holds no key; put back the one that it held to read secrets")
    return key


def _make(path: Path) -> None:
    # Not named after the process id: after a kill, the next process in a container has the same id.
    file, name = mkstemp(prefix=f"{path.name}-", dir=path.parent)
    fresh = Path(name)
    try:
        with os.fdopen(file, "wb") as out:
            out.write(urlsafe_b64encode(os.urandom(32)) + b"\n")
            out.flush()
            os.fsync(out.fileno())
        with suppress(FileExistsError):
            os.link(fresh, path)
    finally:
        fresh.unlink()
