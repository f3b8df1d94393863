"""The limits of stored data, per entity and per realm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from lakewarden.kernel.errors import LimitExceeded
from lakewarden.names.canonical import quoted


class Size(NamedTuple):
    """Numbers of documents and values in time, and of their bytes of JSON; of a change, signed."""

    documents: int = 0
    bytes: int = 0

    def plus(self, other: Size) -> Size:
        """The sum of both."""
        return Size(self.documents + other.documents, self.bytes + other.bytes)


@dataclass(frozen=True, slots=True)
class StoreLimits:
    """The limits of stored data; None: no limit.

    `document_bytes` is the limit of a document, `realm_bytes` and `realm_documents` those of all
    documents and values in time of a realm (or of a directory) together.
    """

    document_bytes: int | None = None
    realm_bytes: int | None = None
    realm_documents: int | None = None

    def check(self, scope: str, stored: Size, change: Size) -> None:
        """Raises `LimitExceeded` if the change adds data and the result exceeds a limit.

        A realm may exceed a limit that was lowered: changes that reduce its size are allowed.
        """
        limits = {"documents": self.realm_documents, "bytes": self.realm_bytes}
        for unit, limit in limits.items():
            more, total = getattr(change, unit), getattr(stored.plus(change), unit)
            if limit is not None and more > 0 and total > limit:
                raise LimitExceeded(
                    f"{_named(scope)} would keep {total:,} {_COUNTED[unit]}, at most {limit:,} are"
                    f" allowed (setting `limits.realm_{unit}`)"
                )


UNLIMITED = StoreLimits()

_COUNTED: Mapping[str, str] = {
    "documents": "documents and values in time",
    "bytes": "bytes of documents and values in time",
}


def _named(scope: str) -> str:
    kind, name = ("directory", scope[1:]) if scope.startswith("@") else ("realm", scope)
    return f"the {kind} {quoted(name)}"
