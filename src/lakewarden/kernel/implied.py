"""Statements that follow from entities: the members of a container are members of it.

They are made when rows are compiled and are never rows themselves. They are recognized by
their content: an id is not enough, as the ids of grants begin with names that users choose.
"""

from __future__ import annotations

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.model import MEMBER
from lakewarden.kernel.principal import members_of
from lakewarden.kernel.statement import Effect, On, Statement

IMPLIED_ID = "implied:"
"""The prefix of the ids of statements that follow from other facts."""


def membership(container: Entity) -> Statement:
    """The statement that membership of a container (a metalake) implies."""
    return Statement(
        id=f"{IMPLIED_ID}member:{container.name}",
        effect=Effect.ALLOW,
        privileges=frozenset({MEMBER}),
        scope=On(container),
        principals=frozenset({members_of(container.name)}),
        title=f"members of {container.name}",
    )


def is_implied(statement: Statement) -> bool:
    """Whether the statement follows from an entity, and is no row."""
    # COST: called for every statement of a realm; nearly all differ in their first letters.
    if not statement.id.startswith(IMPLIED_ID) or not isinstance(statement.scope, On):
        return False
    return statement == membership(statement.scope.entity)


def is_reserved(id: str) -> bool:
    """Whether no row may have the id: it is, or reads like, the id of an implied statement.

    The grants of a container of this name (`implied:ROLE/TYPE:NAME/EFFECT`) keep theirs.
    """
    holder, slash, _ = id.removeprefix(IMPLIED_ID).partition("/")
    return id.startswith(IMPLIED_ID) and (not slash or ":" in holder)
