"""Shared by the question verbs: the realm that they query, and the notation of a question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import time
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from lakewarden.cli.outcome import Format, RowFormat, note
from lakewarden.cli.question_target import Where
from lakewarden.cli.status_line import working
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.model import Attribute, Model
from lakewarden.kernel.request import Request, Scalar
from lakewarden.service.question_text import QuestionText, read, remarks
from lakewarden.service.system import System
from lakewarden.service.warden import Warden

if TYPE_CHECKING:
    from lakewarden.pipeline.directory import Loaded

Asker = Annotated[
    str, Parameter(help="A user's name, or `kind:name`; in DataHub also the URN of an actor.")
]
Act = Annotated[str, Parameter(help="An operation of the realm's model, or a privilege.")]
On = Annotated[
    str | None,
    Parameter(help="`type:name`, or a URN; without it the question is about the platform."),
]
As = Annotated[Format, Parameter("--format", help="Output format.")]
AsRows = Annotated[RowFormat, Parameter("--format", help="Output format.")]

Way = Literal["see", "read", "change"]
"""The access levels that every model has operations for."""

_LIST = Parameter(show_default=False)
Texts = Annotated[tuple[str, ...], _LIST]


@Parameter("*")
@dataclass(frozen=True)
class Parts:
    """Optional facts of a request about the operation."""

    target: Annotated[
        Texts, Parameter(help="Further entity that the operation needs, `NAME=TYPE:ENTITY`.")
    ] = ()
    item: Annotated[
        Texts, Parameter(help="Entity of a list in the request, `NAME=TYPE:ENTITY`.")
    ] = ()
    attribute: Annotated[Texts, Parameter(help="Attribute, `NAME=VALUE`.")] = ()
    sub: Annotated[Texts, Parameter(help="Sub-resource that the operation affects (a tag).")] = ()


@Parameter("*")
@dataclass(frozen=True)
class Claims:
    """Optional facts of a request about the asker."""

    group: Annotated[Texts, Parameter(help="Group that the identity provider asserts.")] = ()
    role: Annotated[
        Texts, Parameter(help="Active role; ALLOW statements of other roles do not apply.")
    ] = ()


NO_PARTS = Parts()
NO_CLAIMS = Claims()


@dataclass(frozen=True)
class Realm:
    """A loaded realm, at one moment."""

    system: System
    matrix: Matrix
    now: float

    @property
    def model(self) -> Model:
        """The model of the realm's system."""
        return self.system.model


@dataclass(frozen=True)
class ParsedQuestion:
    """A realm, and one question to it; `notes` are remarks in addition to the answer."""

    realm: Realm
    request: Request
    notes: tuple[str, ...] = ()


def realm_of(loaded: Loaded) -> Realm:
    """The realm of a loaded directory."""
    now = time()
    matrix = Warden(loaded.system, loaded.facts, clock=lambda: now).matrix
    return Realm(loaded.system, matrix, now)


def open_realm(where: Where) -> Realm:
    """The realm of a directory or a database; raises `BadInput` if it is missing or damaged."""
    if where.from_ is None:
        from lakewarden.cli.admin_target import opened

        with working("realm", ("open", "compile")) as begin, opened(where.database) as service:
            begin("compile")
            realm = service.catch_up().realm(where.realm_named("database"))
            return Realm(realm.system, realm.matrix, service.clock())
    from lakewarden.pipeline.directory import load

    with working("realm", ("read", "compile")) as begin:
        loaded = load(where.from_)
        begin("compile")
        return realm_of(loaded)


def ask(
    realm: Realm,
    principal: str | None,
    operation: str | None,
    entity: str | None,
    parts: Parts = NO_PARTS,
    claims: Claims = NO_CLAIMS,
) -> ParsedQuestion:
    """The question to a realm; raises `BadInput` or `Unknown` with the word that is wrong.

    Without a principal the question is about everybody, without an operation about all.
    """
    system, matrix = realm.system, realm.matrix
    text = QuestionText(
        principal,
        operation or "",
        entity,
        targets=dict(_pairs(parts.target, "--target")),
        lists=_lists(parts.item),
        attributes=_attributes(realm.model, parts.attribute),
        subresources=parts.sub,
        groups=claims.group,
        roles=claims.role,
    )
    try:
        request = read(text, system, matrix, realm.now)
    except BadInput as error:
        if error.where not in _OPTIONS:
            raise
        raise BadInput(error.message, where=_OPTIONS[error.where]) from None
    return ParsedQuestion(realm, request, remarks(text, request, system, matrix, stored=True))


_OPTIONS = {
    "targets": "--target",
    "lists": "--item",
    "attributes": "--attribute",
    "groups": "--group",
    "roles": "--role",
}
"""The option for each part of a question."""


def question(
    model: Callable[[], Model],
    principal: str | None,
    operation: str | None,
    entity: str | None,
    parts: Parts = NO_PARTS,
    claims: Claims = NO_CLAIMS,
) -> dict[str, object]:
    """The question in the format of the server's API; the model is read only for attributes."""
    return {
        "principal": principal,
        "operation": operation,
        "entity": entity,
        "targets": dict(_pairs(parts.target, "--target")),
        "lists": _lists(parts.item),
        "attributes": _attributes(model(), parts.attribute) if parts.attribute else {},
        "subresources": list(parts.sub),
        "groups": list(claims.group),
        "roles": list(claims.role),
    }


def _pairs(texts: Sequence[str], option: str) -> list[tuple[str, str]]:
    return [pair(text, option) for text in texts]


def pair(text: str, option: str) -> tuple[str, str]:
    """The name and value of `NAME=VALUE`. Raises `BadInput` with the option."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise BadInput(f"expected NAME=VALUE, got `{text}`", where=option)
    return name, value


def _lists(texts: Sequence[str]) -> dict[str, list[str]]:
    lists: dict[str, list[str]] = {}
    for name, text in _pairs(texts, "--item"):
        lists.setdefault(name, []).append(text)
    return lists


def _attributes(model: Model, texts: Sequence[str]) -> dict[str, Scalar]:
    values: dict[str, Scalar] = {}
    for name, text in _pairs(texts, "--attribute"):
        if name not in model.attributes:
            expected = ", ".join(sorted(model.attributes)) or "none"
            raise BadInput(f"unknown `{name}`; expected one of: {expected}", where="--attribute")
        values[name] = _scalar(model.attributes[name], text)
    return values


def _scalar(declared: Attribute, text: str) -> Scalar:
    try:
        if declared.type is bool:
            return {"true": True, "false": False}[text.lower()]
        return float(text) if declared.type is float else text
    except (KeyError, ValueError):
        expected = "true or false" if declared.type is bool else "a number"
        message = f"`{declared.name}` takes {expected}, got `{text}`"
        raise BadInput(message, where="--attribute") from None


def show_notes(notes: Sequence[str]) -> None:
    """Prints notes in addition to the answer."""
    for text in notes:
        note(text)
