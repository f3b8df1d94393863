"""The shortcut agrees with the kernel: decision, reason, and the deciding statements."""

from __future__ import annotations

import gc
import json
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from lakewarden.http.authzen import evaluator
from lakewarden.http.authzen.decision_cache import OperationCache
from lakewarden.kernel.entity import NO_RESOURCE
from lakewarden.kernel.errors import Unknown
from lakewarden.kernel.explain import explain
from lakewarden.kernel.principal import GROUP, ROLE, USER
from lakewarden.kernel.request import Reason, Request
from lakewarden.service.state import RealmState
from lakewarden.service.system import load_system
from lakewarden.testing.questions import ask
from lakewarden.testing.worlds import make
from tests.http.authzen.small import NOW, Asking, lake, question, realm, state

MODELS = ("gravitino", "datahub", "cdap", "cdap_parent_write")
QUESTIONS = 120
BY_NIGHT = [pytest.param(seed, marks=pytest.mark.nightly) for seed in range(2, 6)]


def _asked(request: Request) -> dict[str, Any]:
    """The request in AuthZEN's form."""
    target = request.target
    if target == NO_RESOURCE:
        type, id = "platform", "platform"
    else:
        type, id = target
    return {
        "subject": {"type": request.principal.kind, "id": request.principal.name},
        "action": {"name": request.operation},
        "resource": {"type": type, "id": id},
    }


def _expected(realm: RealmState, request: Request) -> tuple[bool, str, list[str]]:
    found = explain(realm.matrix, request)
    statements = list(found.statements) if found.decision.reason in _TOLD else []
    return found.decision.allow, found.decision.reason.value, statements


_TOLD = (Reason.ALLOWED, Reason.DENIED)


def _plain(request: Request) -> Request:
    return Request(request.principal, request.operation, request.target, NOW)


@pytest.mark.by_day(3)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", [0, 1, *BY_NIGHT])
def test_answers_in_random_worlds_are_those_of_explanations(model: str, seed: int) -> None:
    world = make(load_system(model), seed)
    drawn = realm("drawn", world.system, world.facts)
    admin = Asking(state(drawn), "admin")
    requests = [_plain(one) for one in ask(world, seed, QUESTIONS)]
    requests = [one for one in requests if one.principal.kind in (USER, GROUP, ROLE)]
    for request in [*requests, *requests]:
        body = _asked(request)
        found = admin.evaluation(body, realm="drawn")
        try:
            allow, reason, statements = _expected(drawn, request)
        except Unknown:
            assert found["context"]["reason"] == "unknown"
            continue
        assert found["decision"] is allow
        assert (found["context"]["reason"], found["context"]["statements"]) == (reason, statements)


@pytest.mark.parametrize("model", MODELS)
def test_batches_in_random_worlds_are_those_of_decisions(model: str) -> None:
    world = make(load_system(model), 7)
    drawn = realm("drawn", world.system, world.facts)
    gate = Asking(state(drawn))
    requests = [_plain(one) for one in ask(world, 7, QUESTIONS)]
    answers = gate.evaluations({"evaluations": [_asked(r) for r in requests]}, realm="drawn")
    for request, answer in zip(requests, answers, strict=True):
        try:
            expected = drawn.matrix.decide(request).allow
        except Unknown:
            expected = False
        if request.principal.kind in (USER, GROUP, ROLE):
            assert answer["decision"] is expected
        else:
            assert answer["decision"] is False


@pytest.mark.parametrize("model", MODELS)
def test_the_short_way_is_taken(model: str) -> None:
    """Ensures that the tests above cover it."""
    world = make(load_system(model), 3)
    drawn = realm("drawn", world.system, world.facts)
    now = state(drawn)
    gate = Asking(now)
    cache = evaluator.EvaluatorCache(now)
    exchange = gate.exchange(realm="drawn")
    asked = cache.evaluator(exchange)
    taken = 0
    for request in map(_plain, ask(world, 3, QUESTIONS)):
        found = asked.caller_operations(None, request.operation, request.target.type)
        taken += any(cached is not None for cached in found)
    assert taken > QUESTIONS / 10


def test_too_many_answers_are_forgotten_and_still_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = make(load_system("gravitino"), 1)
    drawn = realm("drawn", world.system, world.facts)
    kept, forgetting = Asking(state(drawn), "admin"), Asking(state(drawn), "admin")
    bodies = [_asked(_plain(one)) for one in ask(world, 1, QUESTIONS)]
    before = [json.dumps(kept.evaluation(body, realm="drawn")) for body in bodies]
    monkeypatch.setattr(evaluator, "MOST_ANSWERS", 30)
    after = [json.dumps(forgetting.evaluation(body, realm="drawn")) for body in bodies]
    assert before == after


class _Slow(list[bytes | None]):
    """A list that lets other threads run before each append."""

    def append(self, text: bytes | None) -> None:
        time.sleep(0.02)
        super().append(text)


def test_answers_that_are_made_at_the_same_time_have_each_a_number_of_their_own() -> None:
    """Threads answer batches: an answer must never be found under another one's number."""
    world = make(load_system("cdap"), 0)
    drawn = realm("drawn", world.system, world.facts)
    cache = evaluator.EvaluatorCache(state(drawn))
    made = cache.operations.operation(drawn, "dataset.get", "dataset", NOW)
    assert made is not None
    made.texts, made.short_texts = _Slow(made.texts), _Slow(made.short_texts)
    asked = [(reason, (f"s{number}",)) for reason in _TOLD for number in (0, 1, 1)]
    with ThreadPoolExecutor(len(asked)) as pool:
        numbers = list(pool.map(lambda each: made.rendered(*each), asked))
        for (reason, statements), number in zip(asked, numbers, strict=True):
            text, short = made.texts[number], made.short_texts[number]
            assert text is not None
            assert short is not None
            allowed = reason is Reason.ALLOWED
            answer = json.loads(text)
            assert answer["decision"] is json.loads(short)["decision"] is allowed
            assert answer["context"]["statements"] == list(statements)


def test_an_operation_that_is_forgotten_meanwhile_is_found_all_the_same() -> None:
    world = make(load_system("cdap"), 0)
    drawn = realm("drawn", world.system, world.facts)
    cache = evaluator.EvaluatorCache(state(drawn))

    class Forgotten(dict[tuple[str, str, str], OperationCache]):
        """A cache that another thread empties right after each lookup and each store."""

        def __setitem__(self, key: tuple[str, str, str], made: OperationCache) -> None:
            pass

    cache.operations._operations = Forgotten()
    assert cache.operations.operation(drawn, "dataset.get", "dataset", NOW) is not None


def test_what_is_cached_of_a_former_state_goes_without_the_collector() -> None:
    """Otherwise a writing server would keep the matrices of many states, and grow."""
    tables = ("lk:c.s.t", "lk:c.s.own")
    asked = [question("ana", "table.load", f"table/{table}") for table in tables]
    gate = Asking(state(lake(), revision=1), "admin")
    former = weakref.ref(gate.state.realm("gravitino").matrix)
    gc.disable()
    try:
        for body in (*asked, *asked):
            gate.evaluation(body)
        gate.evaluations({"evaluations": asked})
        gate.state = state(lake(), revision=2)
        gate.evaluation(asked[0])
        assert former() is None
    finally:
        gc.enable()
