"""Names of users and groups in a directory with ids: one name for each id, one id for each name.

Grants are by name. If two principals had one name, each would get the other's grants.
"""

from __future__ import annotations

from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import quoted


class UniqueNames:
    """Users and groups by kind and name, each with its id or entry."""

    def __init__(self) -> None:
        self._ids: dict[tuple[str, str], str] = {}
        self._named: dict[str, tuple[str, str]] = {}

    def add(self, kind: str, name: str, id: str, where: str) -> None:
        """Adds a name; repeats are allowed. Raises `BadInput` if a name or an id has two."""
        first = self._ids.setdefault((kind, name), id)
        if first != id:
            message = f"the {kind.lower()} {quoted(name)} is both {quoted(first)} and {quoted(id)}"
            raise BadInput(f"{message}: names of users and groups have to be unique", where=where)
        named = self._named.setdefault(id, (kind, name))
        if named != (kind, name):
            other = f"the {named[0].lower()} {quoted(named[1])}"
            message = f"{quoted(id)} is both {other} and the {kind.lower()} {quoted(name)}"
            raise BadInput(message, where=where)
