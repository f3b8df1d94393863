"""Artifacts: opaque files by name and version; all versions are one entity.

The content of a file is not inspected or run; its size and digest are stored. Artifacts of the
namespace `system` are the platform's: they are listed with those of every namespace.
SOURCE: cdap reference 2.3, 3.3, 4.6, 4.10 (P1), K25.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Final

from lakewarden.http import strict_json
from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import WORD, quoted
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap import names as cdap
from lakewarden.systems.cdap.http import object_store
from lakewarden.systems.cdap.http.authorization import allow, contents, is_stored, visible, write
from lakewarden.systems.cdap.http.bodies import (
    ANY_TYPE,
    Json,
    convert,
    empty_reply,
    ok,
    present,
    text_of,
    text_reply,
    texts,
)
from lakewarden.systems.cdap.http.deleting import delete_all
from lakewarden.systems.cdap.http.errors import bad, exists, not_found
from lakewarden.systems.cdap.http.ids import SYSTEM, inside, last, namespace, namespace_of
from lakewarden.systems.cdap.http.versions import (
    UNVERSIONED,
    VERSIONS,
    other_versions,
    version_of,
    versions_in,
)
from lakewarden.systems.cdap.settings import CdapSettings

PATH: Final = "/v3/namespaces/{namespace}/artifacts"
ONE: Final = f"{PATH}/{{artifact}}"
VERSION: Final = f"{ONE}/versions/{{version}}"

BYTES: Final = 64 * 1024 * 1024
"""The maximum size of a file, in bytes."""

USER_SCOPE: Final = "USER"
SYSTEM_SCOPE: Final = "SYSTEM"

SHIPPED: Final = ("cdap-data-pipeline", "cdap-data-streams")
"""The system artifacts of the release that the server reports."""

_VERSION_CHARACTERS: Final = WORD | frozenset("-.")


def listed(exchange: Exchange) -> Reply:
    """The visible artifact versions of a namespace, and those of the platform."""
    artifacts = visible_artifacts(exchange, namespace(exchange))
    bodies = object_store.documents(exchange, artifacts)
    return ok(
        [
            row
            for artifact, body in zip(artifacts, bodies, strict=True)
            for row in _rows(artifact, body)
        ]
    )


def versions(exchange: Exchange) -> Reply:
    """The versions of one artifact; 404 if none is visible."""
    name = artifact(exchange)
    artifacts = [
        artifact
        for artifact in visible_artifacts(exchange, namespace(exchange))
        if last(artifact) == last(name)
    ]
    bodies = object_store.documents(exchange, artifacts)
    rows = [
        row
        for artifact, body in zip(artifacts, bodies, strict=True)
        for row in _rows(artifact, body)
    ]
    if not rows:
        raise not_found(name)
    return ok(rows)


def visible_artifacts(exchange: Exchange, within: Entity) -> list[Entity]:
    """The artifacts of a namespace that are visible to the caller, in the requested scope."""
    state = allow(exchange, "artifact.list", within)
    scope = exchange.one("scope").upper()
    if scope not in ("", USER_SCOPE, SYSTEM_SCOPE):
        raise bad(f"unknown scope {quoted(exchange.one('scope'))}; expected `user` or `system`")
    places = [] if scope == SYSTEM_SCOPE and within != SYSTEM else [within]
    if scope != USER_SCOPE and within != SYSTEM:
        places.append(SYSTEM)
    artifacts = [artifact for place in places for artifact in contents(state, place, ["artifact"])]
    return visible(exchange, "artifact.list", artifacts)


def get(exchange: Exchange) -> Reply:
    """One version of an artifact."""
    target = scoped(exchange)
    allow(exchange, "artifact.get", target)
    version_body = version_of(
        target, object_store.document(exchange, target), exchange.params["version"]
    )
    classes = {"apps": [], "plugins": version_body.get("plugins") or []}
    row = _row(target, exchange.params["version"])
    return ok({**row, "properties": texts(version_body.get("properties")), "classes": classes})


def add(exchange: Exchange) -> Reply:
    """Adds a version of an artifact, and with the first version the artifact."""
    new = artifact(exchange)
    name, body = file_of(exchange)

    def add_artifact(transaction: WriteTransaction) -> None:
        put_version(exchange, transaction, new, name, body)

    write(exchange, "artifact.add", new, add_artifact, missing=None, details={"version": name})
    return text_reply("Artifact added successfully")


def file_of(exchange: Exchange) -> tuple[str, Json]:
    """The version that a request uploads, and the data to store."""
    version = exchange.headers.get("artifact-version", "")
    check_version(version)
    if not exchange.body:
        raise bad("expected the file of the artifact as the body")
    extends = exchange.headers.get("artifact-extends", "")
    return version, {
        "size": len(exchange.body),
        "digest": sha256(exchange.body).hexdigest(),
        "parents": [part.strip() for part in extends.split("/") if part.strip()],
        "plugins": _plugins(exchange.headers.get("artifact-plugins", "")),
        "properties": {},
    }


def put_version(
    exchange: Exchange,
    transaction: WriteTransaction,
    entity: Entity,
    version: str,
    version_body: Json,
) -> None:
    """Stores a version; raises `Failure` 409 for an existing one that may not be overwritten."""
    if not is_stored(transaction.realm(exchange.realm), entity):
        body: Json = {VERSIONS: {version: version_body}}
        object_store.add(exchange, transaction, "artifact.add", entity, body)
        return
    stored = versions_in(object_store.document_in(transaction, exchange.realm, entity))
    if version in stored and not version.endswith(UNVERSIONED):
        raise exists(f"{cdap.format_id(entity)}.{version}")
    said = stored.get(version, {}).get(object_store.METADATA)
    kept = {**version_body, **present(**{object_store.METADATA: said})}
    object_store.put(transaction, exchange.realm, entity, **{VERSIONS: {**stored, version: kept}})


def delete(exchange: Exchange) -> Reply:
    """Deletes one version, and with the last version the artifact."""
    target, version = artifact(exchange), exchange.params["version"]

    def drop_version(transaction: WriteTransaction) -> None:
        body = object_store.document_in(transaction, exchange.realm, target)
        remaining = other_versions(target, body, version)
        if remaining:
            object_store.put(transaction, exchange.realm, target, **{VERSIONS: remaining})
        else:
            object_store.drop(exchange, transaction, "artifact.delete", target)

    write(exchange, "artifact.delete", target, drop_version, details={"version": version})
    return empty_reply()


def clear(exchange: Exchange) -> Reply:
    """Deletes all artifacts of a namespace."""
    return delete_all(exchange, "artifact.clear_all", namespace(exchange), "artifact")


def refresh(exchange: Exchange) -> Reply:
    """Reloads the system artifacts: those of this release exist afterwards."""
    version = exchange.services.of(CdapSettings).version

    def add_system_artifacts(transaction: WriteTransaction) -> None:
        for name in SHIPPED:
            entity = inside(SYSTEM, "artifact", name)
            body = object_store.document_in(transaction, exchange.realm, entity)
            is_new = not is_stored(transaction.realm(exchange.realm), entity)
            if is_new or version not in versions_in(body):
                put_version(exchange, transaction, entity, version, {"properties": {}})

    write(exchange, "artifact.refresh_system", SYSTEM, add_system_artifacts)
    return empty_reply()


def properties(exchange: Exchange) -> Reply:
    """The properties of a version, or those in `keys`."""
    values = texts(_version_body(exchange).get("properties"))
    keys = exchange.one("keys")
    if keys:
        values = {key: values[key] for key in keys.split(",") if key in values}
    return ok(values)


def property_of(exchange: Exchange) -> Reply:
    """One property of a version, as text."""
    key = exchange.params["key"]
    value = texts(_version_body(exchange).get("properties")).get(key)
    if value is None:
        raise not_found(f"{cdap.format_id(artifact(exchange))}.{key}")
    return text_reply(value)


def _version_body(exchange: Exchange) -> Json:
    """The stored data of the version in the path, if the caller may read its properties."""
    target = scoped(exchange)
    allow(exchange, "artifact.get_property", target)
    return version_of(target, object_store.document(exchange, target), exchange.params["version"])


def write_properties(exchange: Exchange) -> Reply:
    """Replaces all properties of a version."""
    properties = convert(strict_json.read(exchange.body), dict[str, str])
    return _change(exchange, "artifact.write_property", lambda _: properties)


def write_property(exchange: Exchange) -> Reply:
    """Sets one property of a version to the text of the body."""
    key, value = exchange.params["key"], text_of(exchange)
    return _change(exchange, "artifact.write_property", lambda values: {**values, key: value})


def delete_properties(exchange: Exchange) -> Reply:
    """Removes all properties of a version."""
    return _change(exchange, "artifact.delete_property", lambda _: {})


def delete_property(exchange: Exchange) -> Reply:
    """Removes one property of a version."""
    key = exchange.params["key"]
    return _change(
        exchange,
        "artifact.delete_property",
        lambda values: {name: value for name, value in values.items() if name != key},
    )


def artifact(exchange: Exchange) -> Entity:
    """The artifact of `{namespace}` and `{artifact}`."""
    return inside(namespace(exchange), "artifact", exchange.params["artifact"])


def scoped(exchange: Exchange) -> Entity:
    """The artifact in the path; with `scope=system`, the platform's of that name."""
    if exchange.one("scope").upper() == SYSTEM_SCOPE:
        namespace(exchange)
        return inside(SYSTEM, "artifact", exchange.params["artifact"])
    return artifact(exchange)


