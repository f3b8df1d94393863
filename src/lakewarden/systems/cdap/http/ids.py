"""The entities that paths name, and their last parts in replies.

Each parameter is validated separately before the parts are joined, so a dot in one part cannot
become a separator. Raises `BadInput` for an invalid name.
SOURCE: cdap reference 1.2 and 4.7.
"""

from __future__ import annotations

from typing import Final

from lakewarden.http.exchange import Exchange
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import quoted
from lakewarden.systems.cdap import names as cdap
from lakewarden.systems.cdap.http.errors import not_found
from lakewarden.systems.cdap.settings import CdapSettings

SYSTEM: Final = Entity("namespace", "system")
"""The namespace of the platform itself. It always exists, and is not listed."""

DEFAULT: Final = Entity("namespace", "default")
"""The namespace that always exists."""

BY_WORD: Final = {
    "flows": "flow",
    "mapreduce": "mapreduce",
    "services": "service",
    "spark": "spark",
    "workers": "worker",
    "workflows": "workflow",
}
"""The words for types of programs in paths, and in names."""

SHOWN: Final = {type: type.capitalize() for type in cdap.PROGRAM_TYPES}
"""Types of programs in the spelling of replies."""


def instance(exchange: Exchange) -> Entity:
    """The instance that this server represents."""
    return Entity("instance", exchange.services.of(CdapSettings).instance_name)


def namespace(exchange: Exchange) -> Entity:
    """The namespace of `{namespace}`."""
    return cdap.parse("namespace", exchange.params["namespace"])


def inside(namespace: Entity, type: str, name: str) -> Entity:
    """The entity of that type and name in a namespace."""
    return cdap.parse(type, f"{namespace.name}.{name}")


def entity(exchange: Exchange, type: str) -> Entity:
    """The entity of `{namespace}` and the parameter named after the type."""
    return inside(namespace(exchange), type, exchange.params[type])


def application(exchange: Exchange) -> Entity:
    """The application of `{namespace}` and `{app}`."""
    return inside(namespace(exchange), "application", exchange.params["app"])


def program(exchange: Exchange) -> Entity:
    """The program of `{namespace}`, `{app}`, `{kind}` and `{program}`.

    Raises `Failure` 404 for an unknown type of programs.
    """
    type = BY_WORD.get(exchange.params["kind"])
    if type is None:
        raise not_found(exchange.params["kind"])
    return of_application(application(exchange), type, exchange.params["program"])


def of_application(application: Entity, type: str, name: str) -> Entity:
    """The program of that type (in any case) and name of an application."""
    if "." in type or "." in name:
        raise BadInput(f"the program name {quoted(name)} holds `.`")
    return cdap.parse("program", f"{application.name}.{type}.{name}")


def namespace_of(entity: Entity) -> Entity:
    """The namespace that the entity is or is in."""
    above = cdap.parent(entity)
    return entity if above is None else namespace_of(above)


def last(entity: Entity) -> str:
    """The name of the entity within its container.

    >>> last(Entity("program", "sales.ingest.workflow.nightly"))
    'nightly'
    """
    part = cdap.parts(entity)[-1]
    return part.partition(".")[2] if entity.type == "program" else part


def program_type(program: Entity) -> str:
    """The type of a program in the spelling of names.

    >>> program_type(Entity("program", "sales.ingest.workflow.nightly"))
    'workflow'
    """
    return cdap.parts(program)[-1].partition(".")[0]
