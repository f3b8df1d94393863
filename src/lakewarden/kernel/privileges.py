"""The access of a subject on one entity: all privileges held, and all operations allowed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lakewarden.kernel.entity import NO_RESOURCE
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.model import ANY, Model, Privilege, Reach, above
from lakewarden.kernel.request import Request


def privileges_of(matrix: Matrix, request: Request) -> tuple[str, ...]:
    """The privileges that the subject holds on the request's target, in the model's order.

    Checks the privileges that may apply to an entity of that type, including derived ones; the
    request's own operation is ignored. Raises as `Matrix.decide`.
    """
    names = _bearing_on(matrix, request.target.type)
    return tuple(n for n in names if matrix.decide(replace(request, operation=n)).allow)


def _bearing_on(matrix: Matrix, type: str) -> Iterator[str]:
    """The privileges that may reach an entity of the type; all, if the type is not declared."""
    model = matrix.snapshot.model
    for privilege in model.privileges.values():
        # Where statements use criteria, `on` says what is offered, not what is possible.
        unbound = model.choosing or ANY in privilege.on or not privilege.on
        if unbound or type not in model.types or offered_on(model, privilege, type):
            yield privilege.name


def offered_on(model: Model, privilege: Privilege, type: str) -> bool:
    """Whether the privilege, granted where the model offers it, reaches entities of the type."""
    match privilege.reach:
        case Reach.EXACTLY:
            return type in privilege.on
        case Reach.BELOW:
            return bool(above(model.types, type) & privilege.on)
        case _:
            return any(type in above(model.types, on) for on in privilege.on)


def operations_of(matrix: Matrix, request: Request) -> tuple[str, ...]:
    """The operations on a target of this type that the subject may do, in order.

    Operations that need further targets, lists or attributes are evaluated with those of the
    request. Raises as `Matrix.decide`.
    """
    type = request.target.type if request.target != NO_RESOURCE else ""
    declared = matrix.snapshot.model.operations.values()
    names = [o.name for o in declared if o.rule_or_none(type) is not None]
    return tuple(n for n in names if matrix.decide(replace(request, operation=n)).allow)
