"""Whom policies of others with wildcards give what the realm denies: as Ranger matches them."""

from __future__ import annotations

from typing import Any

import pytest

from lakewarden.pushdown.grants import Grant
from lakewarden.pushdown.ranger.drift import foreign
from lakewarden.pushdown.ranger.state import Held

ANA, BOTH = frozenset({"ana"}), frozenset({"ana", "bo"})
PLAIN, BRACKETS = Grant(("c", "s", "a1x"), "select"), Grant(("c", "s", "a[1]x"), "select")


def policy(pattern: str) -> dict[str, Any]:
    """One of somebody else, for `ana`."""
    names = {"catalog": "c", "schema": "s", "table": pattern}
    return {
        "name": "others",
        "policyType": 0,
        "resources": {level: {"values": [name]} for level, name in names.items()},
        "policyItems": [
            {"users": ["ana"], "accesses": [{"type": "select", "isAllowed": True}]},
        ],
    }


@pytest.mark.parametrize(
    ("pattern", "denied"),
    [
        ("a[1]*", ("ana",)),  # Ranger has no classes of characters: this is `a[1]x` alone
        ("a[1]x", ("ana",)),
        ("a1*", ()),
        ("a1?", ()),
        ("a?x", ()),
        ("a*", ("ana",)),
        ("[!b]*", ("ana",)),  # fits nothing that is known here
    ],
)
def test_a_wildcard_is_what_it_is_in_ranger(pattern: str, denied: tuple[str, ...]) -> None:
    allowed = {PLAIN: ANA, BRACKETS: frozenset({"bo"})}
    (found,) = foreign(Held(others=(policy(pattern),)), BOTH, allowed, "trino")
    assert found.users == ("ana",)
    assert found.denied == denied
