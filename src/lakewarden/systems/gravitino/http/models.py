"""Models and their versions, which have a number and aliases.

Versions are numbered from 0 and stored in the model's document; the next number is the model's
`latestVersion`, so no number is ever reused.
SOURCE: gravitino reference 3.3 and 4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, cast

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.errors import LimitExceeded
from lakewarden.names.canonical import quoted
from lakewarden.service.sealed_properties import is_secret
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.http import object_store
from lakewarden.systems.gravitino.http.authorization import allow, entity, is_stored, write
from lakewarden.systems.gravitino.http.bodies import (
    Body,
    Json,
    altered,
    audit_of,
    created,
    is_on,
    ok,
    present,
    read,
)
from lakewarden.systems.gravitino.http.errors import already_exists, illegal, no_such
from lakewarden.systems.gravitino.http.kinds import (
    SCHEMA,
    Created,
    Kind,
    described,
    plain,
    routes_of,
)
from lakewarden.systems.gravitino.http.updates import (
    SHARED,
    Draft,
    RemoveProperty,
    SetProperty,
    Update,
    UpdateComment,
    apply_shared,
    checked_properties,
    read_updates,
)

MOST_VERSIONS: Final = 10_000
"""The maximum number of versions of one model."""

UNKNOWN: Final = "unknown"
"""The name of an unnamed URI."""

DEFAULT_URI: Final = "default-uri-name"
"""The property, of a model or version, with the name of the URI that is used by default."""

Versions = list[Json]


class Create(Body):
    """The body of POST …/models."""

    name: str
    comment: str | None = None
    properties: dict[str, str] | None = None


class Link(Body):
    """The body of POST …/versions."""

    uri: str | None = None
    uris: dict[str, str] | None = None
    aliases: list[str] | None = None
    comment: str | None = None
    properties: dict[str, str] | None = None


class UpdateUri(Update, tag="updateUri"):
    """Replaces the address under an existing name."""

    new_uri: str
    uri_name: str | None = None


class AddUri(Update, tag="addUri"):
    """Adds an address."""

    uri_name: str
    uri: str


class RemoveUri(Update, tag="removeUri"):
    """Removes an address."""

    uri_name: str


class UpdateAliases(Update, tag="updateAliases"):
    """Adds and removes aliases."""

    aliases_to_add: list[str] | None = None
    aliases_to_remove: list[str] | None = None


VERSION_UPDATES = (
    UpdateComment | SetProperty | RemoveProperty | UpdateUri | AddUri | RemoveUri | UpdateAliases
)


def _read(exchange: Exchange) -> Created:
    body = read(exchange, Create)
    description = described(body.comment, body.properties)
    return body.name, {**description, "latestVersion": 0, "versions": []}


def _show(name: str, body: Json) -> Json:
    return {**plain(name, body), "latestVersion": body.get("latestVersion", 0)}


MODELS: Final = Kind(
    type="model",
    within="schema",
    path=SCHEMA + "/models",
    read=_read,
    show=_show,
    updates=SHARED,
    create="register",
    family="model",
)

VERSIONS: Final = MODELS.one + "/versions"
VERSION: Final = VERSIONS + "/{version}"
ALIAS: Final = MODELS.one + "/aliases/{alias}"


def versions_of(body: Json) -> Versions:
    """The versions in a model's document."""
    return cast("Versions", body.setdefault("versions", []))


def list_versions(exchange: Exchange) -> Reply:
    """The numbers of the versions, or with `details` the whole versions."""
    model = entity(exchange, "model")
    allow(exchange, "model_version.list", model)
    versions = versions_of(object_store.document(exchange, model))
    if is_on(exchange, "details"):
        return ok(infos=[_version(version) for version in versions])
    return ok(versions=[version["version"] for version in versions])


