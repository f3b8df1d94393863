"""Names of users and groups that a directory knows by ids: each is of one id, and each id of one.

Grants are by name. Where two have one name, each would get what the other was granted.
"""

from __future__ import annotations

from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import quoted


class UniqueNames:
    """Users and groups by kind and name, each with the id or the entry that has it."""

    def __init__(self) -> None:
        self._ids: dict[tuple[str, str], str] = {}
        self._named: dict[str, tuple[str, str]] = {}

    def add(self, kind: str, name: str, id: str, where: str) -> None:
        """Adds one; it may be added again. Raises `BadInput` for a name or an id of two."""
        first = self._ids.setdefault((kind, name), id)
        if first != id:
            message = f"the {kind.lower()} {quoted(name)} is both {quoted(first)} and {quoted(id)}"
            raise BadInput(f"{message}: names of users and groups have to be unique", where=where)
        named = self._named.setdefault(id, (kind, name))
        if named != (kind, name):
            other = f"the {named[0].lower()} {quoted(named[1])}"
            message = f"{quoted(id)} is both {other} and the {kind.lower()} {quoted(name)}"
            raise BadInput(message, where=where)
