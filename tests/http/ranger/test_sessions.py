"""The OPA sessions of a real Trino, by its Ranger plugin, which polls the realm.

A step of `sessions.toml` that ends differently there has the outcome in `ranger`: documents leave
out what Ranger cannot express.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any, Final

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.testing.trino import TrinoServer
from tests.http.opa.session_world import CONFIGURATION, world_facts
from tests.http.opa.test_served import ROOT
from tests.http.opa.test_sessions import (
    REALM,
    SESSIONS,
    Found,
    Step,
    is_expected,
    wrong_steps,
)
from tests.http.opa.test_trino import Governed, governed_trino, outcome
from tests.http.ranger.test_trino import PATIENCE_SECONDS, POLL_MS, by_ranger, need_plugin
from tests.http.ranger.typed_masks import with_columns

SERVICE: Final = """
[ranger.gravitino]
metalake = "lk"
catalogs = { memory = "lake", tpch = "samples" }
services = { prod = "trino" }
append_only = ["memory"]
"""
CLIENTS: Final = Entity("table", "lk:lake.sales.clients")
NOT_MADE: Final = {"extra", "copied", "big", "bigger", "lab", "temp2", "kept"}
"""Names that are not stored when they are used: no document allows anybody to create an object
with one of them, or to rename anything."""

TYPES: Final = {"id": "integer", "name": "string", "iban": "string"}


@pytest.fixture(name="governed", scope="module")
def _governed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Governed]:
    need_plugin()
    folder = tmp_path_factory.mktemp("ranger-sessions")
    facts = with_columns(world_facts(), CLIENTS, TYPES)
    with governed_trino(folder, facts, CONFIGURATION + SERVICE, by_ranger) as governed:
        yield governed


def ends_right(step: Step, found: Found) -> bool:
    """Whether a statement ended as expected; error messages may differ."""
    if "ranger" in step:
        return is_expected(step["ranger"], found)
    if is_about_what_is_not_made(step):
        return isinstance(found, str)
    if is_expected(step, found):
        return True
    return "refused" in step and isinstance(found, str) and "Access Denied" in found


def is_about_what_is_not_made(step: Step) -> bool:
    """Whether the statement names an object that nobody may create or rename by Ranger's plugin."""
    return not NOT_MADE.isdisjoint(re.findall(r"\w+", step["sql"]))


def by_documents(trino: TrinoServer, step: Step) -> tuple[bool, Found]:
    """Runs a statement, and again as another user if later steps need it."""
    found = outcome(trino, step["user"], step["sql"])
    instead = step.get("ranger", {}).get("instead")
    if not ends_right(step, found) or instead is None:
        return ends_right(step, found), found
    found = outcome(trino, instead, step["sql"])
    return is_expected(step, found), found


def polled(governed: Governed) -> None:
    """Waits until the plugin has had the newest documents for two more polls."""
    start = time.monotonic()
    while True:
        answer: Any = governed.served.ask("GET", f"{REALM}/plugins", token=ROOT).json()
        elapsed = time.monotonic() - start
        ages = [one["age_seconds"] for one in answer["plugins"]]
        if ages and elapsed - max(ages) > 2 * POLL_MS / 1000:
            return
        assert elapsed < PATIENCE_SECONDS, answer
        time.sleep(POLL_MS / 4000)


@pytest.mark.trino
@pytest.mark.nightly
def test_every_statement_ends_as_by_opa_but_for_what_documents_leave_out(
    governed: Governed,
) -> None:
    polled(governed)
    wrong = wrong_steps(governed, by_documents, polled)
    assert wrong == [], "\n".join(wrong)


def test_what_is_refused_by_opa_is_refused_by_ranger() -> None:
    statements = [step for session in SESSIONS for step in session["steps"] if "sql" in step]
    marked = [step for step in statements if "ranger" in step]
    opened = [
        step["sql"] for step in marked if "refused" in step and "refused" not in step["ranger"]
    ]
    assert opened == []
    assert not any(is_about_what_is_not_made(step) for step in marked)
    # Most of them end like those by OPA.
    alike = [
        one for one in statements if "ranger" not in one and not is_about_what_is_not_made(one)
    ]
    assert len(alike) >= 200
