"""Where a target is, and what marks what is ours there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_MARK: Final = "lakewarden "


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a target with the account, and its name."""

    url: str
    target: str

    @property
    def prefix(self) -> str:
        """How the names of our roles and policies begin.

        >>> Address("postgresql://h/d", "pg").prefix
        'lw_pg_'
        """
        return f"lw_{self.target}_"

    @property
    def mark(self) -> str:
        """What tells our roles where they have comments, and the lock of the target."""
        return _MARK + self.target

    @property
    def view_schema(self) -> str:
        """The schema of our masking views.

        >>> Address("postgresql://h/d", "pg").view_schema
        'lw_pg_masked'
        """
        return f"{self.prefix}masked"
