"""No privilege is unused: each guards something that a call checks, or the model says why not."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import Final

import pytest

from lakewarden import models
from lakewarden.kernel.expression import Holds, May, Node, NotDenied, children
from lakewarden.kernel.model import Operation
from tests.systems.datahub.http.graphql import census
from tests.systems.datahub.http.test_census import ACTIONS, ROUTES

MODEL: Final = models.load("datahub", {"view_authorization": "on", "views": "access"})

ASKED_WITHIN: Final = {
    "analytics.view": "systems.datahub.http.graphql.platform.analytics",
    "column.docs.edit": "systems.datahub.http.graphql.edits.descriptions",
    "column.properties.edit": "systems.datahub.http.graphql.platform.property_values",
    "column.tags.edit": "systems.datahub.http.graphql.edits.labels",
    "column.terms.edit": "systems.datahub.http.graphql.edits.labels",
    "dataset.operations.view": "systems.datahub.http.graphql.measures",
    "dataset.profile.view": "systems.datahub.http.graphql.measures",
    "entity.search_view": "systems.datahub.http.view_authorization",
    "entity.view": "systems.datahub.http.view_authorization",
    "events.change_log.read": "systems.datahub.http.system_calls",
    "events.platform.read": "systems.datahub.http.system_calls",
    "events.topic.read": "systems.datahub.http.system_calls",
    "role_membership.edit": "systems.datahub.use_cases.aspect_guard",
    "timeseries.delete": "systems.datahub.http.timeseries",
    "token.create_service": "systems.datahub.http.graphql.tokens",
}
"""Operations checked within a call, besides its own, and the module that checks them."""

SHOWN: Final = {
    "structured_property.view": "viewStructuredPropertiesPage",
    "tag.view_page": "viewManageTags",
}
"""Pages of the web client, shown by this member of `platformPrivileges`."""


def called_operations() -> Iterator[str]:
    """The operations that calls check."""
    yield from (asked.operation for asked in census.REFUSED.values())
    yield from (route.operation for route in ROUTES if route.operation)
    for actions in ACTIONS.values():
        yield from (operation for operation, _ in actions.values())
    yield from ASKED_WITHIN
    yield from SHOWN


def nodes(rule: Node) -> Iterator[Node]:
    yield rule
    for child in children(rule):
        yield from nodes(child)


def rule_nodes(operation: Operation) -> Iterator[Node]:
    for rule in operation.rules.values():
        yield from nodes(rule)


def covered_operations() -> set[str]:
    """The operations that calls check, and those whose rules are parts of these."""
    found, todo = set[str](), list(called_operations())
    while todo:
        one = todo.pop()
        if one not in found:
            found.add(one)
            inner = rule_nodes(MODEL.operation(one))
            todo += [node.operation for node in inner if isinstance(node, May)]
    return found


def gated(operations: set[str]) -> set[str]:
    """The privileges in the operations' rules, and those that imply one of them."""
    found = {
        node.privilege
        for name in operations
        for node in rule_nodes(MODEL.operation(name))
        if isinstance(node, Holds | NotDenied)
    }
    return found | {word for name in found for word in MODEL.privileges[name].implied_by}


REASONS: Final = {name: one.asked for name, one in MODEL.operations.items() if one.asked}


@pytest.mark.parametrize("name", sorted(MODEL.privileges))
def test_a_privilege_gates_what_a_call_asks_or_the_model_says_why_it_does_not(name: str) -> None:
    if name in gated(covered_operations()) or MODEL.privileges[name].asked:
        return
    gating = {one for one in MODEL.operations if name in gated({one})}
    told = "\n".join(f"{one}: {why}" for one, why in sorted(REASONS.items()))
    assert gating, name
    assert gating <= REASONS.keys(), f"{name} gates {gating - REASONS.keys()}; reasons:\n{told}"


def test_what_calls_ask_needs_no_reason() -> None:
    assert covered_operations() & REASONS.keys() == set()


@pytest.mark.parametrize(("operation", "module"), sorted(ASKED_WITHIN.items()))
def test_what_is_asked_in_the_midst_of_a_call_is_asked_there(operation: str, module: str) -> None:
    source = inspect.getsource(import_module(f"lakewarden.{module}"))
    assert f'"{operation}"' in source


@pytest.mark.parametrize(("operation", "member"), sorted(SHOWN.items()))
def test_a_page_of_the_web_client_is_shown_by_what_the_caller_may(
    operation: str, member: str
) -> None:
    source = inspect.getsource(import_module("lakewarden.systems.datahub.http.graphql.privileges"))
    assert f'"{member}": "{operation}"' in source
