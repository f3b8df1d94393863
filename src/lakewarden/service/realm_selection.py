"""Selects the realms of a question: those of one directory in which the caller may ask.

The others are left out, and named if the caller may know of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from lakewarden.kernel.errors import BadInput, LimitExceeded, Unknown
from lakewarden.service import control, questions
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.links import left_out
from lakewarden.service.question_text import QuestionText
from lakewarden.service.questions import Rights
from lakewarden.service.realm import CONTROL
from lakewarden.service.state import State

MAX_REALMS: Final = 64
"""The most realms in one question."""


@dataclass(frozen=True, slots=True)
class RealmSelection:
    """The realms of a question, those that are left out, and all realms that it may traverse.

    `passing` are the realms of the directory in which the caller may ask: links between them are
    followed even if the question is not about them.
    """

    realms: tuple[str, ...]
    left_out: tuple[str, ...]
    passing: frozenset[str]


May = Callable[[str], bool]
"""Whether the caller may ask a realm the question."""


def right(state: State, actor: Actor, now: float, *operations: str) -> May:
    """Whether the caller may do all of these operations in a realm."""

    def may(realm: str) -> bool:
        rights = Rights(state, actor, realm, now)
        return all(rights.denial(operation) is None for operation in operations)

    return may


def right_to_ask(
    state: State, actor: Actor, text: QuestionText, now: float, *, own: str, other: str
) -> May:
    """Whether the caller may ask a realm about the principal of the text; see `questions.ask`."""
    about = QuestionText(principal=text.principal, groups=text.groups)

    def may(realm: str) -> bool:
        try:
            answer = questions.ask(state, actor, realm, about, now, own=own, other=other)
        except (BadInput, Unknown):
            return True  # rights are checked first, so the error is in the name
        return not isinstance(answer, Denied)

    return may


def selected_realms(
    state: State,
    actor: Actor,
    names: Sequence[str] | None,
    now: float,
    may: May,
    operation: str,
) -> RealmSelection | Denied:
    """The named realms, or all of the caller's directory, in which it may ask; else a denial.

    `operation` is named in a denial. Raises `Unknown` for an unknown realm, if the caller may know
    that, and `BadInput` for realms of different directories.
    """
    selection = _select(state, actor, names, now, may)
    if selection.realms:
        return selection
    for realm in selection.left_out:
        refused = control.denied_in(state, actor, operation, realm, now)
        if refused is not None:
            return refused
    return Denied(operation, control.directory(actor.directory))


def _select(
    state: State, actor: Actor, names: Sequence[str] | None, now: float, may: May
) -> RealmSelection:
    if names is None:
        passing = _open(state, actor.directory, may)
        return RealmSelection(tuple(sorted(passing)), left_out(state, actor, passing, now), passing)
    if len(names) > MAX_REALMS:
        raise LimitExceeded(f"{len(names)} realms, at most {MAX_REALMS} are allowed")
    requested = list(dict.fromkeys(names))
    if CONTROL in requested:
        raise BadInput(f"the realm `{CONTROL}` must be queried alone")
    allowed = [name for name in requested if may(name)]
    directories = {state.realm(name).realm.directory for name in allowed}
    if len(directories) > 1:
        listed = ", ".join(f"`{name}`" for name in sorted(directories))
        raise BadInput(
            f"realms of different directories cannot be queried together, and these are in {listed}"
        )
    out = tuple(name for name in requested if name not in allowed)
    passing = _open(state, directories.pop() if directories else actor.directory, may)
    return RealmSelection(tuple(allowed), out, passing)


def _open(state: State, directory: str, may: May) -> frozenset[str]:
    return frozenset(
        name
        for name, realm_state in state.realms.items()
        if name != CONTROL and realm_state.realm.directory == directory and may(name)
    )
