"""The subject of a finding."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """The subject of a finding: a statement, a principal, an entity, a row, or all of a kind.

    `kind` is `statement`, `row`, `privilege`, `type`, `realm`, a principal's kind, or an
    entity's type.
    """

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"
