"""The parts of the catalog's responses for the client: visible entries, and no way past the guard.

Credentials for files are forwarded only to users who may have them. Other members of `config` are
limited to those that the protocol's file lists as plain; tokens, addresses and signers are removed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from lakewarden.engines.engine import Engine
from lakewarden.http.iceberg.errors import IcebergError
from lakewarden.http.iceberg.json_body import Json

WITHHELD: Final = "lakewarden.credentials-withheld"
"""The member of `config` with the reason why there are no credentials."""

_CREDENTIALS: Final = "storage-credentials"
_NEXT: Final = "next-page-token"


def read(body: bytes) -> Json:
    """Parses a response of the catalog; raises `IcebergError` for an invalid one.

    Duplicates are read once, and the response is encoded anew: the client sees what was checked.
    """
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise IcebergError(502, "the catalog's answer cannot be read")
    return value


def entries(answer: Json, name: str) -> list[Any]:
    """The entries of a list."""
    found = answer.get(name)
    if not isinstance(found, list):
        raise IcebergError(502, "the catalog's answer cannot be read")
    return found


def scrubbed(engine: Engine, answer: Json, withheld: str) -> Json:
    """The response without what the client may not have; `withheld`: why credentials are removed.

    With "" they are forwarded.
    """
    cleaned = {key: value for key, value in answer.items() if engine.matches("members", key)}
    kinds = ("plain",) if withheld else ("plain", "credentials")
    if "config" in answer:
        cleaned["config"] = {
            **_allowed_config(engine, answer["config"], kinds),
            **({WITHHELD: withheld} if withheld else {}),
        }
    if _CREDENTIALS in answer and not withheld:
        cleaned[_CREDENTIALS] = [
            {
                "prefix": one.get("prefix"),
                "config": _allowed_config(engine, one.get("config"), kinds),
            }
            for one in answer[_CREDENTIALS] or ()
            if isinstance(one, dict)
        ]
    return cleaned


def plain(engine: Engine, config: object) -> Json:
    """The members of a catalog's configuration without addresses, tokens or credentials."""
    return _allowed_config(engine, config, ("plain",))


def page(answer: Json, name: str, shown: Sequence[Any]) -> Json:
    """A page of a list with some of its entries, and the token of the next page."""
    found: Json = {name: shown}
    return {**found, _NEXT: answer[_NEXT]} if answer.get(_NEXT) is not None else found


def columns(answer: Mapping[str, Any]) -> frozenset[str]:
    """The names of all columns that a table has or had; nested ones by their paths."""
    metadata = answer.get("metadata")
    schemas = metadata.get("schemas") if isinstance(metadata, dict) else None
    return frozenset(
        name for schema in schemas or () if isinstance(schema, dict) for name in _fields(schema, "")
    )


def _fields(type: object, prefix: str) -> list[str]:
    if not isinstance(type, dict):
        return []
    if type.get("type") == "list":
        return _fields(type.get("element"), prefix)
    if type.get("type") == "map":
        return [*_fields(type.get("key"), prefix), *_fields(type.get("value"), prefix)]
    names: list[str] = []
    for field in type.get("fields") or ():
        if isinstance(field, dict) and isinstance(field.get("name"), str):
            name = prefix + field["name"]
            names += [name, *_fields(field.get("type"), f"{name}.")]
    return names


def _allowed_config(engine: Engine, config: object, kinds: tuple[str, ...]) -> Json:
    if not isinstance(config, dict):
        return {}
    return {
        key: value
        for key, value in config.items()
        if isinstance(value, str) and any(engine.matches(kind, key) for kind in kinds)
    }
