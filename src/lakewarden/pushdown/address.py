"""Where a target is, and what marks what is ours there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_MARK: Final = "lakewarden "


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a target with the account, its name, and the id of the store that has it.

    Without a `store` ours is marked as it was before marks had one.
    """

    url: str
    target: str
    store: str = ""

    @property
    def prefix(self) -> str:
        """How the names of our roles and policies begin.

        >>> Address("postgresql://h/d", "pg").prefix
        'lw_pg_'
        """
        return f"lw_{self.target}_"

    @property
    def mark(self) -> str:
        """What tells our roles from those of others, and of other stores.

        >>> Address("postgresql://h/d", "pg", "1f0c").mark
        'lakewarden pg 1f0c'
        """
        return f"{self.old_mark} {self.store}".rstrip()

    @property
    def old_mark(self) -> str:
        """How ours was marked before marks had the store; the lock of all stores' targets."""
        return _MARK + self.target

    @property
    def view_schema(self) -> str:
        """The schema of our masking views.

        >>> Address("postgresql://h/d", "pg").view_schema
        'lw_pg_masked'
        """
        return f"{self.prefix}masked"
