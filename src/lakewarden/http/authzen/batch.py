"""The questions of one body of the usual shape, answered one after the other.

Adjacent questions mostly name the same realm, action and type, so the operation of the last
question is tried first: a name whose class it knows is one of its realm and type, and needs no
other lookup.
"""

from __future__ import annotations

from array import array
from typing import Final

from msgspec import UNSET

from lakewarden.http.authzen import answer, fast_decoder
from lakewarden.http.authzen.evaluator import NO_OPERATIONS, CallerOperation, Evaluator
from lakewarden.http.authzen.fast_decoder import (
    ACTION,
    REALM,
    RESOURCE,
    SUBJECT,
    Action,
    Body,
    Item,
    Resource,
    Subject,
)
from lakewarden.http.authzen.question import read_question
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.principal import USER
from lakewarden.names.identities import URN

# For a question without a subject, of its own or in the body; no operation has it.
_NO_SUBJECT: Final = Subject("", "")
_NO_ACTION: Final = Action("")
_NO_RESOURCE: Final = Resource("", "")


class Batch:
    """The answers to one caller. `texts` counts the texts in the answered questions."""

    def __init__(self, evaluator: Evaluator, body: Body, now: float, *, short: bool) -> None:
        self.texts = 0
        self._evaluator = evaluator
        self._subject = _NO_SUBJECT if body.subject is UNSET else body.subject
        self._action = _NO_ACTION if body.action is UNSET else body.action
        self._resource = _NO_RESOURCE if body.resource is UNSET else body.resource
        self._now = now
        self._short = short
        self._words: tuple[str | None, str, str] = (None, "", "")
        self._caller_operations = NO_OPERATIONS

    def answers(self, items: list[Item], stop: bool | None) -> list[bytes]:
        """The answers in order, up to the one whose decision is `stop`.

        COST: about 1 µs for a question with a subject, an action and a resource of its own
        (`python -m bench.authzen`).
        """
        body_subject, body_action, body_resource = self._subject, self._action, self._resource
        answers: list[bytes] = []
        operation: CallerOperation | None = None
        users: dict[str, array[int]] = {}
        classes: dict[str, int] = {}
        rendered: list[bytes | None] = []
        realm, name, type = self._words
        missing = 0
        for item in items:
            subject, action, resource = item.subject, item.action, item.resource
            if subject is UNSET:
                subject = body_subject
                missing += SUBJECT
            if action is UNSET:
                action = body_action
                missing += ACTION
            if resource is UNSET:
                resource = body_resource
                missing += RESOURCE
            elif resource.properties is not UNSET:
                missing -= REALM
            where = resource.properties
            result = None
            if (
                resource.type == type
                and action.name == name
                and subject.type == USER
                and (realm is None if where is UNSET else where.realm == realm)
            ):
                try:
                    result = rendered[users[subject.id][classes[resource.id]]]
                except KeyError:
                    result = None
            if result is None:
                result, used = self._answer(subject, action, resource)
                if used is not operation and used is not None:
                    operation, (realm, name, type) = used, self._words
                    users, classes = used.known, used.classes
                    rendered = used.short_texts if self._short else used.texts
            answers.append(result)
            if stop is not None and result.startswith(answer.ALLOWED_BYTES) is stop:
                break
        self.texts += (SUBJECT + ACTION + RESOURCE) * len(answers) - missing
        return answers

    def _answer(
        self, subject: Subject, action: Action, resource: Resource
    ) -> tuple[bytes, CallerOperation | None]:
        """The answer to a question, and the operation for its words, if there is one."""
        if subject is _NO_SUBJECT or action is _NO_ACTION or resource is _NO_RESOURCE:
            return self._sized(self._incomplete(subject, action, resource)), None
        where = resource.properties
        realm = None if where is UNSET else where.realm
        cached = self._caller_operation(realm, action.name, resource)
        result = None
        if cached is not None and subject.type == USER:
            result = cached.answer(subject.id, resource.id)
        if result is None:
            result = self._evaluated(subject, action, resource)
        return self._sized(result), cached

    def _caller_operation(
        self, realm: str | None, action: str, resource: Resource
    ) -> CallerOperation | None:
        key = (realm, action, resource.type)
        if key != self._words:
            self._words = key
            self._caller_operations = self._evaluator.caller_operations(*key)
        urn, colon, plain = self._caller_operations
        if ":" not in resource.id:
            return plain
        return urn if resource.id.startswith(URN) else colon

    def _sized(self, result: bytes) -> bytes:
        return answer.shortened(result) if self._short else result

    def _incomplete(self, subject: Subject, action: Action, resource: Resource) -> bytes:
        """The refusal of a question in which a part is missing."""
        parts = fast_decoder.plain(
            UNSET if subject is _NO_SUBJECT else subject,
            UNSET if action is _NO_ACTION else action,
            UNSET if resource is _NO_RESOURCE else resource,
        )
        try:
            read_question(parts)
        except WardenError as error:
            return answer.failed(error, self._evaluator.revision)
        raise AssertionError

    def _evaluated(self, subject: Subject, action: Action, resource: Resource) -> bytes:
        """The answer if no operation has it; a refusal if the question is invalid."""
        try:
            question = fast_decoder.question_of(subject, action, resource)
        except WardenError as error:
            return answer.failed(error, self._evaluator.revision)
        return self._evaluator.item(question, self._now)
