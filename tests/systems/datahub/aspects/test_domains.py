"""The two lists of domains are kept alike; what changed leads."""

from __future__ import annotations

from typing import Any

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.systems.datahub.aspects.domains import aligned

Value = dict[str, Any]


def of(*domains: str) -> list[Value]:
    return [{"domain": name} for name in domains]


NOTED = {"domain": "a", "context": "a scan"}


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        (None, {"domains": ["a"]}, {"domains": ["a"]}),
        (None, {"domainAssociations": of("a", "a")}, {"domains": ["a"]}),
        (None, {"domains": [], "domainAssociations": of("b", "a")}, {"domains": ["b", "a"]}),
        (None, {"domains": ["a"], "domainAssociations": []}, {"domainAssociations": of("a")}),
        (
            None,
            {"domains": ["a", "b"], "domainAssociations": of("b", "a")},
            {"domains": ["b", "a"]},
        ),
        (
            {"domains": ["a"], "domainAssociations": [NOTED]},
            {"domains": ["a"], "domainAssociations": []},
            {"domains": []},
        ),
        (
            {"domains": ["a"], "domainAssociations": [NOTED]},
            {"domains": ["a", "b"], "domainAssociations": [NOTED]},
            {"domainAssociations": [NOTED, *of("b")]},
        ),
        (
            {"domains": ["a"], "domainAssociations": [NOTED]},
            {"domains": [], "domainAssociations": [NOTED]},
            {"domainAssociations": []},
        ),
        ({"domains": ["a"], "domainAssociations": [NOTED]}, {"domains": ["b"]}, {}),
        ({"domains": ["a"]}, {"domains": ["a"], "domainAssociations": of("b")}, {"domains": ["b"]}),
    ],
)
def test_what_changed_leads(old: Value | None, new: Value, left: Value) -> None:
    """`left` is what is different from the new value."""
    before = dict(new)
    assert aligned(old, new, "x") == {**new, **left}
    assert new == before


def test_what_does_not_change_stays_as_it_is() -> None:
    """Of a data product the lists may be told apart: what is read may be written back."""
    value = {"domains": ["a"], "domainAssociations": of("b")}
    assert aligned(value, dict(value), "x") == value


def test_lists_that_both_change_name_the_same_domains() -> None:
    with pytest.raises(BadInput, match="`domainAssociations`") as caught:
        aligned({}, {"domains": ["a"], "domainAssociations": of("b")}, "body.value")
    assert caught.value.where == "body.value.domains"


@pytest.mark.parametrize(
    "new",
    [
        {"domainAssociations": "a"},
        {"domainAssociations": ["a"]},
        {"domainAssociations": [{}]},
        {"domains": "a", "domainAssociations": of("a")},
    ],
)
def test_what_is_no_list_of_domains_is_refused(new: Value) -> None:
    with pytest.raises(BadInput):
        aligned(None, new, "x")
