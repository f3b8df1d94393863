"""What a stranger asks for in vain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """A whole document that asks for one guarded field, with nothing wrong but the caller.

    `operation` is what the field asks, and under which a refused mutation is audited.
    """

    operation: str
    query: str
    variables: Mapping[str, Any] = {}
