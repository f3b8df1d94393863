"""What the asking verbs share: the realm they ask, and how a question is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from lakewarden.cli.outcome import Format, note
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.model import ANY, Attribute, Model, Operation
from lakewarden.kernel.principal import GROUP, IMPLIED, ROLE, Principal
from lakewarden.kernel.request import Request, Scalar
from lakewarden.pipeline.directory import Loaded
from lakewarden.service.warden import Warden

Asker = Annotated[
    str, Parameter(help="A user's name, or `kind:name`; in DataHub also the URN of an actor.")
]
Act = Annotated[str, Parameter(help="An operation of the realm's model, or a privilege.")]
On = Annotated[
    str | None,
    Parameter(help="`type:name`, or a URN; leave it out to ask about the platform."),
]
From = Annotated[
    Path, Parameter("--from", help="Directory that `lakewarden pipeline ingest` wrote.")
]
As = Annotated[Format, Parameter("--format", help="How to print the answer.")]

_URN = "urn:li:"
_LIST = Parameter(show_default=False)
Texts = Annotated[tuple[str, ...], _LIST]


@Parameter("*")
@dataclass(frozen=True)
class Parts:
    """What a request may bring along about the act."""

    target: Annotated[Texts, Parameter(help="Further entity of the act, `NAME=TYPE:ENTITY`.")] = ()
    item: Annotated[Texts, Parameter(help="Entity of a list, `NAME=TYPE:ENTITY`.")] = ()
    attribute: Annotated[Texts, Parameter(help="Attribute, `NAME=VALUE`.")] = ()
    sub: Annotated[Texts, Parameter(help="Sub-resource that the act touches (a tag).")] = ()


@Parameter("*")
@dataclass(frozen=True)
class Claims:
    """What a request may bring along about the asker."""

    group: Annotated[Texts, Parameter(help="Group that the identity provider vouches for.")] = ()
    role: Annotated[Texts, Parameter(help="Active role; the ALLOWs of no other role count.")] = ()


NO_PARTS = Parts()
NO_CLAIMS = Claims()


@dataclass(frozen=True)
class Realm:
    """A realm that was read from a directory."""

    warden: Warden
    loaded: Loaded

    @property
    def model(self) -> Model:
        """What the realm's system declares."""
        return self.loaded.system.model


@dataclass(frozen=True)
class Asked:
    """A realm, and one question to it; `notes` are remarks beside the answer."""

    realm: Realm
    request: Request
    notes: tuple[str, ...] = ()


def open_realm(directory: Path) -> Realm:
    """The realm that a directory holds; `BadInput` when it is none or is damaged."""
    from lakewarden.pipeline.directory import load

    loaded = load(directory)
    return Realm(Warden(loaded.system, loaded.facts), loaded)


def ask(
    realm: Realm,
    principal: str | None,
    operation: str | None,
    entity: str | None,
    parts: Parts = NO_PARTS,
    claims: Claims = NO_CLAIMS,
) -> Asked:
    """The question to a realm; raises `BadInput` or `Unknown` naming the word.

    Without a principal the question is about everybody, without an operation about all.
    """
    system, warden = realm.loaded.system, realm.warden
    request = replace(
        warden.request(principal or "anybody", operation or "", entity),
        targets={name: system.entity(text) for name, text in _pairs(parts.target, "--target")},
        lists=_lists(realm, parts.item),
        attributes=_attributes(realm.model, parts.attribute),
        subresources=tuple(system.entity(text) for text in parts.sub),
        groups=tuple(_of_kind(realm, GROUP, text, "--group") for text in claims.group),
        roles=_roles(realm, claims.role),
    )
    notes = [] if principal is None else _about_asker(realm, request.principal)
    notes += _about_target(realm, request)
    if operation is not None:
        notes += _about_parts(_declared(realm, request), request)
    return Asked(realm, request, tuple(notes))


