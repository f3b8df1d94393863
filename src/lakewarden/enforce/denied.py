"""The error of a denied read."""

from __future__ import annotations

from collections.abc import Sequence


class ReadDenied(PermissionError):
    """A user may not read a table.

    `operation` is what reading requires, `table` the entity, and `missing` the missing privileges,
    as far as they may be disclosed.
    """

    def __init__(self, user: str, operation: str, table: str, missing: Sequence[str] = ()) -> None:
        lacks = f"; missing: {', '.join(missing)}" if missing else ""
        super().__init__(f"`{user}` may not `{operation or 'read'}` on `{table}`{lacks}")
        self.operation = operation
        self.table = table
        self.missing = tuple(missing)
