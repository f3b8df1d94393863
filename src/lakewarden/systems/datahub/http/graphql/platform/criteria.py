"""Filters in inputs, in the form of aspects: alternatives of criteria that must all match."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def alternatives(inputs: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The alternatives of an `orFilters`."""
    return [{"and": [criterion(inner) for inner in each.get("and") or ()]} for each in inputs]


def criterion(input: Mapping[str, Any]) -> dict[str, Any]:
    """One criterion."""
    values = input.get("values")
    if values is None:
        values = [] if input.get("value") is None else [input["value"]]
    return {
        "field": input["field"],
        "values": list(values),
        "condition": input.get("condition") or "EQUAL",
        "negated": input.get("negated") is True,
    }
