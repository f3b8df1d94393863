"""A question to a realm as text: parses it to a request, and adds remarks about its names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from math import inf

from lakewarden.kernel.change import StatementAdded
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.incremental_compile import apply
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.model import ANY, Model, Operation
from lakewarden.kernel.principal import GROUP, IMPLIED, ROLE, USER, Principal
from lakewarden.kernel.request import Reason, Request, Scalar
from lakewarden.kernel.statement import Effect, Statement
from lakewarden.kernel.who import StoredUsers, who
from lakewarden.names.identities import URN
from lakewarden.service.system import System

_ANYBODY = "anybody"
_MAX_ROLES = 100
_MAX_TIMED = 20
_TYPES = {str: "a text", bool: "true or false", float: "a number"}


@dataclass(frozen=True, slots=True)
class QuestionText:
    """A question as text. Without a principal it is about all users.

    `operation` empty: about all operations. `entity` None: no resource. The other fields are those
    of the request, as in `kernel.request.Request`.
    """

    principal: str | None = None
    operation: str = ""
    entity: str | None = None
    targets: Mapping[str, str] = field(default_factory=dict)
    lists: Mapping[str, Sequence[str]] = field(default_factory=dict)
    attributes: Mapping[str, Scalar] = field(default_factory=dict)
    subresources: Sequence[str] = ()
    groups: Sequence[str] = ()
    roles: Sequence[str] = ()


def read(text: QuestionText, system: System, matrix: Matrix, now: float) -> Request:
    """The request; raises `BadInput` or `Unknown`, which names the word.

    Facts about the asker are never read from the text: the server's attributes of the subject
    count.
    """
    if len(text.roles) > _MAX_ROLES or len(text.groups) > _MAX_ROLES:
        raise BadInput(f"at most {_MAX_ROLES} groups and as many roles are allowed")
    if text.principal == "":
        raise BadInput("expected a user, a group or a role", where="principal")
    request = Request(
        system.principal(_ANYBODY if text.principal is None else text.principal),
        text.operation,
        system.entity(text.entity),
        now,
        targets={name: system.entity(text) for name, text in text.targets.items()},
        lists={n: tuple(system.entity(t) for t in texts) for n, texts in text.lists.items()},
        attributes={n: _attribute(system.model, n, v) for n, v in text.attributes.items()},
        subresources=tuple(system.entity(text) for text in text.subresources),
        groups=tuple(_of_kind(system, GROUP, text, "groups") for text in text.groups),
    )
    if text.roles:
        roles = frozenset(_of_kind(system, ROLE, text, "roles") for text in text.roles)
        request = replace(request, roles=roles)
    if text.operation:
        _check_parts(operation_or_privilege(matrix, system.model, text.operation), request)
    return request


def operation_or_privilege(matrix: Matrix, model: Model, operation: str) -> Operation:
    """The operation or bare privilege; raises `Unknown`, with the closest match if there is one."""
    try:
        return matrix.operation(operation)
    except Unknown as error:
        near = get_close_matches(error.name, (*model.operations, *model.privileges), n=1)
        if not near:
            raise
        raise Unknown(error.kind, error.name, f"did you mean `{near[0]}`?") from None


def _check_parts(operation: Operation, request: Request) -> None:
    for member, named, declared in (
        ("targets", request.targets, operation.targets),
        ("lists", request.lists, operation.lists),
    ):
        for name in named:
            if name not in declared:
                expected = ", ".join(sorted(declared)) or "none"
                message = f"`{operation.name}` has no `{name}`; expected one of: {expected}"
                raise BadInput(message, where=member)


def _of_kind(system: System, kind: str, text: str, where: str) -> Principal:
    """The group or role that the text names, with or without its kind as a prefix."""
    is_whole = text.startswith((f"{kind}:", URN))
    principal = system.principal(text if is_whole else f"{kind}:{text}")
    if principal.kind != kind:
        raise BadInput(f"expected a {kind}, got `{text}`", where=where)
    return principal


def _attribute(model: Model, name: str, value: Scalar) -> Scalar:
    declared = model.attributes.get(name)
    if declared is None:
        expected = ", ".join(sorted(model.attributes)) or "none"
        raise BadInput(f"unknown `{name}`; expected one of: {expected}", where="attributes")
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    fits = is_number if declared.type is float else isinstance(value, declared.type)
    if not fits:
        raise BadInput(f"`{name}` takes {_TYPES[declared.type]}", where="attributes")
    return value


def remarks(
    text: QuestionText, request: Request, system: System, matrix: Matrix, *, stored: bool
) -> tuple[str, ...]:
    """Remarks for the asker about the names; with `stored` also about those that are not stored.

    Only callers who may see what is stored learn that something is not.
    """
    notes: list[str] = []
    if stored and text.principal is not None:
        notes += _about_asker(matrix, request.principal)
    if stored:
        notes += _about_target(system.model, matrix, request.target)
    if text.operation:
        notes += _about_parts(matrix.operation(text.operation), request)
    if text.principal is not None:
        notes += _about_members(matrix, request) if stored else by_itself(request.principal)
    return tuple(notes)


def by_itself(principal: Principal) -> tuple[str, ...]:
    """What an answer for a group, a role or all users leaves out; empty for a user."""
    if principal.kind == USER:
        return ()
    return (
        f"asked of {_called(principal)} by itself: what its members are and hold elsewhere"
        " (membership, other groups, roles, ownership) is not counted",
    )


def _about_members(matrix: Matrix, request: Request) -> tuple[str, ...]:
    """How many members get a different decision; the note of `by_itself` for lists."""
    principal, operation = request.principal, request.operation
    if principal.kind == USER:
        return ()
    is_plain = not request.groups and request.roles is None
    declared = matrix.operation(operation) if operation else None
    if not is_plain or declared is None or declared.rule_or_none(request.target.type) is None:
        return by_itself(principal)
    memberships = matrix.snapshot.coded.memberships
    id = memberships.ids.get(principal)
    members = {
        memberships.principals[id] for id in StoredUsers(memberships).of([] if id is None else [id])
    }
    may = len(members & who(matrix, request))
    if matrix.decide(request).allow:
        lacking = len(members) - may
        return (f"{lacking} of its {len(members)} members may not",) if lacking else ()
    if not members:
        return (*by_itself(principal), f"{_called(principal)} has no stored members")
    return (*by_itself(principal), f"{may or 'none'} of its {len(members)} members may")


def _called(principal: Principal) -> str:
    return f"{principal.kind} `{principal.name}`"


def _about_asker(matrix: Matrix, principal: Principal) -> list[str]:
    memberships = matrix.snapshot.coded.memberships
    if principal.kind == IMPLIED or memberships.ids.get(principal) in memberships.stored:
        return []
    return [f"{principal.kind} `{principal.name}` is not stored"]


def _about_target(model: Model, matrix: Matrix, target: Entity) -> list[str]:
    if target in (NO_RESOURCE, Entity(target.type, "")) or matrix.snapshot.coded.is_known(target):
        return []
    judged = model.judged(target.type)
    consequence = "evaluated by its name" if judged else "so every operation on it is denied"
    return [f"{target.type} `{target.name}` is not stored, {consequence}"]


def _about_parts(operation: Operation, request: Request) -> list[str]:
    """Remarks about parts that the rule uses and the question omits."""
    rule = operation.texts.get(request.target.type) or operation.texts.get(ANY, "")
    return [
        f"`{operation.name}` also requires `{name}`; specify it with {option} {name}=TYPE:ENTITY"
        for option, sign, named, declared in (
            ("--target", "@ ", request.targets, operation.targets),
            ("--item", "request.", request.lists, operation.lists),
        )
        for name in declared
        if name not in named and f"{sign}{name}" in rule
    ]


def validity_notes(matrix: Matrix, request: Request) -> tuple[str, ...]:
    """For a denial: the ALLOWs to the asker that would lift it, but have ended or not begun.

    If there are several, all of them are needed.
    """
    if matrix.decide(request).reason is not Reason.DENIED:
        return ()
    named = matrix.subject(request).named
    statements = [
        statement
        for statement in matrix.snapshot.table.statements.values()
        if statement.active and statement.effect is Effect.ALLOW
        if named & statement.principals or statement.owners is not None
        if not statement.applies(request.now)
    ]
    statements = sorted(
        statements, key=lambda statement: (statement.valid_until or inf, statement.id)
    )[-_MAX_TIMED:]
    if not statements or not _is_allowed_without_validity(matrix, request, statements):
        return ()
    for statement in list(statements):
        others = [other for other in statements if other is not statement]
        if others and _is_allowed_without_validity(matrix, request, others):
            statements = others
    return tuple(_when(statement, request.now) for statement in statements)


def _is_allowed_without_validity(
    matrix: Matrix, request: Request, statements: Sequence[Statement]
) -> bool:
    """Whether the request would be allowed if the statements had no validity period."""
    lasting = [StatementAdded(replace(s, valid_from=None, valid_until=None)) for s in statements]
    later = apply(matrix, lasting, now=request.now, revision=matrix.revision + 1)
    return later.decide(request).allow


def _when(statement: Statement, now: float) -> str:
    if statement.valid_until is not None and statement.valid_until <= now:
        return (
            f"it was allowed until {_moment(statement.valid_until)} UTC,"
            f" by statement `{statement.id}`"
        )
    begin = now if statement.valid_from is None else statement.valid_from
    return f"statement `{statement.id}` would allow it from {_moment(begin)} UTC"


def _moment(time: float) -> str:
    """A time in readable form, to the second."""
    try:
        return datetime.fromtimestamp(time, UTC).isoformat(" ", "seconds").removesuffix("+00:00")
    except (OverflowError, ValueError):
        return str(time)


def membership_path(
    matrix: Matrix, request: Request, statement: Statement
) -> tuple[Principal, ...] | None:
    """The shortest membership path from the principal to one that the statement names.

    Empty if it names the asker itself, None if there is no path.
    """
    memberships = matrix.snapshot.coded.memberships
    todo: list[tuple[Principal, ...]] = [(), *((group,) for group in request.groups)]
    visited = {request.principal, *request.groups}
    for chain in todo:
        last = chain[-1] if chain else request.principal
        if last in statement.principals:
            return chain
        number = memberships.ids.get(last)
        for group in sorted(memberships.of.get(number, ()) if number is not None else ()):
            named = memberships.principals[group]
            if named not in visited:
                visited.add(named)
                todo.append((*chain, named))
    return None
