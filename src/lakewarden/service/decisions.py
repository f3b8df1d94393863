"""Denials that engines showed: found by their ids, and explained by the present state.

They are rows of the audit trail (`service.denials`). A caller who may explain decisions about a
principal may read them; anyone who may ask about themselves may read their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from lakewarden.kernel.errors import Unknown
from lakewarden.kernel.statement_file import principal_text
from lakewarden.service import control, question_text, questions
from lakewarden.service.actor import Actor
from lakewarden.service.audit import AuditRow
from lakewarden.service.control import Denied
from lakewarden.service.denials import DECISION, DeniedDecision
from lakewarden.service.ports import Reading
from lakewarden.service.question_text import QuestionText
from lakewarden.service.questions import AuthorizedQuestion
from lakewarden.service.state import State

MOST_LISTED: Final = 50
"""The most denials in a list."""

_LOOKED_AT: Final = 100_000
"""The number of rows at the end of the trail that are searched for denials."""

_PIECE: Final = 2_000
_ID: Final = re.compile("d[0-9a-f]{16}")
_MARK: Final = f'"{DECISION}":"'


@dataclass(frozen=True, slots=True)
class RecordedDenial:
    """A denial: when it was last shown, in seconds since the epoch, and at which revision.

    `said` is the message to the engine's user, or the reason; `wire` is the protocol of the engine.
    """

    decision: DeniedDecision
    time: float
    revision: int
    said: str
    wire: str


def latest(
    reading: Reading, state: State, actor: Actor, realm: str, principal: str | None, now: float
) -> list[RecordedDenial] | Denied:
    """The latest denials of a principal, or of the caller: each once, newest first."""
    asked = _authorized_question(
        state, actor, realm, QuestionText(principal=principal, operation=""), now
    )
    if isinstance(asked, Denied):
        return asked
    own = principal_text(asked.request.principal)
    found: dict[str, RecordedDenial] = {}
    for row in _backwards(reading):
        denial = _read(row) if _MARK in row.body else None
        if denial is None:
            continue
        if (denial.decision.realm, denial.decision.principal) == (realm, own):
            found.setdefault(denial.decision.id, denial)
            if len(found) == MOST_LISTED:
                break
    return list(found.values())


def find(
    reading: Reading, state: State, actor: Actor, realm: str, id: str, now: float
) -> tuple[RecordedDenial, AuthorizedQuestion] | Denied:
    """The decision with that id in the realm, and its question, if the caller may explain it.

    A caller who may explain only their own decisions gets the same refusal for an unknown id as for
    another user's decision. Otherwise raises `Unknown` for an unknown id.
    """
    denial = _recorded_denial(reading, realm, id)
    if denial is not None:
        decision = denial.decision
        text = QuestionText(
            principal=decision.principal,
            operation=decision.operation,
            entity=decision.entity or None,
        )
        asked = _authorized_question(state, actor, realm, text, now)
        if not isinstance(asked, Denied):
            return denial, _with_groups(asked, replace(text, groups=decision.groups), now)
    refused = control.denied_in(state, actor, "explain.ask", realm, now)
    if refused is not None:
        return refused
    raise Unknown("decision", id, "engines showed no such denial in this realm lately")


def _with_groups(asked: AuthorizedQuestion, text: QuestionText, now: float) -> AuthorizedQuestion:
    """The question with the groups that the engine sent, not with those of the caller."""
    request = question_text.read(text, asked.realm.system, asked.realm.matrix, now)
    return replace(asked, text=text, request=request)


def _recorded_denial(reading: Reading, realm: str, id: str) -> RecordedDenial | None:
    if _ID.fullmatch(id) is None:
        return None
    mark = f'{_MARK}{id}"'
    rows = (row for row in _backwards(reading) if mark in row.body)
    denials = (denial for row in rows if (denial := _read(row)) is not None)
    return next((one for one in denials if one.decision.realm == realm), None)


def _authorized_question(
    state: State, actor: Actor, realm: str, text: QuestionText, now: float
) -> AuthorizedQuestion | Denied:
    own, other = "explain.ask_own", "explain.ask"
    return questions.ask(state, actor, realm, text, now, own=own, other=other)


def _backwards(reading: Reading) -> Iterator[AuditRow]:
    """The last rows of the trail, newest first."""
    head = reading.audit_head.seq
    least = max(0, head - _LOOKED_AT)
    for end in range(head, least, -_PIECE):
        start = max(least, end - _PIECE)
        yield from reversed(list(reading.audit(start, end - start)))


def _read(row: AuditRow) -> RecordedDenial | None:
    """The denial in a row; None if the row only contains similar text."""
    event = json.loads(row.body)
    details = event.get("details", {})
    if DECISION not in details:
        return None
    decision = DeniedDecision(
        realm=event.get("realm", ""),
        principal=details["principal"],
        operation=event["operation"],
        entity=event.get("target", ""),
        groups=tuple(details.get("groups", ())),
    )
    said, wire = event.get("reason", ""), event.get("wire", "")
    return RecordedDenial(decision, event["time"], row.revision, said, wire)
