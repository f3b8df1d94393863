"""A real Trino whose Ranger plugin polls a pushed admin: its users' reads and permissions.

It runs where Trino is installed (`scripts/install-trino.sh`), and needs Java 24 or newer.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.realm import Realm
from lakewarden.service.state import People, RealmState
from lakewarden.service.system import load_system
from lakewarden.testing.trino import trino_server
from lakewarden.testing.world_draft import NOW
from tests.http.opa.test_served import SETTINGS, facts_of
from tests.http.opa.test_trino import CLIENTS, LIMITED, LIMITS, OUTCOMES, Outcome, wrong_outcomes
from tests.http.opa.trino_server import need_trino
from tests.http.ranger.test_trino import TYPES, access_control, expected_by_ranger, until
from tests.http.ranger.typed_masks import with_columns
from tests.pushdown.ranger.admin_server import PASSWORD, USER, Ranger, serving
from tests.pushdown.ranger.worlds import shipped, told

pytestmark = [pytest.mark.trino, pytest.mark.nightly]

CLIENT_COUNT: Final = "SELECT count(*) FROM lake.sales.clients"


def test_statements_have_the_outcomes_of_polled_documents(tmp_path: Path) -> None:
    need_trino()
    with serving(Ranger("trino", shipped("trino"))) as ranger:
        one = told(ranger, "lk")
        one.push(_realm(limited=False))
        plugin = partial(access_control, service=ranger.service, user=USER, password=PASSWORD)
        properties = plugin(tmp_path, f"http://127.0.0.1:{ranger.port}")
        catalogs = {"lake": "memory", "tpch": "tpch"}
        with trino_server(tmp_path / "trino", catalogs, properties) as trino:
            assert wrong_outcomes(trino, _called(expected_by_ranger(OUTCOMES))) == []
            assert wrong_outcomes(trino, _called(CLIENTS)) == []
            one.push(_realm(limited=True))
            until(trino, "ana", CLIENT_COUNT, [[1]])
            assert wrong_outcomes(trino, _called(expected_by_ranger(LIMITED))) == []
            one.reset()
            until(trino, "ana", CLIENT_COUNT, "Access Denied")


def _realm(*, limited: bool) -> RealmState:
    """The realm of the tests of Trino, with its filters and masks or without."""
    system = load_system("gravitino", SETTINGS)
    facts = with_columns(facts_of(), Entity("table", "lk:lake.sales.clients"), TYPES)
    limits = [{"effect": kind.removesuffix("s"), "id": id, **body} for kind, id, body in LIMITS]
    stated = read_statements(limits, system.model, system.spelling, "limits")
    if limited:
        facts = replace(facts, statements=[*facts.statements, *stated])
    matrix = Matrix(compile(facts, system.model, system.spelling, now=NOW))
    return RealmState(Realm("lake", "gravitino", settings=SETTINGS), system, matrix, People())


def _called(statements: list[Outcome]) -> list[Outcome]:
    """The statements with the catalog's name in the realm as Trino's name."""
    return [
        (
            user,
            statement.replace("memory", "lake"),
            outcome.replace("memory", "lake")
            if isinstance(outcome, str)
            else [["lake" if cell == "memory" else cell for cell in row] for row in outcome],
        )
        for user, statement, outcome in statements
    ]
