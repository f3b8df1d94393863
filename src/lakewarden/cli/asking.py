"""What the asking verbs share: the realm they ask, and how a question is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from lakewarden.cli.outcome import Format, note
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import Attribute
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.request import Request, Scalar
from lakewarden.service.warden import Warden

From = Annotated[
    Path,
    Parameter("--from", help="Directory that `lakewarden pipeline ingest` wrote."),
]
As = Annotated[Format, Parameter("--format", help="How to print the answer.")]


@Parameter("*")
@dataclass(frozen=True)
class Extras:
    """What a request may bring along."""

    group: Annotated[
        tuple[str, ...], Parameter(help="Group that the identity provider vouches for.")
    ] = ()
    role: Annotated[
        tuple[str, ...], Parameter(help="Active role; only these roles' ALLOWs count.")
    ] = ()
    target: Annotated[tuple[str, ...], Parameter(help="Further entity, NAME=TYPE:ENTITY.")] = ()
    item: Annotated[
        tuple[str, ...], Parameter(help="Entity of a list of the request, NAME=TYPE:ENTITY.")
    ] = ()
    attribute: Annotated[tuple[str, ...], Parameter(help="Attribute, NAME=VALUE.")] = ()
    sub: Annotated[
        tuple[str, ...], Parameter(help="Sub-resource that the act touches, TYPE:ENTITY.")
    ] = ()


NOTHING = Extras()


@dataclass(frozen=True)
class Asked:
    """A realm, opened, and one question to it."""

    warden: Warden
    request: Request
    notes: tuple[str, ...] = field(default=())


def open_realm(directory: Path) -> Warden:
    """The realm that a directory holds; `BadInput` when it is none or is damaged."""
    from lakewarden.pipeline.directory import load

    loaded = load(directory)
    return Warden(loaded.system, loaded.facts)


def ask(
    directory: Path, principal: str, operation: str, entity: str | None, extras: Extras
) -> Asked:
    """The realm and the question; raises `BadInput` or `Unknown` naming the word."""
    warden = open_realm(directory)
    plain = warden.request(principal, operation, entity)
    declared = warden.matrix.operation(operation) if operation else None
    request = Request(
        principal=plain.principal,
        operation=operation,
        target=plain.target,
        now=plain.now,
        targets={n: warden.system.entity(t) for n, t in _pairs(extras.target, "--target")},
        lists=_lists(warden, extras.item),
        attributes=_attributes(warden, extras.attribute),
        subresources=tuple(warden.system.entity(text) for text in extras.sub),
        groups=tuple(warden.system.principal(_group(text)) for text in extras.group),
        roles=_roles(warden, extras.role),
    )
    if declared is not None:
        for name in request.targets:
            if name not in declared.targets:
                raise BadInput(f"`{operation}` names no target `{name}`", where="--target")
        for name in request.lists:
            if name not in declared.lists:
                raise BadInput(f"`{operation}` names no list `{name}`", where="--item")
    return Asked(warden, request, tuple(_notes(warden, request)))


def _group(text: str) -> str:
    return text if ":" in text else f"group:{text}"


def _roles(warden: Warden, texts: Sequence[str]) -> frozenset[Principal] | None:
    if not texts:
        return None
    named = (text if text.startswith(("role:", "urn:")) else f"role:{text}" for text in texts)
    return frozenset(warden.system.principal(text) for text in named)


def _pairs(texts: Sequence[str], option: str) -> list[tuple[str, str]]:
    found = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise BadInput(f"expected NAME=VALUE, got `{text}`", where=option)
        found.append((name, value))
    return found


def _lists(warden: Warden, texts: Sequence[str]) -> dict[str, tuple[Entity, ...]]:
    lists: dict[str, tuple[Entity, ...]] = {}
    for name, text in _pairs(texts, "--item"):
        lists[name] = (*lists.get(name, ()), warden.system.entity(text))
    return lists


def _attributes(warden: Warden, texts: Sequence[str]) -> dict[str, Scalar]:
    declared = warden.system.model.attributes
    found: dict[str, Scalar] = {}
    for name, text in _pairs(texts, "--attribute"):
        if name not in declared:
            expected = ", ".join(sorted(declared)) or "none"
            raise BadInput(f"unknown `{name}`; expected one of: {expected}", where="--attribute")
        found[name] = _scalar(declared[name], text)
    return found


def _scalar(declared: Attribute, text: str) -> Scalar:
    try:
        if declared.type is bool:
            return {"true": True, "false": False}[text.lower()]
        return float(text) if declared.type is float else text
    except (KeyError, ValueError):
        raise BadInput(
            f"`{declared.name}` takes a {declared.type.__name__}, got `{text}`",
            where="--attribute",
        ) from None


def _notes(warden: Warden, request: Request) -> list[str]:
    """What the asker should know about names that are not stored."""
    coded = warden.matrix.snapshot.coded
    notes = []
    principal = request.principal
    id = coded.acting.ids.get(principal)
    if id is None or id not in coded.acting.stored:
        notes.append(f"{principal.kind} `{principal.name}` is not stored")
    target = request.target
    if target not in (NO_RESOURCE, Entity(target.type, "")) and not coded.is_known(target):
        judged = warden.system.model.judged(target.type)
        then = "judged by what its name says" if judged else "so every operation on it is denied"
        notes.append(f"{target.type} `{target.name}` is not stored, {then}")
    return notes


def tell(notes: Sequence[str]) -> None:
    """Prints remarks beside the answer."""
    for text in notes:
        note(text)