def check_version(version: str) -> None:
    """Raises `Failure` 400 for an invalid version."""
    if not version or not _VERSION_CHARACTERS.issuperset(version):
        raise bad(f"expected a version of letters, digits and `-._`, got {quoted(version)}")


def scope_of(entity: Entity) -> str:
    """The scope of the artifact: the platform's, or the users'."""
    return SYSTEM_SCOPE if namespace_of(entity) == SYSTEM else USER_SCOPE


def _change(
    exchange: Exchange, operation: str, change: Callable[[dict[str, str]], dict[str, str]]
) -> Reply:
    """Replaces the properties of the version in the path."""
    target, version = artifact(exchange), exchange.params["version"]

    def change_properties(transaction: WriteTransaction) -> None:
        body = object_store.document_in(transaction, exchange.realm, target)
        version_body = version_of(target, body, version)
        changed = {**version_body, "properties": change(texts(version_body.get("properties")))}
        stored = {**versions_in(body), version: changed}
        object_store.put(transaction, exchange.realm, target, **{VERSIONS: stored})

    write(exchange, operation, target, change_properties, details={"version": version})
    return empty_reply()


def _plugins(header: str) -> list[object]:
    """The plugins in a header, as JSON; raises `BadInput`, `Failure` 400."""
    if not header:
        return []
    try:
        value = strict_json.read(header.encode("utf-8"))
    except BadInput as error:
        raise BadInput(error.message, where="Artifact-Plugins") from None
    return convert(value, list[object], "Artifact-Plugins")


