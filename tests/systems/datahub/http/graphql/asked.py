"""Requests that must be denied to a stranger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """A complete document that requests one guarded field, valid except for the caller.

    `operation` is the field's operation, under which a denied mutation is audited.
    """

    operation: str
    query: str
    variables: Mapping[str, Any] = {}
