"""Sessions of ten users on a real Trino, from `sessions.toml`, and the same users' REST calls.

It runs where Trino is installed (`scripts/install-trino.sh`), and needs Java 24 or newer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import pytest

from lakewarden.testing.trino import TrinoServer
from tests.app.serving import Served
from tests.http.opa.session_world import CONFIGURATION, FILE, NOBODY, USERS, WORLD, world_facts
from tests.http.opa.test_served import ROOT
from tests.http.opa.test_trino import Governed, governed_trino, outcome
from tests.http.opa.trino_server import need_trino

pytestmark = [pytest.mark.trino, pytest.mark.nightly]

SESSIONS: Final[Sequence[Mapping[str, Any]]] = FILE["session"]
CALLED: Final = {"lake": "memory", "samples": "tpch"}
"""Catalogs of the realm, by their names in Trino."""
REALM: Final = "/api/v1/realms/gravitino"

Step = Mapping[str, Any]
Found = list[list[object]] | str
"""The rows of a statement, or its error message."""


@pytest.fixture(name="governed", scope="module")
def _governed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Governed]:
    need_trino()
    folder = tmp_path_factory.mktemp("sessions")
    with governed_trino(folder, world_facts(), CONFIGURATION) as governed:
        yield governed


def changed(served: Served, step: Step) -> None:
    """Performs a step that is not a statement."""
    if "store" in step:
        owner = step.get("owner")
        body = {"entity": step["store"], "owners": [{"principal": f"user:{owner}"}]}
        answer = served.ask("PUT", f"{REALM}/entity", body if owner else body | {"owners": []},
                            token=ROOT)  # fmt: skip
    elif "forget" in step:
        answer = served.ask("DELETE", f"{REALM}/entity?entity={step['forget']}", token=ROOT)
    elif "remove" in step:
        answer = served.ask("DELETE", f"{REALM}/statements/{step['remove']}", token=ROOT)
    else:
        stated = dict(step["state"])
        kind, id = stated.pop("kind", "statement"), stated.pop("id")
        answer = served.ask("PUT", f"{REALM}/{kind}s/{id}", stated, token=ROOT)
    assert answer.status < 300, (step, answer.body)


def is_expected(step: Step, found: Found) -> bool:
    """Whether a statement ended as its step expects; the order of rows does not count."""
    for key in ("refused", "unsupported"):
        if key in step:
            return isinstance(found, str) and str(step[key]) in found
    if not isinstance(found, list):
        return False
    if "count" in step:
        return len(found) == int(step["count"])
    return sorted(map(json.dumps, found)) == sorted(map(json.dumps, step["rows"]))


def test_there_are_two_hundred_statements_of_ten_users() -> None:
    steps = [step for session in SESSIONS for step in session["steps"] if "sql" in step]
    assert len(steps) >= 200
    users = {step["user"] for step in steps if "refused" not in step}
    assert users >= set(WORLD["roles"])
    assert NOBODY in {step["user"] for step in steps}
    assert len(users) >= 10


def by_mapping(trino: TrinoServer, step: Step) -> tuple[bool, Found]:
    """Runs a statement; whether it ended as its step expects, and its outcome."""
    found = outcome(trino, step["user"], step["sql"])
    return is_expected(step, found), found


def wrong_steps(
    governed: Governed,
    attempt: Callable[[TrinoServer, Step], tuple[bool, Found]] = by_mapping,
    settled: Callable[[Governed], None] = lambda _: None,
) -> list[str]:
    """Runs the sessions; returns the statements with an unexpected outcome.

    `attempt` runs one of them, and returns whether its outcome is right. `settled` waits until
    Trino has received a change of the realm.
    """
    wrong = []
    for session in SESSIONS:
        for step in session["steps"]:
            if "sql" not in step:
                changed(governed.served, step)
                settled(governed)
                continue
            is_right, found = attempt(governed.trino, step)
            if not is_right:
                wrong.append(str((session["title"], step["user"], step["sql"], found)))
    return wrong


def test_every_statement_ends_as_the_mapping_says(governed: Governed) -> None:
    wrong = wrong_steps(governed)
    assert wrong == [], "\n".join(wrong)


def names(served: Served, token: str, path: str) -> set[str] | None:
    """The names in a list of Gravitino's REST; None if it is denied."""
    answer = served.ask("GET", f"/r/gravitino/api/metalakes/lk/{path}", token=token)
    if answer.status == 403:
        return None
    assert answer.status == 200, answer.body
    found: Any = answer.json()
    return {one["name"] for one in found["identifiers"]}


def shown(governed: Governed, user: str, statement: str) -> set[str] | None:
    """Trino's list, without what every client reads; None if it is denied."""
    found = outcome(governed.trino, user, statement)
    if isinstance(found, str):
        return None
    return {str(row[0]) for row in found} - {"system", "information_schema"}


@pytest.mark.parametrize("user", USERS)
def test_gravitino_lists_the_same_to_the_same_user(governed: Governed, user: str) -> None:
    """Catalogs, schemas, tables and views, which Trino lists together; after the sessions."""
    served = governed.served
    issued: Any = served.ask("POST", "/api/v1/tokens", {"user": user}, token=ROOT).json()
    token = issued["token"]
    catalogs = names(served, token, "catalogs")
    seen = shown(governed, user, "SHOW CATALOGS")
    assert seen == (None if catalogs is None else {CALLED[one] for one in catalogs})
    for catalog, schemas in (("lake", ("sales", "hr")), ("samples", ("tiny",))):
        called = CALLED[catalog]
        listed = names(served, token, f"catalogs/{catalog}/schemas")
        assert shown(governed, user, f"SHOW SCHEMAS FROM {called}") == listed, catalog
        for schema in schemas:
            path = f"catalogs/{catalog}/schemas/{schema}"
            kinds = [names(served, token, f"{path}/{kind}") for kind in ("tables", "views")]
            seen = shown(governed, user, f"SHOW TABLES FROM {called}.{schema}")
            expected = None if None in kinds else {name for kind in kinds for name in kind or ()}
            assert seen == expected, (catalog, schema)