def _row(entity: Entity, version: str) -> Json:
    return {"name": last(entity), "version": version, "scope": scope_of(entity)}


def _rows(entity: Entity, body: Mapping[str, object]) -> list[Json]:
    return [_row(entity, version) for version in sorted(versions_in(body))]


ROUTES: Final[Sequence[Route]] = (
    Route("GET", PATH, "artifact.list", listed),
    Route("DELETE", PATH, "artifact.clear_all", clear),
    Route("POST", "/v3/namespaces/system/artifacts", "artifact.refresh_system", refresh),
    Route("GET", ONE, "artifact.list", versions),
    Route("POST", ONE, "artifact.add", add, body_limit=BYTES, accepts=ANY_TYPE),
    Route("GET", VERSION, "artifact.get", get),
    Route("DELETE", VERSION, "artifact.delete", delete),
    Route("GET", f"{VERSION}/properties", "artifact.get_property", properties),
    Route("PUT", f"{VERSION}/properties", "artifact.write_property", write_properties),
    Route("DELETE", f"{VERSION}/properties", "artifact.delete_property", delete_properties),
    Route("GET", f"{VERSION}/properties/{{key}}", "artifact.get_property", property_of),
    Route(
        *("PUT", f"{VERSION}/properties/{{key}}", "artifact.write_property", write_property),
        accepts=ANY_TYPE,
    ),
    Route(
        *("DELETE", f"{VERSION}/properties/{{key}}", "artifact.delete_property"), delete_property
    ),
)
