"""The questions of one body of the usual shape, answered one after the other.

Neighbours mostly share action and type, so the lane of the last question is tried first: what
it knows the class of is a name of its realm and type, and needs no other look.
"""

from __future__ import annotations

from array import array
from typing import Final

from msgspec import UNSET, UnsetType

from lakewarden.http.authzen import answer, fast_decoder
from lakewarden.http.authzen.evaluator import NO_CACHED_OPERATIONS, CachedOperation, Evaluator
from lakewarden.http.authzen.fast_decoder import (
    ACTION,
    RESOURCE,
    SUBJECT,
    WHERE,
    Action,
    Body,
    Item,
    Resource,
    Subject,
    Where,
)
from lakewarden.http.authzen.question import asked
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.principal import USER
from lakewarden.names.identities import URN

_BOTH: Final = SUBJECT + RESOURCE


class Batch:
    """The answers to one caller. `texts` counts the texts of the questions that were answered."""

    def __init__(self, evaluator: Evaluator, body: Body, now: float) -> None:
        self.texts = 0
        self._evaluator = evaluator
        self._body = body
        self._now = now
        self._words: tuple[str | None, str, str] = (None, "", "")
        self._cached_operations = NO_CACHED_OPERATIONS

    def answers(self, items: list[Item], stop: bool | None) -> list[bytes]:
        """The answers in order, up to the one whose decision is `stop`.

        COST: about 0.5 µs for an item of the usual kind (`python -m bench.authzen`).
        """
        answers: list[bytes] = []
        one_subject = self._body.subject
        cached: CachedOperation | None = None
        rows: dict[str, array[int]] = {}
        classes: dict[str, int] = {}
        given: list[bytes | None] = []
        texts, type = 0, ""
        for item in items:
            subject, resource = item.subject, item.resource
            if subject is UNSET:
                subject = one_subject
            found = None
            if (
                resource is not UNSET
                and resource.type == type
                and resource.properties is UNSET
                and item.action is UNSET
                and subject is not UNSET
                and subject.type == USER
            ):
                row, number = rows.get(subject.id), classes.get(resource.id)
                if row is not None and number is not None:
                    found = given[row[number]]
            if found is None:
                found, next_cached = self._one(item)
                if next_cached is not cached:
                    cached, type = next_cached, ""
                    if cached is not None and resource is not UNSET:
                        type = resource.type
                        rows, classes, given = cached.known, cached.classes, cached.texts
            else:
                texts += RESOURCE if item.subject is UNSET else _BOTH
            answers.append(found)
            if stop is not None and found.startswith(answer.ALLOWED_BYTES) is stop:
                break
        self.texts += texts
        return answers

    def _one(self, item: Item) -> tuple[bytes, CachedOperation | None]:
        """The answer to an item, and the lane in which the next is likely to be.

        That is None where the item names an action or a realm of its own.
        """
        body, is_usual = self._body, True
        subject, action, resource = item.subject, item.action, item.resource
        where: Where | UnsetType = UNSET
        if subject is UNSET:
            subject = body.subject
        else:
            self.texts += SUBJECT
        if action is UNSET:
            action = body.action
        else:
            self.texts += ACTION
            is_usual = False
        if resource is UNSET:
            resource, is_usual = body.resource, False
        else:
            self.texts += RESOURCE
            if resource.properties is not UNSET:
                self.texts += WHERE
                is_usual = False
        if subject is UNSET or action is UNSET or resource is UNSET:
            return self._incomplete(subject, action, resource), None
        where = resource.properties
        cached = self._cached(None if where is UNSET else where.realm, action.name, resource)
        found = None
        if cached is not None and subject.type == USER:
            found = cached.answer(subject.id, resource.id)
        if found is None:
            found = self._long(subject, action, resource)
        return found, cached if is_usual else None

    def _cached(self, realm: str | None, action: str, resource: Resource) -> CachedOperation | None:
        words = (realm, action, resource.type)
        if words != self._words:
            self._words = words
            self._cached_operations = self._evaluator.cached_operations(*words)
        urn, colon, plain = self._cached_operations
        if ":" not in resource.id:
            return plain
        return urn if resource.id.startswith(URN) else colon

    def _incomplete(
        self,
        subject: Subject | UnsetType,
        action: Action | UnsetType,
        resource: Resource | UnsetType,
    ) -> bytes:
        try:
            asked(fast_decoder.plain(subject, action, resource))
        except WardenError as error:
            return answer.failed(error, self._evaluator.revision)
        raise AssertionError

    def _long(self, subject: Subject, action: Action, resource: Resource) -> bytes:
        """The answer to one of several questions, whatever is wrong with it."""
        try:
            found = fast_decoder.asked_of(subject, action, resource)
        except WardenError as error:
            return answer.failed(error, self._evaluator.revision)
        return self._evaluator.item(found, self._now)
