"""System services: the platform's own services, with their wanted numbers of instances.

Everybody may view them; a change requires what the model says. Nothing is executed: a restart is
recorded, and a service immediately has the wanted number of instances.
SOURCE: cdap reference K15; cdapio/cdap, MonitorHandler at v5.1.2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.names.canonical import quoted
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap import names as cdap
from lakewarden.systems.cdap.http import object_store
from lakewarden.systems.cdap.http.authorization import allow, write
from lakewarden.systems.cdap.http.bodies import Body, Json, empty_reply, ok, read
from lakewarden.systems.cdap.http.errors import bad, not_found
from lakewarden.systems.cdap.http.ids import instance

PATH: Final = "/v3/system/services"
ONE: Final = f"{PATH}/{{service}}"

OK: Final = "OK"

INSTANCES: Final = "instances"
RESTARTED: Final = "restarted"
"""The members of a service's document."""


class Service(NamedTuple):
    """The description of a service, and its maximum number of instances."""

    description: str
    most: int


SERVICES: Final[Mapping[str, Service]] = {
    "appfabric": Service("Service for managing applications.", 1),
    "dataset.executor": Service("Service to perform dataset operations.", 1),
    "log.saver": Service("Service to collect and store logs.", 5),
    "metrics": Service("Service to handle metrics requests.", 5),
    "metrics.processor": Service("Service to process application and system metrics.", 5),
    "streams": Service("Service that handles stream data ingestion.", 5),
}
"""The services whose functions this server provides, by name."""


class InstancesBody(Body):
    """The wanted number of instances."""

    instances: int


def listed(exchange: Exchange) -> Reply:
    """All services, with their status."""
    names = sorted(SERVICES)
    allow(exchange, "system_service.view", _entity(names[0]))
    bodies = object_store.documents(exchange, [_entity(name) for name in names])
    return ok(
        [_row(name, _requested_instances(body)) for name, body in zip(names, bodies, strict=True)]
    )


def statuses(exchange: Exchange) -> Reply:
    """The status of every service, by name."""
    names = sorted(SERVICES)
    allow(exchange, "system_service.view", _entity(names[0]))
    return ok(dict.fromkeys(names, OK))


def status(exchange: Exchange) -> Reply:
    """The status of one service."""
    _visible_document(exchange)
    return ok({"status": OK})


def instances(exchange: Exchange) -> Reply:
    """The current and the wanted number of instances of a service."""
    requested = _requested_instances(_visible_document(exchange))
    return ok({"requested": requested, "provisioned": requested})


def set_instances(exchange: Exchange) -> Reply:
    """Sets the wanted number of instances."""
    name = exchange.params["service"]

    def put_instances(transaction: WriteTransaction) -> None:
        most = _service(name).most
        requested = read(exchange, InstancesBody).instances
        if not 1 <= requested <= most:
            raise bad(f"expected 1 to {most} instances of {quoted(name)}, got {requested}")
        object_store.put(transaction, exchange.realm, _entity(name), **{INSTANCES: requested})

    _change(exchange, put_instances)
    return empty_reply()


def restart(exchange: Exchange) -> Reply:
    """Restarts all instances of a service."""
    return _restart(exchange, None)


def restart_instance(exchange: Exchange) -> Reply:
    """Restarts one instance of a service."""
    return _restart(exchange, exchange.params["instance"])


def _restart(exchange: Exchange, instance: str | None) -> Reply:
    name = exchange.params["service"]

    def record_restart(transaction: WriteTransaction) -> None:
        _service(name)
        count = _requested_instances(
            object_store.document_in(transaction, exchange.realm, _entity(name))
        )
        ids = [str(id) for id in range(count)]
        if instance is not None and instance not in ids:
            raise not_found(f"system_service:{name}/instances/{instance}")
        now = int(transaction.now * 1_000)
        restart: Json = {
            "serviceName": name,
            "startTimeInMs": now,
            "endTimeInMs": now,
            "status": "SUCCESS",
            "instanceIds": [int(id) for id in (ids if instance is None else [instance])],
        }
        object_store.put(transaction, exchange.realm, _entity(name), **{RESTARTED: restart})

    _change(exchange, record_restart)
    return empty_reply()


def latest_restart(exchange: Exchange) -> Reply:
    """The last restart; 404 if there was none."""
    restart = _visible_document(exchange).get(RESTARTED)
    if restart is None:
        raise not_found(f"system_service:{exchange.params['service']}/latest-restart")
    return ok(restart)


def _change(exchange: Exchange, change_service: Callable[[WriteTransaction], None]) -> None:
    entity = cdap.parse("system_service", exchange.params["service"])
    targets = {"instance": instance(exchange)}
    write(exchange, "system_service.change", entity, change_service, targets=targets)


def _visible_document(exchange: Exchange) -> Json:
    """The document of the service in the path, if the caller may view it."""
    entity = cdap.parse("system_service", exchange.params["service"])
    allow(exchange, "system_service.view", entity)
    _service(entity.name)
    return object_store.document(exchange, entity)


def _service(name: str) -> Service:
    """The service of that name; raises `Failure` 404."""
    service = SERVICES.get(name)
    if service is None:
        raise not_found(f"system_service:{name}")
    return service


def _requested_instances(body: Json) -> int:
    instances = body.get(INSTANCES)
    return instances if isinstance(instances, int) else 1


def _entity(name: str) -> Entity:
    return Entity("system_service", name)


def _row(name: str, requested: int) -> Json:
    return {
        "name": name,
        "description": SERVICES[name].description,
        "status": OK,
        "logs": OK,
        "min": 1,
        "max": SERVICES[name].most,
        "requested": requested,
        "provisioned": requested,
    }


ROUTES: Final[Sequence[Route]] = (
    Route("GET", PATH, "system_service.view", listed),
    Route("GET", f"{PATH}/status", "system_service.view", statuses),
    Route("GET", f"{ONE}/status", "system_service.view", status),
    Route("GET", f"{ONE}/instances", "system_service.view", instances),
    Route("PUT", f"{ONE}/instances", "system_service.change", set_instances),
    Route("POST", f"{ONE}/restart", "system_service.change", restart),
    Route(
        "POST", f"{ONE}/instances/{{instance}}/restart", "system_service.change", restart_instance
    ),
    Route("GET", f"{ONE}/latest-restart", "system_service.view", latest_restart),
)
