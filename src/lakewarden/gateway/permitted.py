"""What the gateway permits, from `permitted.toml` and `functions.txt`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import Final

from lakewarden.kernel.toml_section import Section

_FILE: Final = "permitted.toml"
_FUNCTIONS: Final = "functions.txt"


@dataclass(frozen=True, slots=True)
class Permitted:
    """The lists of the file.

    `messages` are the permitted fields of a message, by its name without the package. `required`
    are settings of the server. `user_functions` return the user's name.
    """

    messages: Mapping[str, frozenset[str]]
    required: Mapping[str, str]
    set_settings: tuple[str, ...]
    get_settings: tuple[str, ...]
    formats: frozenset[str]
    functions: frozenset[str]
    denied_functions: frozenset[str]
    user_functions: frozenset[str]

    def may_set(self, name: str) -> bool:
        """Whether a user may change the setting in a session.

        >>> load().may_set("spark.sql.shuffle.partitions"), load().may_set("spark.sql.extensions")
        (True, False)
        """
        return _matches(name, self.set_settings)

    def may_get(self, name: str) -> bool:
        """Whether a user may read the setting."""
        return _matches(name, self.get_settings)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


@cache
def load() -> Permitted:
    """The shipped lists."""
    folder = resources.files("lakewarden.gateway")
    file = Section(tomllib.loads(folder.joinpath(_FILE).read_text("utf-8")), _FILE)
    messages, required, settings, tables, functions = (
        Section(file.take(name), file.at(name))
        for name in ("messages", "required", "settings", "tables", "functions")
    )
    permitted = Permitted(
        messages={name: frozenset(messages.texts(name)) for name in messages.names()},
        required={name: required.text(name) for name in required.names()},
        set_settings=settings.texts("set"),
        get_settings=settings.texts("get"),
        formats=frozenset(tables.texts("formats")),
        functions=frozenset(folder.joinpath(_FUNCTIONS).read_text("utf-8").split()),
        denied_functions=frozenset(functions.texts("denied")),
        user_functions=frozenset(functions.texts("user")),
    )
    for section in (messages, required, settings, tables, functions, file):
        section.close()
    return permitted
