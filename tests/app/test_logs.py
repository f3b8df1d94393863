"""docs/logs.md documents every event that the code logs, with its levels and fields.

Every test that runs a server checks its log lines against it: `tests.app.serving`.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from lakewarden.service.audit_check import LOGGED, Anchor
from lakewarden.telemetry.span_sender import SpanIds
from tests.app.log_reference import Event, documented, undocumented

SOURCE = Path(__file__).parents[2] / "src" / "lakewarden"
LEVELS = {"debug", "info", "warning", "error", "critical", "exception"}
LOGGERS = {"log.get()", "_log", "_LOG", "logger", "LOGGER"}
CHOSEN = {"not ready": {"warning", "error"}, "request": {"debug", "info"}}
"""The possible levels of an event whose level is chosen at run time."""

NAMED = {"LOGGED": LOGGED}
GIVEN = {LOGGED: frozenset(Anchor._fields), "request": frozenset(SpanIds._fields)}
"""The fields of an event that are passed as a mapping."""


def calls() -> Iterator[tuple[Path, ast.Call, str, str]]:
    """Every call of a logger: its method, and the logger's expression."""
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text("utf-8")
        if "log" not in text and "LOG" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                logger = ast.unparse(node.func.value)
                if node.func.attr in LEVELS | {"log"} and logger in LOGGERS:
                    yield path, node, node.func.attr, logger


def name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    assert isinstance(node, ast.Name), f"an event is a constant text: {ast.unparse(node)}"
    return NAMED[node.id]


def fields_of(call: ast.Call, event: str, logger: str) -> frozenset[str]:
    names = {"exception" if k.arg == "exc_info" else k.arg for k in call.keywords if k.arg}
    given = GIVEN[event] if any(k.arg is None for k in call.keywords) else frozenset()
    library = {"library"} if logger == "_LOG" else set()
    return frozenset(names) | given | library


def logged() -> Mapping[str, Event]:
    levels: dict[str, set[str]] = defaultdict(set)
    fields: dict[str, set[str]] = defaultdict(set)
    for _, call, method, logger in calls():
        event = name_of(call.args[1 if method == "log" else 0])
        levels[event] |= CHOSEN[event] if method == "log" else {method}
        fields[event] |= fields_of(call, event, logger)
    return {name: Event(frozenset(levels[name]), frozenset(fields[name])) for name in levels}


def test_the_page_has_every_event_with_its_levels_and_fields() -> None:
    found, said = logged(), documented()
    assert found.keys() == said.keys()
    assert {name: said[name] for name in found} == found


def test_loggers_are_reached_in_ways_that_are_looked_for() -> None:
    """Loggers that are created in another way would be missed."""
    makers = ("structlog.get_logger", "logging.getLogger(__name__)", "log.get")
    uses = {
        line.strip().partition(" = ")[0]
        for path in SOURCE.rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if any(f" = {maker}" in line for maker in makers)
    }
    assert {use.partition(":")[0] for use in uses} <= {"_log", "_LOG", "logger"}


@pytest.mark.parametrize(
    ("line", "is_documented"),
    [
        ({"event": "ready", "level": "info", "timestamp": "x", "revision": 1, "realms": []}, True),
        ({"event": "ready", "level": "info", "timestamp": "x", "user": "ana"}, False),
        ({"event": "ready", "level": "error", "timestamp": "x"}, False),
        ({"event": "steady", "level": "info", "timestamp": "x"}, False),
        ({"event": "anything", "level": "error", "library": "x", "exception": "x"}, True),
        ({"event": "anything", "level": "error", "library": "x", "user": "ana"}, False),
    ],
)
def test_a_line_that_is_not_as_the_page_says_is_noticed(
    line: Mapping[str, object], is_documented: bool
) -> None:
    assert (undocumented([line]) == []) is is_documented
