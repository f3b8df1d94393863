"""The storage of an application's schedules: in its document, by name, each with its program.

SOURCE: cdap reference 4.7; cdapio/cdap, ScheduleDetail at v5.1.2.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, cast

from lakewarden.kernel.entity import Entity
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap.http import object_store
from lakewarden.systems.cdap.http.bodies import Body, Json, convert
from lakewarden.systems.cdap.http.errors import not_found
from lakewarden.systems.cdap.http.ids import of_application

SCHEDULES: Final = "schedules"
"""The member of an application's document."""


class ProgramBody(Body, rename="camel"):
    """The program to start."""

    program_name: str
    program_type: str


def schedules_of(body: Mapping[str, object]) -> dict[str, Json]:
    """The schedules of the application with this document, by name."""
    return dict(cast("Mapping[str, Json]", body.get(SCHEDULES) or {}))


def schedules_in(transaction: WriteTransaction, realm: str, app: Entity) -> dict[str, Json]:
    """The schedules of an application by name, within a write."""
    return schedules_of(object_store.document_in(transaction, realm, app))


def put(
    transaction: WriteTransaction, realm: str, app: Entity, schedules: Mapping[str, Json]
) -> None:
    """Replaces the stored schedules."""
    object_store.put(transaction, realm, app, **{SCHEDULES: schedules or None})


def schedule_named(app: Entity, schedules: Mapping[str, Json], name: str) -> Json:
    """The schedule of that name; raises `Failure` 404."""
    schedule = schedules.get(name)
    if schedule is None:
        raise not_found(id_of(app, name))
    return schedule


def started_by(app: Entity, schedule: Json) -> Entity:
    """The program that a schedule starts."""
    return program_named(app, convert(schedule["program"], ProgramBody))


def program_named(app: Entity, named: ProgramBody) -> Entity:
    """The program in a body; raises `BadInput`."""
    return of_application(app, named.program_type.lower(), named.program_name)


def delete_orphans(
    transaction: WriteTransaction, realm: str, app: Entity, removed: Collection[Entity]
) -> None:
    """Deletes the schedules that start programs which no longer exist."""
    schedules = schedules_in(transaction, realm, app)
    remaining = {
        name: schedule
        for name, schedule in schedules.items()
        if started_by(app, schedule) not in removed
    }
    if remaining != schedules:
        put(transaction, realm, app, remaining)


def id_of(app: Entity, name: str) -> str:
    """The name of a schedule in messages."""
    return f"schedule:{app.name}.{name}"
