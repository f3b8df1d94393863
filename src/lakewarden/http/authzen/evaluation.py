"""The two evaluation APIs: one question, and many in one body.

A body of the usual shape is parsed by `fast_decoder`, every other one strictly; both give the same
answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import UNSET, UnsetType

from lakewarden.http.authzen import answer, fast_decoder
from lakewarden.http.authzen.batch import Batch
from lakewarden.http.authzen.evaluator import Evaluator, EvaluatorCache
from lakewarden.http.authzen.fast_decoder import Body, Item, Options
from lakewarden.http.authzen.question import (
    Members,
    Question,
    at_least,
    is_short,
    optional,
    read_question,
)
from lakewarden.http.exchange import Exchange, Reply, WouldBlock
from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.names.canonical import quoted
from lakewarden.service.decision_service import StaleRevision
from lakewarden.service.state import State
from lakewarden.service.steps import step

OK: Final = 200

CONSISTENCY: Final = "lakewarden-consistency"
"""The header by which a caller accepts a state that is not the newest."""

_MEMBERS: Final = ("subject", "action", "resource", "context")
_STOPS: Final[Mapping[str, bool | None]] = {
    "execute_all": None,
    "deny_on_first_deny": False,
    "permit_on_first_permit": True,
}
"""The evaluation semantics, each with the decision after which it stops."""


class Evaluation:
    """The handlers. They share a cache for the newest state."""

    def __init__(self) -> None:
        self._cache = EvaluatorCache(State())

    def cache(self, state: State) -> EvaluatorCache:
        """The cache of the state; that of any other is dropped."""
        cache = self._cache
        if cache.state is not state:
            cache = self._cache = EvaluatorCache(state, before=cache)
        return cache

    def one(self, exchange: Exchange) -> Reply:
        """POST /access/v1/evaluation."""
        body = fast_decoder.read(exchange.body)
        if (
            body is not None
            and body.evaluations is UNSET
            and fast_decoder.is_proven(exchange.body, body)
        ):
            return Reply(OK, self._single(exchange, body))
        return Reply(OK, self._strict_single(exchange, exchange.json()))

    def many(self, exchange: Exchange) -> Reply:
        """POST /access/v1/evaluations; without questions in a list it is `one`."""
        body = fast_decoder.read(exchange.body)
        answers = None
        if body is not None and body.evaluations:
            answers = self._batch(exchange, body, body.evaluations)
        if answers is None:
            answers = self._strict_many(exchange, exchange.json())
        return Reply(OK, answers)

    # --- bodies of the usual shape ---

    def _single(self, exchange: Exchange, body: Body) -> bytes:
        subject, action, resource = body.subject, body.action, body.resource
        if subject is UNSET or action is UNSET or resource is UNSET:
            return self._strict_single(exchange, exchange.json())
        question = fast_decoder.question_of(subject, action, resource)
        short = fast_decoder.is_short(body)
        return self._counted(exchange, question, fast_decoder.revision(body), short=short)

    def _batch(self, exchange: Exchange, body: Body, items: list[Item]) -> bytes | None:
        """The answers; None if the body is not proven.

        Deciding has no side effects, so the proof may come last, from counts made on the way. Only
        a revision that must be waited for needs it first.
        """
        revision = fast_decoder.revision(body)
        if not 0 <= revision <= exchange.state.revision:
            if not fast_decoder.is_proven(exchange.body, body):
                return None
            fresh(exchange, revision)
        stop = _semantic(body.options)
        _check_size(exchange, len(items))
        evaluator = self.cache(exchange.state).evaluator(exchange)
        batch = Batch(evaluator, body, exchange.now, short=fast_decoder.is_short(body))
        with step("decide"):
            answers = batch.answers(items, stop)
        unanswered = fast_decoder.inner_texts(items[len(answers) :])
        texts = fast_decoder.outer_texts(body) + batch.texts + unanswered
        if exchange.body.count(b'"') != 2 * texts:
            return None
        return answer.listed(answers)

    # --- all other bodies ---

    def _strict_single(self, exchange: Exchange, members: Members) -> bytes:
        question, short = read_question(members), is_short(members)
        return self._counted(exchange, question, at_least(members), short=short)

    def _counted(
        self, exchange: Exchange, question: Question, revision: int, *, short: bool
    ) -> bytes:
        fresh(exchange, revision)
        evaluator = self.cache(exchange.state).evaluator(exchange)
        with step("decide"):
            counted = evaluator.counted(question, exchange.now, exchange.services.usage)
        return answer.shortened(counted) if short else counted

    def _strict_many(self, exchange: Exchange, members: Members) -> bytes:
        items = members.get("evaluations")
        if items is None or items == []:
            return self._strict_single(exchange, members)
        if not isinstance(items, list):
            raise BadInput("expected an array", where="evaluations")
        stop = _strict_semantic(members)
        _check_size(exchange, len(items))
        defaults = {name: optional(members, name) for name in _MEMBERS if name in members}
        short = is_short(members)
        fresh(exchange, at_least(members))
        evaluator = self.cache(exchange.state).evaluator(exchange)
        with step("decide"):
            answers = _strict_answers(evaluator, defaults, items, stop, exchange.now)
        return answer.listed([answer.shortened(each) for each in answers] if short else answers)


def fresh(exchange: Exchange, revision: int) -> None:
    """Makes the exchange's state at least as new as the revision; raises `StaleRevision`.

    A state that no caller accepted as stale was the newest when the request arrived: then the
    caller cannot know a later revision, and the exchange does not wait for one.
    """
    if exchange.state.revision >= revision:
        return
    if CONSISTENCY in exchange.headers or "consistency" in exchange.query:
        if exchange.on_loop:
            raise WouldBlock
        exchange.state = exchange.service.catch_up(revision)
        return
    raise StaleRevision(
        f"revision `{revision}` is unknown; the newest is `{exchange.state.revision}`"
    )


def _strict_answers(
    evaluator: Evaluator, defaults: Members, items: list[object], stop: bool | None, now: float
) -> list[bytes]:
    answers: list[bytes] = []
    for item in items:
        try:
            result = evaluator.item(read_question(_members(defaults, item)), now)
        except BadInput as error:
            result = answer.failed(error, evaluator.revision)
        answers.append(result)
        if stop is not None and result.startswith(answer.ALLOWED_BYTES) is stop:
            break
    return answers


def _members(defaults: Members, item: object) -> Members:
    """The item's members; each that it has replaces the default as a whole."""
    if not isinstance(item, dict):
        raise BadInput("expected an object", where="evaluations")
    members = {name: item[name] for name in _MEMBERS if item.get(name) is not None}
    return {**defaults, **members}


def _check_size(exchange: Exchange, size: int) -> None:
    limit = exchange.services.batch_rows
    if size > limit:
        raise LimitExceeded(
            f"evaluations: {size} questions, at most {limit} are allowed (setting"
            " `limits.batch_rows`)"
        )


def _stop(semantic: str) -> bool | None:
    if semantic not in _STOPS:
        expected = ", ".join(_STOPS)
        raise BadInput(
            f"unknown semantic {quoted(semantic)}, expected one of: {expected}",
            where="options.evaluations_semantic",
        )
    return _STOPS[semantic]


def _semantic(options: Options | UnsetType) -> bool | None:
    if options is UNSET or options.evaluations_semantic is UNSET:
        return None
    return _stop(options.evaluations_semantic)


def _strict_semantic(members: Members) -> bool | None:
    semantic = optional(members, "options").get("evaluations_semantic")
    if semantic is None:
        return None
    if not isinstance(semantic, str):
        raise BadInput("expected a string", where="options.evaluations_semantic")
    return _stop(semantic)