def link(exchange: Exchange) -> Reply:
    """Adds a version, under the next number."""
    model = entity(exchange, "model")
    body = read(exchange, Link)
    uris = dict(body.uris or {})
    if body.uri:
        uris.setdefault(UNKNOWN, body.uri)
    if not uris:
        raise illegal("body: expected `uri` or `uris`")
    for name, uri in uris.items():
        _check_uri(name, uri)
    properties = checked_properties(body.properties)
    _refuse_secrets(properties)
    aliases = _unique(body.aliases or [])

    def add_version(transaction: WriteTransaction) -> None:
        draft = object_store.draft(transaction, exchange.realm, model)
        versions = versions_of(draft.body)
        if len(versions) >= MOST_VERSIONS:
            raise LimitExceeded(f"at most {MOST_VERSIONS} versions of a model are kept")
        _check_aliases(versions, aliases)
        number = cast("int", draft.body.get("latestVersion", 0))
        new = present(
            version=number,
            comment=body.comment,
            aliases=aliases,
            uris=uris,
            properties=properties,
            audit=created(exchange.actor.user, transaction.now),
        )
        versions.append(new)
        draft.body["latestVersion"] = number + 1
        object_store.save(exchange, transaction, model, draft)

    write(exchange, "model_version.link", model, add_version)
    return ok()


def load(exchange: Exchange) -> Reply:
    """One version by its number."""
    return _load(exchange, "model_version.load")


def load_by_alias(exchange: Exchange) -> Reply:
    """One version by an alias."""
    return _load(exchange, "model_version.load_by_alias")


def _load(exchange: Exchange, operation: str) -> Reply:
    model = entity(exchange, "model")
    allow(exchange, operation, model)
    return ok(modelVersion=_version(_chosen(exchange, object_store.document(exchange, model))))


def uri(exchange: Exchange) -> Reply:
    """One address of a version, found by number or alias."""
    model = entity(exchange, "model")
    allow(exchange, "model_version.uri", model)
    body = object_store.document(exchange, model)
    version = _chosen(exchange, body)
    uris = cast("dict[str, str]", version["uris"])
    name = exchange.one("uriName") or _default_uri(version, body, uris)
    if name not in uris:
        raise no_such("model version uri", name)
    return ok(uri=uris[name])


def _default_uri(version: Json, model: Json, uris: dict[str, str]) -> str:
    for body in (version, model):
        properties = cast("dict[str, str]", body.get("properties") or {})
        if DEFAULT_URI in properties:
            return properties[DEFAULT_URI]
    if len(uris) == 1:
        return next(iter(uris))
    if UNKNOWN in uris:
        return UNKNOWN
    raise illegal(f"the version has several URIs: name one in `uriName`, or in `{DEFAULT_URI}`")


def alter_by(operation: str) -> Callable[[Exchange], Reply]:
    """A handler that alters a version, found by number or alias."""

    def handler(exchange: Exchange) -> Reply:
        model = entity(exchange, "model")
        updates = read_updates(exchange, VERSION_UPDATES)

        def apply_updates(transaction: WriteTransaction) -> Json:
            draft = object_store.draft(transaction, exchange.realm, model)
            version = _chosen(exchange, draft.body)
            _apply(
                version,
                [other for other in versions_of(draft.body) if other is not version],
                updates,
            )
            version["audit"] = altered(version.get("audit"), exchange.actor.user, transaction.now)
            object_store.save(exchange, transaction, model, draft)
            return _version(version)

        return ok(modelVersion=write(exchange, operation, model, apply_updates))

    return handler


def delete_by(operation: str) -> Callable[[Exchange], Reply]:
    """A handler that deletes a version, found by number or alias."""

    def handler(exchange: Exchange) -> Reply:
        model = entity(exchange, "model")

        def delete_version(transaction: WriteTransaction) -> bool:
            if not is_stored(transaction.realm(exchange.realm), model):
                return False
            draft = object_store.draft(transaction, exchange.realm, model)
            version = _version_named(exchange, draft.body)
            if version is None:
                return False
            draft.body["versions"] = [
                other for other in versions_of(draft.body) if other is not version
            ]
            object_store.save(exchange, transaction, model, draft)
            return True

        return ok(dropped=write(exchange, operation, model, delete_version, missing=None))

    return handler


def _chosen(exchange: Exchange, body: Json) -> Json:
    """The version in the path; raises `Failure` 404."""
    version = _version_named(exchange, body)
    if version is None:
        model = gravitino.full_name(entity(exchange, "model"))
        reference = exchange.params.get("version") or exchange.params["alias"]
        raise no_such("model version", f"{model} {reference}")
    return version