def _declared(realm: Realm, request: Request) -> Operation:
    """The operation; refuses one, or a target or list, that the model does not declare."""
    try:
        declared = realm.warden.matrix.operation(request.operation)
    except Unknown as error:
        words = (*realm.model.operations, *realm.model.privileges)
        near = get_close_matches(error.name, words, n=1)
        if not near:
            raise
        raise Unknown(error.kind, error.name, f"did you mean `{near[0]}`?") from None
    for option, named, known in (
        ("--target", request.targets, declared.targets),
        ("--item", request.lists, declared.lists),
    ):
        for name in named:
            if name not in known:
                expected = ", ".join(sorted(known)) or "none"
                message = f"`{declared.name}` names no `{name}`; expected one of: {expected}"
                raise BadInput(message, where=option)
    return declared


def _about_parts(operation: Operation, request: Request) -> list[str]:
    """What the rule for the target's type asks about, and the request does not name."""
    rule = operation.texts.get(request.target.type) or operation.texts.get(ANY, "")
    return [
        f"`{operation.name}` asks about `{name}` too; name it with {option} {name}=TYPE:ENTITY"
        for option, sign, named, known in (
            ("--target", "@ ", request.targets, operation.targets),
            ("--item", "request.", request.lists, operation.lists),
        )
        for name in known
        if name not in named and f"{sign}{name}" in rule
    ]


def _of_kind(realm: Realm, kind: str, text: str, option: str) -> Principal:
    """The group or role that the text names, with or without its kind in front."""
    is_whole = text.startswith((f"{kind}:", _URN))
    principal = realm.loaded.system.principal(text if is_whole else f"{kind}:{text}")
    if principal.kind != kind:
        raise BadInput(f"expected a {kind}, got `{text}`", where=option)
    return principal


def _roles(realm: Realm, texts: Sequence[str]) -> frozenset[Principal] | None:
    if not texts:
        return None
    return frozenset(_of_kind(realm, ROLE, text, "--role") for text in texts)


def _pairs(texts: Sequence[str], option: str) -> list[tuple[str, str]]:
    return [pair(text, option) for text in texts]


def pair(text: str, option: str) -> tuple[str, str]:
    """What `NAME=VALUE` says. Raises `BadInput` naming the option."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise BadInput(f"expected NAME=VALUE, got `{text}`", where=option)
    return name, value


def _lists(realm: Realm, texts: Sequence[str]) -> dict[str, tuple[Entity, ...]]:
    lists: dict[str, tuple[Entity, ...]] = {}
    for name, text in _pairs(texts, "--item"):
        lists[name] = (*lists.get(name, ()), realm.loaded.system.entity(text))
    return lists


def _attributes(model: Model, texts: Sequence[str]) -> dict[str, Scalar]:
    found: dict[str, Scalar] = {}
    for name, text in _pairs(texts, "--attribute"):
        if name not in model.attributes:
            expected = ", ".join(sorted(model.attributes)) or "none"
            raise BadInput(f"unknown `{name}`; expected one of: {expected}", where="--attribute")
        found[name] = _scalar(model.attributes[name], text)
    return found


def _scalar(declared: Attribute, text: str) -> Scalar:
    try:
        if declared.type is bool:
            return {"true": True, "false": False}[text.lower()]
        return float(text) if declared.type is float else text
    except (KeyError, ValueError):
        expected = "true or false" if declared.type is bool else "a number"
        message = f"`{declared.name}` takes {expected}, got `{text}`"
        raise BadInput(message, where="--attribute") from None


def _about_asker(realm: Realm, principal: Principal) -> list[str]:
    acting = realm.warden.matrix.snapshot.coded.acting
    if principal.kind == IMPLIED or acting.ids.get(principal) in acting.stored:
        return []
    return [f"{principal.kind} `{principal.name}` is not stored"]


def _about_target(realm: Realm, request: Request) -> list[str]:
    target = request.target
    if target in (NO_RESOURCE, Entity(target.type, "")):
        return []
    if realm.warden.matrix.snapshot.coded.is_known(target):
        return []
    judged = realm.model.judged(target.type)
    then = "judged by what its name says" if judged else "so every operation on it is denied"
    return [f"{target.type} `{target.name}` is not stored, {then}"]


def tell(notes: Sequence[str]) -> None:
    """Prints remarks beside the answer."""
    for text in notes:
        note(text)
