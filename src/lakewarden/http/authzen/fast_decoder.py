"""Bodies of the usual shape, read by a typed decoder, and the proof that they mean one thing.

The decoder accepts a duplicate member and uses the last one, where another parser may use the
first. So its result counts only if the text provably has no duplicate member (`is_proven`).
Every other body goes to the strict parser.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from lakewarden.http.authzen.question import Members, Question, check_answer, read_question
from lakewarden.http.strict_json import MAX_INTEGER


class Subject(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A subject of the usual shape."""

    type: str
    id: str


class Action(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """An action of the usual shape."""

    name: str


class RealmName(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """Properties that only name the realm."""

    realm: str


class Resource(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A resource of the usual shape."""

    type: str
    id: str
    properties: RealmName | UnsetType = UNSET


class Item(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """One of several questions."""

    subject: Subject | UnsetType = UNSET
    action: Action | UnsetType = UNSET
    resource: Resource | UnsetType = UNSET


class Options(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """How several questions are answered."""

    evaluations_semantic: str | UnsetType = UNSET


class Context(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A context with options of the answer only."""

    at_least_revision: int | UnsetType = UNSET
    answer: str | UnsetType = UNSET


class Body(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A body of the usual shape, for either API."""

    subject: Subject | UnsetType = UNSET
    action: Action | UnsetType = UNSET
    resource: Resource | UnsetType = UNSET
    context: Context | UnsetType = UNSET
    options: Options | UnsetType = UNSET
    evaluations: list[Item] | UnsetType = UNSET


# Texts in a member of the usual shape: its name, and the names and values inside.
SUBJECT: Final = 5
ACTION: Final = 3
RESOURCE: Final = 5
REALM: Final = 3

_DECODER = msgspec.json.Decoder(Body)


def read(body: bytes) -> Body | None:
    """The body, if it is of the usual shape; not yet proven to have no member twice."""
    if b"\\" in body:
        return None
    try:
        return _DECODER.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def is_proven(text: bytes, body: Body) -> bool:
    """Whether the text has exactly the members that were decoded from it.

    Without a backslash every quotation mark begins or ends a text, and the texts are the names
    of members and the values that are texts. A duplicate member adds at least its name, and nothing
    removes one; so if there are twice as many quotation marks as decoded texts, there is no
    duplicate. The decoder refuses members with other names.
    """
    items = [] if body.evaluations is UNSET else body.evaluations
    is_revision = 0 <= revision(body) <= MAX_INTEGER
    return is_revision and text.count(b'"') == 2 * (outer_texts(body) + inner_texts(items))


def outer_texts(body: Body) -> int:
    """The number of texts in the body outside its list of questions."""
    count = _parts(body)
    if body.context is not UNSET:
        count += 1 if body.context.at_least_revision is UNSET else 2
        count += 0 if body.context.answer is UNSET else 2
    if body.options is not UNSET:
        count += 1 if body.options.evaluations_semantic is UNSET else 3
    return count if body.evaluations is UNSET else count + 1


def inner_texts(items: list[Item]) -> int:
    """The number of texts in the questions of a list."""
    return sum(map(_parts, items))


def _parts(of: Body | Item) -> int:
    count = 0
    if of.subject is not UNSET:
        count += SUBJECT
    if of.action is not UNSET:
        count += ACTION
    if of.resource is not UNSET:
        count += RESOURCE if of.resource.properties is UNSET else RESOURCE + REALM
    return count


def revision(body: Body) -> int:
    """The minimum revision of the context; 0 for any."""
    context = body.context
    if context is UNSET or context.at_least_revision is UNSET:
        return 0
    return context.at_least_revision


def is_short(body: Body) -> bool:
    """Whether the answers are only decisions; raises `BadInput` as `question.is_short`."""
    context = body.context
    if context is UNSET or context.answer is UNSET:
        return False
    return check_answer(context.answer)


def question_of(subject: Subject, action: Action, resource: Resource) -> Question:
    """The question of the three parts; raises `BadInput` naming an empty member."""
    where = resource.properties
    realm = None if where is UNSET else where.realm
    if not (subject.type and action.name and resource.type):
        return read_question(plain(subject, action, resource))
    return Question(subject.type, subject.id, action.name, resource.type, resource.id, realm)


def plain(
    subject: Subject | UnsetType, action: Action | UnsetType, resource: Resource | UnsetType
) -> Members:
    """The parts in the form of the strict parser."""
    parts = {"subject": subject, "action": action, "resource": resource}
    return {name: msgspec.to_builtins(part) for name, part in parts.items() if part is not UNSET}
