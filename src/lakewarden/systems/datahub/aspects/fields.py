"""Typed reading of JSON as DataHub writes it, with paths in errors.

Two spellings are read: plain JSON, and Avro's, where a value of a union is in an object under the
name of its type (`{"string": "x"}`). Unknown fields are ignored, since DataHub's own records grow.
Every error has the path of the field and the expected value.
"""

from __future__ import annotations

from collections.abc import Mapping

from lakewarden.kernel.errors import BadInput

_AVRO_NAMES = frozenset(
    ("string", "boolean", "int", "long", "float", "double", "bytes", "array", "map")
)


def without_avro_type(value: object) -> object:
    """The value without the name of its Avro type.

    >>> without_avro_type({"double": 2.0})
    2.0
    >>> without_avro_type({"com.linkedin.common.Status": {"removed": True}})
    {'removed': True}
    """
    if isinstance(value, Mapping) and len(value) == 1:
        (name, inner), *_ = value.items()
        if name in _AVRO_NAMES or "." in name:
            return inner
    return value


class Fields:
    """The fields of one JSON object. A field that is null counts as absent."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, Mapping):
            raise BadInput("expected an object", where=where)
        self._fields: Mapping[str, object] = value
        self.where = where

    def __contains__(self, key: str) -> bool:
        return self._fields.get(key) is not None

    def at(self, key: str) -> str:
        """The path of a field."""
        return f"{self.where}.{key}"

    def raw(self, key: str) -> object | None:
        """The unchanged value, without the name of its Avro type."""
        return without_avro_type(self._fields.get(key))

    def whole(self, key: str) -> object | None:
        """The value exactly as written."""
        return self._fields.get(key)

    def everything(self) -> Mapping[str, object]:
        """All fields."""
        return self._fields

    def text(self, key: str) -> str:
        """A required string, which may be empty."""
        value = self.raw(key)
        if not isinstance(value, str):
            raise BadInput("expected a string", where=self.at(key))
        return value

    def text_or_none(self, key: str) -> str | None:
        """A string; None if it is absent or empty."""
        return self.text(key) or None if key in self else None

    def flag(self, key: str, default: bool = False) -> bool:
        """A boolean."""
        value = self.raw(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise BadInput("expected true or false", where=self.at(key))
        return value

    def values(self, key: str) -> list[object]:
        """A list whose members have no Avro type names; empty if absent."""
        value = self.raw(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise BadInput("expected a list", where=self.at(key))
        return [without_avro_type(item) for item in value]

    def texts(self, key: str) -> list[str]:
        """A list of strings; empty if absent."""
        items: list[str] = []
        for index, item in enumerate(self.values(key)):
            if not isinstance(item, str):
                raise BadInput("expected a string", where=f"{self.at(key)}[{index}]")
            items.append(item)
        return items

    def objects(self, key: str) -> list[Fields]:
        """A list of objects; empty if absent."""
        items = enumerate(self.values(key))
        return [Fields(item, f"{self.at(key)}[{index}]") for index, item in items]

    def object_or_none(self, key: str) -> Fields | None:
        """An object; None if absent."""
        return Fields(self.raw(key), self.at(key)) if key in self else None
