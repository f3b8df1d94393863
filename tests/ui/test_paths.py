"""The picture of a path is the explanation: over random worlds of every system.

The expected drawing is derived here from the kernel's own explanation, and compared with the pages'
drawing of the API's answer.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from lakewarden.http.admin.questions import explanation_response
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.explain import Explanation, Step, explain
from lakewarden.kernel.implied import is_implied, is_reserved
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement_file import principal_text
from lakewarden.service import question_text
from lakewarden.service.questions import Reasons
from lakewarden.testing.questions import ask
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import make
from tests.agreement.harness import SYSTEMS, compiled, system

UI: Final = Path(__file__).parents[2] / "ui"
WORLDS: Final = 3
QUESTIONS: Final = 25
MOST_STATEMENTS: Final = 14
MOST_NEEDS: Final = 12
BOX_HEIGHT: Final = 48

Link = tuple[str, str]


@dataclass(frozen=True)
class Explained:
    """An explanation of the kernel, and the principals through which its statements apply."""

    asker: Principal
    found: Explanation
    stored: frozenset[str]
    reaching: dict[str, tuple[Principal, ...]]
    given: bytes


@dataclass
class Need:
    """A decisive leaf of the rule, with all facts about it."""

    holds: bool
    allowed: set[str]
    denied: set[str]


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("node") is None or not (UI / "node_modules").is_dir(),
    reason="the pages are not built here with a Node on the path: make ui",
)
@settings(max_examples=1 if settings().max_examples <= 100 else 10, phases=[Phase.generate])
@given(seed=st.integers(0, 2**31))
def test_a_picture_has_the_boxes_and_lines_of_its_explanation(
    seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    explained = [
        one for name in SYSTEMS for world in range(WORLDS) for one in _explained(name, seed + world)
    ]
    assert len(explained) > len(SYSTEMS) * WORLDS
    assert {one.found.decision.allow for one in explained} == {False, True}
    pictures = _drawn(explained, tmp_path_factory.mktemp("pictures"))
    for one, picture in zip(explained, pictures, strict=True):
        _is_of(one, picture)
        _is_legible(picture)


def _explained(name: str, seed: int) -> Iterator[Explained]:
    world = make(system(name), seed)
    matrix = compiled(world.system, world.facts, NOW)
    for request in ask(world, seed, QUESTIONS):
        try:
            yield _reasons(matrix, request)
        except WardenError:
            continue


def _reasons(matrix: Matrix, request: Request) -> Explained:
    found = explain(matrix, request)
    table = matrix.snapshot.table.statements
    named = [table[id] for id in found.statements if id in table and not is_implied(table[id])]
    chains = {one.id: question_text.membership_path(matrix, request, one) for one in named}
    reaching = {id: chain for id, chain in chains.items() if chain is not None}
    body = explanation_response(Reasons(found, tuple(named), reaching, asker=request.principal), ())
    stored = frozenset(one.id for one in named)
    return Explained(request.principal, found, stored, reaching, msgspec.json.encode(body))


def _drawn(explained: Iterable[Explained], folder: Path) -> list[dict[str, Any]]:
    questions, pictures = folder / "explanations.json", folder / "pictures.json"
    given_ = [
        {"person": principal_text(one.asker), "explanation": json.loads(one.given)}
        for one in explained
    ]
    questions.write_text(json.dumps(given_))
    command = ["node", "draw-paths.mjs", str(questions), str(pictures)]
    subprocess.run(command, cwd=UI, check=True, timeout=300)
    drawn: list[dict[str, Any]] = json.loads(pictures.read_text())
    return drawn


def _is_of(one: Explained, picture: dict[str, Any]) -> None:
    needs = _needs(one.found)
    nodes = {node["id"]: node for node in picture["nodes"]}
    drawn = {id for id, node in nodes.items() if node["kind"] == "need"}
    assert drawn <= needs.keys()
    assert len(drawn) == min(len(needs), MOST_NEEDS)
    broken = {id for id, need in needs.items() if need.denied and not need.holds}
    assert broken <= drawn or len(broken) > MOST_NEEDS
    for id in drawn:
        need = needs[id]
        expected = "allow" if need.holds else "deny" if need.denied else "missing"
        assert nodes[id]["state"] == expected

    deciding = {id for at in drawn for id in (needs[at].allowed | needs[at].denied) & one.stored}
    statements = {node["statement"]["id"] for node in nodes.values() if node["kind"] == "statement"}
    assert statements <= deciding
    assert len(statements) == min(len(deciding), MOST_STATEMENTS)
    assert picture["folded"] == len(deciding) - len(statements)

    asker = principal_text(one.asker)
    lines = _lines(one, asker, {id: needs[id] for id in drawn}, statements)
    got = {(edge["from"], edge["to"]): edge["state"] for edge in picture["edges"]}
    assert len(got) == len(picture["edges"])
    assert got == lines
    assert nodes.keys() == {asker, *drawn, *(end for line in lines for end in line)}


def _needs(found: Explanation) -> dict[str, Need]:
    if found.rule is None:
        return {}
    leaves = list(_sufficing(found.rule) if found.decision.allow else _looked_up(found.rule))
    needs: dict[str, Need] = {}
    for step in leaves:
        need = needs.setdefault(_need(step.says, step.entity), Need(True, set(), set()))
        need.holds = need.holds and step.holds
        need.allowed.update(step.allowed_by)
        need.denied.update(step.denied_by)
    missing = found.ways[0].needs if found.ways and not found.decision.allow else ()
    for wanted in missing:
        if not any(step.says == wanted.privilege and not step.holds for step in leaves):
            entity = wanted.entity if wanted.entity.type else None
            needs.setdefault(
                _need(wanted.privilege, entity), Need(False, set(), set())
            ).holds = False
    return needs


def _sufficing(step: Step) -> Iterator[Step]:
    if step.holds:
        yield from (leaf for part in step.steps for leaf in _sufficing(part))
        if not step.steps:
            yield step


def _looked_up(step: Step) -> Iterator[Step]:
    yield from (leaf for part in step.steps for leaf in _looked_up(part))
    if not step.steps and (step.holds or step.allowed_by or step.denied_by):
        yield step


def _need(says: str, entity: Entity | None) -> str:
    return f"need {says} " + ("" if entity is None else f"{entity.type}:{entity.name}")


def _lines(
    one: Explained, asker: str, needs: dict[str, Need], statements: set[str]
) -> dict[Link, str]:
    lines: dict[Link, str] = {}
    for id in statements:
        denies = any(id in need.denied for need in needs.values())
        chain = (principal_text(who) for who in one.reaching.get(id, ()))
        stops = [asker, *(who for who in chain if who != asker), f"statement {id}"]
        for line in pairwise(stops):
            lines[line] = "deny" if denies or lines.get(line) == "deny" else "plain"
        for at, need in needs.items():
            if id in need.denied:
                lines[f"statement {id}", at] = "deny"
            elif id in need.allowed:
                lines[f"statement {id}", at] = "allow" if need.holds else "beaten"
    for at, need in needs.items():
        if need.holds and all(is_reserved(id) for id in need.allowed):
            lines[asker, at] = "allow"
    return lines


def _is_legible(picture: dict[str, Any]) -> None:
    layout = picture["layout"]
    boxes = {box["id"]: box for box in layout["boxes"]}
    assert boxes.keys() == {node["id"] for node in picture["nodes"]}
    assert len(boxes) == len(layout["boxes"])
    for line in layout["lines"]:
        start, end = boxes[line["from"]], boxes[line["to"]]
        assert start["x"] + start["width"] < end["x"], "a line leads to the right"
        assert line["d"].startswith(f"M{_number(start['x'] + start['width'])} ")
        assert line["d"].endswith(f" {_number(end['x'])} {_number(end['y'] + BOX_HEIGHT / 2)}")
    columns: dict[float, list[float]] = {}
    for box in boxes.values():
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= layout["width"]
        assert box["y"] + BOX_HEIGHT <= layout["height"]
        columns.setdefault(box["x"], []).append(box["y"])
    for tops in columns.values():
        tops.sort()
        assert all(low + BOX_HEIGHT <= high for low, high in pairwise(tops))


def _number(value: float) -> str:
    return f"{value:g}" if value == int(value) else repr(value)
