"""An answer as bytes: the decision, its reason, the statements that decide, the revision.

    {"decision": false, "context": {"reason": "denied", "statements": ["x"], "revision": 7}}

`reason` is the kernel's, or `unknown` (a name in the question does not exist), `bad input` and
`forbidden`; with these three the context has an `error`, as in the standard's own example.
`statements` are those that the caller may see; `notes`, if there are some, say what the answer
leaves out. A short answer has the decision alone.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

import msgspec

from lakewarden.http.authzen.errors import message_of, status_of
from lakewarden.kernel.errors import Unknown, WardenError
from lakewarden.names.canonical import quoted

ALLOWED_BYTES: Final = b'{"decision":true'
"""The beginning of every answer that allows, and of no other."""


class Error(msgspec.Struct):
    """Why a question was not decided."""

    status: int
    message: str


class Context(msgspec.Struct, omit_defaults=True):
    """The context of an answer."""

    reason: str
    statements: tuple[str, ...]
    revision: int
    error: Error | None = None
    notes: tuple[str, ...] = ()


class Answer(msgspec.Struct):
    """One answer."""

    decision: bool
    context: Context


_ENCODER = msgspec.json.Encoder()
_REASONS = {HTTPStatus.FORBIDDEN: "forbidden", HTTPStatus.NOT_FOUND: "unknown"}


def evaluated(
    allow: bool,
    reason: str,
    statements: tuple[str, ...],
    revision: int,
    notes: tuple[str, ...] = (),
) -> bytes:
    """The answer to a decided question."""
    return _ENCODER.encode(Answer(allow, Context(reason, statements, revision, notes=notes)))


def failed(error: WardenError, revision: int) -> bytes:
    """The answer to a question that could not be decided: a denial."""
    status = status_of(error)
    message = message_of(error)
    if isinstance(error, Unknown):
        message = f"unknown {error.kind} {quoted(error.name)}"
    reason = _REASONS.get(status, "bad input")
    context = Context(reason, (), revision, Error(status, message))
    return _ENCODER.encode(Answer(False, context))


_SHORT: Final = {True: ALLOWED_BYTES + b"}", False: b'{"decision":false}'}


def shortened(answer: bytes) -> bytes:
    """The decision alone."""
    return _SHORT[answer.startswith(ALLOWED_BYTES)]


def listed(answers: list[bytes]) -> bytes:
    """The answers to several questions, in order."""
    return b'{"evaluations":[' + b",".join(answers) + b"]}"