def _version_named(exchange: Exchange, body: Json) -> Json | None:
    alias = exchange.params.get("alias")
    if alias is not None:
        by_alias = (v for v in versions_of(body) if alias in cast("list[str]", v["aliases"]))
        return next(by_alias, None)
    text = exchange.params["version"]
    if not (text.isascii() and text.isdigit()) or len(text) > 9:
        raise illegal(f"expected the number of a version, got {quoted(text)}")
    by_number = (v for v in versions_of(body) if v["version"] == int(text))
    return next(by_number, None)


def _version(version: Json) -> Json:
    return {**version, "audit": audit_of(version)}


def _apply(version: Json, others: Versions, updates: Iterable[Any]) -> None:
    draft = Draft("", version)
    version.setdefault("properties", {})
    uris = cast("dict[str, str]", version["uris"])
    for update in updates:
        match update:
            case UpdateUri(new_uri=new, uri_name=name):
                named = name or UNKNOWN
                if named not in uris:
                    raise no_such("model version uri", named)
                _check_uri(named, new)
                uris[named] = new
            case AddUri(uri_name=name, uri=address):
                if name in uris:
                    raise illegal(f"there is a URI named {quoted(name)} already")
                _check_uri(name, address)
                uris[name] = address
            case RemoveUri(uri_name=name):
                if set(uris) == {name}:
                    raise illegal("the only URI of a version cannot be removed")
                uris.pop(name, None)
            case UpdateAliases(aliases_to_add=come, aliases_to_remove=go):
                _update_aliases(version, others, come or [], go or [])
            case _:
                apply_shared(draft, update)
    if any(value is not None for value in draft.secrets.values()):
        raise _no_secrets()


def _update_aliases(version: Json, others: Versions, come: list[str], go: list[str]) -> None:
    new = _unique(come)
    _check_aliases(others, new)
    remaining = [alias for alias in cast("list[str]", version["aliases"]) if alias not in set(go)]
    version["aliases"] = [*remaining, *(alias for alias in new if alias not in remaining)]


def _unique(aliases: Iterable[str]) -> list[str]:
    """The aliases without duplicates; raises `Failure` 400 for one that is blank or a number."""
    distinct = list(dict.fromkeys(aliases))
    for alias in distinct:
        if not alias.strip() or alias.strip().lstrip("+-").isdigit():
            raise illegal(f"an alias is not blank and not a number, got {quoted(alias)}")
    return distinct


def _check_aliases(versions: Versions, aliases: Iterable[str]) -> None:
    used = {alias for version in versions for alias in cast("list[str]", version["aliases"])}
    for alias in aliases:
        if alias in used:
            raise already_exists(
                f"alias {quoted(alias)} is another version's",
                "ModelVersionAliasesAlreadyExistException",
            )


def _check_uri(name: str, uri: str) -> None:
    if not name.strip() or not uri.strip():
        raise illegal("the name of a URI and the URI are not blank")


def _refuse_secrets(properties: dict[str, str]) -> None:
    if any(is_secret(key, value) for key, value in properties.items()):
        raise _no_secrets()


def _no_secrets() -> Exception:
    return illegal("a version has no secret properties; keep them in the catalog")


ROUTES: Final = (
    *routes_of(MODELS),
    Route("GET", VERSIONS, "model_version.list", list_versions),
    Route("POST", VERSIONS, "model_version.link", link),
    Route("GET", VERSION, "model_version.load", load),
    Route("PUT", VERSION, "model_version.alter", alter_by("model_version.alter")),
    Route("DELETE", VERSION, "model_version.delete", delete_by("model_version.delete")),
    Route("GET", VERSION + "/uri", "model_version.uri", uri),
    Route("GET", ALIAS, "model_version.load_by_alias", load_by_alias),
    Route("PUT", ALIAS, "model_alias.alter", alter_by("model_alias.alter")),
    Route("DELETE", ALIAS, "model_alias.delete", delete_by("model_alias.delete")),
    Route("GET", ALIAS + "/uri", "model_version.uri", uri),
)
