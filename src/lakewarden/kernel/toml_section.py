"""Typed reading of one table of a parsed file: checks presence, types and unknown keys.

Every error names the file and the path of the field, and says what was expected.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from math import inf, isfinite
from typing import ParamSpec, TypeVar

from lakewarden.kernel.errors import BadInput, Unknown

T = TypeVar("T")
P = ParamSpec("P")


class Section:
    """A table whose keys are read one by one; `close` raises for keys that were not read."""

    def __init__(self, table: object, where: str) -> None:
        if not isinstance(table, Mapping):
            raise BadInput("expected a table", where=where)
        self._left: dict[str, object] = dict(table)
        self.where = where

    def at(self, key: str) -> str:
        """The path of a field of this table, for messages."""
        return f"{self.where}.{key}"

    def names(self) -> list[str]:
        """The keys that were not read yet, in file order."""
        return list(self._left)

    def take(self, key: str) -> object | None:
        """The raw value, or None when the key is absent."""
        return self._left.pop(key, None)

    def text(self, key: str, default: str | None = None) -> str:
        """A string; without a default it must be present and not empty."""
        value = self.take(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or (not value and default is None):
            raise BadInput("expected a non-empty string", where=self.at(key))
        return value

    def flag(self, key: str, default: bool = False) -> bool:
        """A boolean."""
        value = self.take(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise BadInput("expected true or false", where=self.at(key))
        return value

    def number(self, key: str) -> float | None:
        """A finite number, or None when the key is absent."""
        value = self.take(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise BadInput("expected a number", where=self.at(key))
        try:
            number = float(value)
        except OverflowError:
            number = inf
        if not isfinite(number):
            raise BadInput("expected a finite number", where=self.at(key))
        return number

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings, or one string for a list of one; empty when the key is absent."""
        value = self.take(key)
        if value is None:
            return ()
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise BadInput("expected a string or a list of strings", where=self.at(key))
        return tuple(items)

    def choice(self, key: str, options: Mapping[str, object], default: str | None = None) -> str:
        """A string that is one of `options`."""
        value = self.text(key, default)
        if value not in options:
            expected = ", ".join(sorted(options))
            raise BadInput(f"unknown `{value}`; expected one of: {expected}", where=self.at(key))
        return value

    def choices(
        self, key: str, options: Collection[str], *, required: bool = True
    ) -> tuple[str, ...]:
        """A string or a list of strings, each one of `options`; at least one if `required`."""
        values = self.texts(key)
        if required and not values:
            raise BadInput("expected a string or a list of strings", where=self.at(key))
        for value in values:
            if value not in options:
                expected = ", ".join(sorted(options))
                message = f"unknown `{value}`; expected one of: {expected}"
                raise BadInput(message, where=self.at(key))
        return values

    def tables(self, key: str) -> list[Section]:
        """A list of tables; empty when the key is absent."""
        value = self.take(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise BadInput("expected a list of tables", where=self.at(key))
        return [Section(item, f"{self.at(key)}[{i}]") for i, item in enumerate(value)]

    def named(self, key: str) -> dict[str, Section]:
        """A table of tables, by name and in file order; empty when the key is absent."""
        value = self.take(key)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise BadInput("expected a table of tables", where=self.at(key))
        return {
            str(name): Section(item, f'{self.at(key)}."{name}"') for name, item in value.items()
        }

    def resolved(
        self, key: str, look_up: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """The result of `look_up`; its error gets the path of the field."""
        try:
            return look_up(*args, **kwargs)
        except (BadInput, Unknown) as error:
            raise BadInput(str(error), where=self.at(key)) from None

    def close(self) -> None:
        """Raises for keys that were not read: a misspelt key must never be ignored."""
        if self._left:
            unknown = ", ".join(f"`{key}`" for key in sorted(map(str, self._left)))
            raise BadInput(f"unknown key {unknown}", where=self.where)
