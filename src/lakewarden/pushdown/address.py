"""The address of a target, and the marks on the roles and views that are ours there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from lakewarden.pushdown.store_tag import tag_of

_MARK: Final = "lakewarden "


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a target with the account, its name, and the id of the store that owns it.

    Without a `store`, our objects are marked as before marks had a store id. `views` is the schema
    of our masking views, "" for the first of the `view_schemas`.
    """

    url: str
    target: str
    store: str = ""
    views: str = ""

    @property
    def prefix(self) -> str:
        """The prefix of the names of our roles and policies.

        >>> Address("postgresql://h/d", "pg").prefix
        'lw_pg_'
        """
        return f"lw_{self.target}_"

    @property
    def mark(self) -> str:
        """The mark that distinguishes our roles from those of others, and of other stores.

        >>> Address("postgresql://h/d", "pg", "1f0c").mark
        'lakewarden pg 1f0c'
        """
        return f"{self.old_mark} {self.store}".rstrip()

    @property
    def old_mark(self) -> str:
        """The mark from before marks had the store id; names the lock of all stores' targets."""
        return _MARK + self.target

    @property
    def view_schema(self) -> str:
        """The schema of our masking views.

        >>> Address("postgresql://h/d", "pg").view_schema
        'lw_pg_masked'
        """
        return self.views or self.view_schemas[0]

    @property
    def view_schemas(self) -> tuple[str, str]:
        """The candidate schemas for our masking views; the second one is specific to this store."""
        return f"{self.prefix}masked", f"{self.prefix}{tag_of(self.store)}_masked"

    def with_views(self, marks: Mapping[str, str | None]) -> Address:
        """The address with the schema of its views, chosen by the marks of the `view_schemas`.

        >>> one = Address("postgresql://h/d", "pg", "1f0c")
        >>> one.with_views({"lw_pg_masked": "lakewarden pg 1f0c"}).view_schema
        'lw_pg_masked'
        >>> one.with_views({"lw_pg_masked": "lakewarden pg 2a9b"}).view_schema
        'lw_pg_j63j_masked'
        """
        first, second = self.view_schemas
        is_taken = str(marks.get(first)).startswith(f"{self.old_mark} ")
        has_moved = marks.get(second) == self.mark
        is_second = self.store and marks.get(first) != self.mark and (is_taken or has_moved)
        return replace(self, views=second) if is_second else self
