"""The settings in force, each with the source of its value.

| source     | place                                                             |
|------------|-------------------------------------------------------------------|
| `option`   | the command line of `lakewarden serve`                            |
| `variable` | an environment variable: `where` is its name, if it has that form |
| `file`     | the settings file: `where` is its path                            |
| `store`    | the stored value, which the setting adopts                        |
| `default`  | not set                                                           |

Secrets are masked: by their type, and in addresses that may contain a password.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, SecretStr

from lakewarden.config.settings import DEFAULT, Settings
from lakewarden.names.secret import MASKED


@dataclass(frozen=True, slots=True)
class EffectiveSetting:
    """One setting: its dotted name, its value as JSON, and the source of the value."""

    name: str
    meaning: str
    value: object
    source: str
    where: str
    secret: bool


def effective(settings: Settings) -> tuple[EffectiveSetting, ...]:
    """All settings, ordered by name."""
    rows = []
    for name, meaning, value in _leaves(settings):
        origin = settings.origins.get(name, DEFAULT)
        masked = _masked(value)
        is_secret = _holds_secret(value) or (isinstance(masked, str) and masked.endswith(MASKED))
        rows.append(EffectiveSetting(name, meaning, masked, origin.source, origin.where, is_secret))
    return tuple(sorted(rows, key=lambda row: row.name))


def _leaves(section: BaseModel, prefix: str = "") -> Iterator[tuple[str, str, object]]:
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        if isinstance(value, BaseModel):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, field.description or "", value


def _holds_secret(value: object) -> bool:
    if isinstance(value, (tuple, list)):
        return any(_holds_secret(item) for item in value)
    return isinstance(value, SecretStr)


def _masked(value: object) -> object:
    match value:
        case SecretStr():
            return MASKED
        case str():
            return masked_address(value)
        case Path():
            return str(value)
        case BaseModel():
            return {name: _masked(getattr(value, name)) for name in type(value).model_fields}
        case Mapping():
            return {str(key): _masked(item) for key, item in value.items()}
        case tuple() | list():
            return [_masked(item) for item in value]
        case _:
            return value


def masked_address(text: str) -> str:
    """The text; an address that may contain a password is reduced to its scheme.

    >>> masked_address("postgresql://ana:pa/ss@host/db"), masked_address("https://idp.example/a")
    ('postgresql://•••', 'https://idp.example/a')
    """
    scheme, colon, location = text.partition("://")
    return f"{scheme}://{MASKED}" if colon and ("@" in location or "?" in location) else text
