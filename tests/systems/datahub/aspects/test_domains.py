"""The two lists of domains are kept consistent; the changed one wins."""

from __future__ import annotations

from typing import Any

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.systems.datahub.aspects.domains import align_lists

Value = dict[str, Any]


def associations_of(*domains: str) -> list[Value]:
    return [{"domain": name} for name in domains]


NOTED = {"domain": "a", "context": "a scan"}


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        (None, {"domains": ["a"]}, {"domains": ["a"]}),
        (None, {"domainAssociations": associations_of("a", "a")}, {"domains": ["a"]}),
        (
            None,
            {"domains": [], "domainAssociations": associations_of("b", "a")},
            {"domains": ["b", "a"]},
        ),
        (
            None,
            {"domains": ["a"], "domainAssociations": []},
            {"domainAssociations": associations_of("a")},
        ),
        (
            None,
            {"domains": ["a", "b"], "domainAssociations": associations_of("b", "a")},
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
            {"domainAssociations": [NOTED, *associations_of("b")]},
        ),
        (
            {"domains": ["a"], "domainAssociations": [NOTED]},
            {"domains": [], "domainAssociations": [NOTED]},
            {"domainAssociations": []},
        ),
        ({"domains": ["a"], "domainAssociations": [NOTED]}, {"domains": ["b"]}, {}),
        (
            {"domains": ["a"]},
            {"domains": ["a"], "domainAssociations": associations_of("b")},
            {"domains": ["b"]},
        ),
    ],
)
def test_what_changed_leads(old: Value | None, new: Value, left: Value) -> None:
    """`left` is the difference from the new value."""
    before = dict(new)
    assert align_lists(old, new, "x") == {**new, **left}
    assert new == before


def test_what_does_not_change_stays_as_it_is() -> None:
    """The lists of a data product may differ: a read value may be written back."""
    value = {"domains": ["a"], "domainAssociations": associations_of("b")}
    assert align_lists(value, dict(value), "x") == value


def test_lists_that_both_change_name_the_same_domains() -> None:
    with pytest.raises(BadInput, match="`domainAssociations`") as caught:
        align_lists(
            {}, {"domains": ["a"], "domainAssociations": associations_of("b")}, "body.value"
        )
    assert caught.value.where == "body.value.domains"


@pytest.mark.parametrize(
    "new",
    [
        {"domainAssociations": "a"},
        {"domainAssociations": ["a"]},
        {"domainAssociations": [{}]},
        {"domains": "a", "domainAssociations": associations_of("a")},
    ],
)
def test_what_is_no_list_of_domains_is_refused(new: Value) -> None:
    with pytest.raises(BadInput):
        align_lists(None, new, "x")
