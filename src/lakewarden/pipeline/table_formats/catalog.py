"""Catalogs of Iceberg: the source of their properties, and the translation of their errors.

A catalog is a TOML file of pyiceberg's properties (`type = "rest"` or `"sql"`, `uri`, `warehouse`,
`credential` …), or a name in pyiceberg's own configuration (`PYICEBERG_CATALOG__NAME__URI`). In the
file, a value `env:NAME` refers to an environment variable, and `name` is the catalog's name, by
which SQL catalogs distinguish their tables. Messages contain no secrets.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from warnings import catch_warnings, simplefilter

from lakewarden.kernel.errors import BadInput, Conflict, Unavailable, WardenError
from lakewarden.pipeline.storage.location import Location, on_this_machine
from lakewarden.pipeline.storage.remote_path import RemotePath
from lakewarden.pipeline.table_formats.library import need
from lakewarden.pipeline.toml_file import read_toml

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

FOLDER: Final = "iceberg"
"""The folder of the catalog that a folder of versions has of its own."""

NAME: Final = "lakewarden"
"""The default name of a catalog."""

LIBRARY: Final = ("pyiceberg.catalog.sql", "iceberg")
"""The library that commits, and the extra that installs it."""

_FILE_IO: Final = "lakewarden.pipeline.table_formats.store_file_io.StoreFileIO"
_ENVIRONMENT: Final = "env:"
_OPEN: Final = ("type", "uri", "warehouse", "prefix", "scope", "py-io-impl")
"""Properties that are not secret, except for a password in an address."""


@contextmanager
def open_catalog(name: str | None, out: Location) -> Iterator[Catalog]:
    """The catalog of this name or file; None: one on SQLite, in the folder `out`.

    Raises `BadInput` for an unknown name or an incomplete file and, without a name, for a folder
    that is not local; `Unavailable` if the catalog fails, also within the block; `Conflict` if
    another writer changed a table meanwhile.
    """
    need(*LIBRARY)
    check_named(name, out)
    from pyiceberg.catalog import load_catalog

    properties = _own(on_this_machine(out)) if name is None else properties_of(name)
    properties.setdefault("py-io-impl", _FILE_IO)
    title = properties.pop("name", NAME) if name is None or _is_file(name) else name
    with translated_errors(properties), closing(load_catalog(title, **properties)) as catalog:
        yield catalog


def check_named(name: str | None, out: Location) -> None:
    """Raises `BadInput` if a folder has no catalog of its own, and none is named."""
    if name is None and isinstance(out, RemotePath):
        message = "a folder on an object store has no catalog of its own; name one"
        raise BadInput(message, where="--table-catalog")


def _own(out: Path) -> dict[str, str]:
    folder = out.resolve() / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    return {
        "type": "sql",
        "uri": f"sqlite:///{folder / 'catalog.db'}",
        "warehouse": folder.as_uri(),
    }


def _is_file(name: str) -> bool:
    return Path(name).suffix == ".toml"


def properties_of(name: str) -> dict[str, str]:
    """The properties of a catalog. Raises `BadInput` with the invalid key."""
    if not _is_file(name):
        from pyiceberg.utils.config import Config

        configured = Config().get_catalog_config(name)
        if not configured:
            variable = f"PYICEBERG_CATALOG__{name.upper()}__URI"
            message = f"unknown catalog `{name}`: set {variable}, or name a TOML file"
            raise BadInput(message, where="--table-catalog")
        return {key: str(value) for key, value in configured.items()}
    section = read_toml(Path(name))
    properties = {key: section.text(key) for key in section.names()}
    for key, value in properties.items():
        if value.startswith(_ENVIRONMENT):
            variable = value.removeprefix(_ENVIRONMENT)
            if not os.environ.get(variable):
                message = f"the environment variable `{variable}` is not set"
                raise BadInput(message, where=section.at(key))
            properties[key] = os.environ[variable]
    if "uri" not in properties:
        raise BadInput("expected the address of the catalog", where=section.at("uri"))
    return properties


@contextmanager
def translated_errors(properties: Mapping[str, str]) -> Iterator[None]:
    """Translates errors of a catalog into our own, without any secret."""
    from pyarrow import ArrowException
    from pyiceberg import exceptions
    from requests import RequestException
    from sqlalchemy.exc import SQLAlchemyError

    failures = tuple(
        kind
        for kind in vars(exceptions).values()
        if isinstance(kind, type) and issubclass(kind, Exception)
    )
    try:
        with catch_warnings():
            # Deprecation warnings would show the address.
            simplefilter("ignore", DeprecationWarning)
            yield
    except WardenError:
        raise
    except (
        exceptions.CommitFailedException,
        exceptions.TableAlreadyExistsError,
        exceptions.ValidationException,
    ) as error:
        message = f"somebody else changed the table: {masked(str(error), properties)}"
        raise Conflict(message) from None
    except (
        *failures,
        RequestException,
        SQLAlchemyError,
        ArrowException,
        OSError,
        ValueError,
    ) as error:
        reason = masked(f"{type(error).__name__}: {error}", properties)
        raise Unavailable(f"the Iceberg catalog failed: {reason}") from None


def masked(text: str, properties: Mapping[str, str]) -> str:
    """The first line of a text, without the secrets of a catalog.

    >>> masked("no 'pw1' at db", {"uri": "postgresql://me:pw1@db/x"})
    "no '***' at db"
    """
    line = text.strip().partition("\n")[0]
    for key, value in properties.items():
        secret = (urlsplit(value).password or "") if key in _OPEN else value
        if secret:
            line = line.replace(secret, "***")
    return line
