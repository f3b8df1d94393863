"""Applications: listed, shown and deleted, with their versions.

SOURCE: cdap reference 2.4, 2.11, 4.6.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, cast

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap.http import deployment, object_store
from lakewarden.systems.cdap.http.authorization import (
    allow,
    contents,
    is_stored,
    listed,
    may,
    visible,
    write,
)
from lakewarden.systems.cdap.http.bodies import Json, empty_reply, ok, present
from lakewarden.systems.cdap.http.deleting import delete_all
from lakewarden.systems.cdap.http.deploying import ONE, PATH, PRINCIPAL, VERSION, latest
from lakewarden.systems.cdap.http.ids import (
    SHOWN,
    application,
    inside,
    last,
    namespace,
    namespace_of,
    program_type,
)
from lakewarden.systems.cdap.http.running import refuse_running
from lakewarden.systems.cdap.http.versions import (
    UNVERSIONED,
    VERSIONS,
    other_versions,
    version_of,
    versions_in,
)


def listed_all(exchange: Exchange) -> Reply:
    """The visible applications of a namespace, one row for each version."""
    applications = listed(exchange, "application.list", namespace(exchange))
    bodies = object_store.documents(exchange, applications)
    names = exchange.one("artifactName").split(",") if exchange.one("artifactName") else None
    version = exchange.one("artifactVersion")
    rows = (
        row
        for application, body in zip(applications, bodies, strict=True)
        for row in _rows(application, body)
    )
    return ok([row for row in rows if _is_of(row, names, version)])


def get(exchange: Exchange) -> Reply:
    """An application as last deployed, with its visible contents."""
    app = application(exchange)
    allow(exchange, "application.get", app)
    body = object_store.document(exchange, app)
    return ok(_detail(exchange, app, body, latest(body)))


def get_version(exchange: Exchange) -> Reply:
    """One version of an application."""
    app, version = application(exchange), exchange.params["version"]
    allow(exchange, "application.get", app)
    body = object_store.document(exchange, app)
    return ok(_detail(exchange, app, body, version_of(app, body, version)))


def versions(exchange: Exchange) -> Reply:
    """The versions of an application."""
    app = application(exchange)
    allow(exchange, "application.versions", app)
    return ok(sorted(versions_in(object_store.document(exchange, app))))


def plugins(exchange: Exchange) -> Reply:
    """The plugins that an application uses: none, because nothing of it is run."""
    allow(exchange, "application.plugins", application(exchange))
    return ok([])


def delete(exchange: Exchange) -> Reply:
    """Deletes an application with its programs; what the application created stays."""
    app = application(exchange)
    write(
        exchange,
        "application.delete",
        app,
        lambda transaction: _delete(exchange, transaction, [app]),
    )
    return empty_reply()


def delete_version(exchange: Exchange) -> Reply:
    """Deletes one version, and with the last version the application."""
    app, version = application(exchange), exchange.params["version"]

    def drop_version(transaction: WriteTransaction) -> None:
        body = object_store.document_in(transaction, exchange.realm, app)
        remaining = other_versions(app, body, version)
        if remaining:
            object_store.put(transaction, exchange.realm, app, **{VERSIONS: remaining})
        else:
            _delete(exchange, transaction, [app])

    write(exchange, "application.delete", app, drop_version, details={"version": version})
    return empty_reply()


def delete_all_of(exchange: Exchange) -> Reply:
    """Deletes all applications of a namespace."""

    def drop_applications(transaction: WriteTransaction, apps: Sequence[Entity]) -> None:
        _delete(exchange, transaction, apps)

    space = namespace(exchange)
    return delete_all(exchange, "application.delete_all", space, "application", drop_applications)


def _delete(exchange: Exchange, transaction: WriteTransaction, apps: Sequence[Entity]) -> None:
    refuse_running(exchange, transaction, apps)
    object_store.drop(exchange, transaction, "application.delete", *apps)


def _rows(app: Entity, body: Json) -> Iterator[Json]:
    for version, version_body in sorted(versions_in(body).items()):
        yield present(
            type="App",
            name=last(app),
            version=version,
            description=version_body.get("description") or "",
            artifact=version_body.get("artifact"),
            principal=body.get(PRINCIPAL),
        )


def _is_of(row: Json, names: Sequence[str] | None, version: str) -> bool:
    artifact = cast("Json", row.get("artifact") or {})
    is_named = names is None or artifact.get("name") in names
    return is_named and (not version or artifact.get("version") == version)


def _detail(exchange: Exchange, app: Entity, body: Json, version_body: Json) -> Json:
    """The detail of an application; of its contents, only what lists would show.

    A caller who may update it gets the whole configuration, because it would be written back.
    """
    space, state = namespace_of(app), exchange.realm_state
    config = str(version_body.get("configuration") or "")
    if not may(exchange, "core.update", app):
        config = deployment.shown_config(exchange, app, config)

    def named(type: str, member: str) -> list[Entity]:
        declared = [
            inside(space, type, name) for name in cast("list[str]", version_body.get(member) or [])
        ]
        stored = [entity for entity in declared if is_stored(state, entity)]
        return visible(exchange, f"{type}.list", stored)

    datasets = named("dataset", "datasets")
    types = object_store.documents(exchange, datasets)
    programs = visible(exchange, "program.list", contents(state, app, ["program"]))
    program_bodies = object_store.documents(exchange, programs)
    return present(
        name=last(app),
        appVersion=version_body.get("version") or UNVERSIONED,
        description=version_body.get("description") or "",
        artifact=version_body.get("artifact"),
        configuration=config,
        streams=[{"name": last(stream)} for stream in named("stream", "streams")],
        datasets=[
            {"name": last(dataset), "type": kind.get("typeName") or ""}
            for dataset, kind in zip(datasets, types, strict=True)
        ],
        programs=[
            {
                "type": SHOWN[program_type(program)],
                "app": last(app),
                "name": last(program),
                "description": body.get("description") or "",
            }
            for program, body in zip(programs, program_bodies, strict=True)
        ],
        plugins=[],
        principal=body.get(PRINCIPAL),
    )


ROUTES: Final[Sequence[Route]] = (
    Route("GET", PATH, "application.list", listed_all),
    Route("DELETE", PATH, "application.delete_all", delete_all_of),
    Route("GET", ONE, "application.get", get),
    Route("DELETE", ONE, "application.delete", delete),
    Route("GET", f"{ONE}/plugins", "application.plugins", plugins),
    Route("GET", f"{ONE}/versions", "application.versions", versions),
    Route("GET", VERSION, "application.get", get_version),
    Route("DELETE", VERSION, "application.delete", delete_version),
)
