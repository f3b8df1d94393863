"""Credentials of a catalog or a fileset, as configured in its catalog.

The catalog's property `credential-providers` lists the credentials for callers who may load the
object. Providers that grant configured keys are served from the catalog's sealed secrets: this is
the only reply with secrets, and only with those stored for this purpose. Providers that would have
to request a token from a cloud return nothing.
SOURCE: gravitino reference 3.4 and 4.3; the credential classes of apache-gravitino 1.3.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.service.ports import Reading
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.http.authorization import GUARD
from lakewarden.systems.gravitino.http.bodies import Json, ok
from lakewarden.systems.gravitino.http.errors import unsupported
from lakewarden.systems.gravitino.http.kinds import METALAKE
from lakewarden.systems.gravitino.http.sealing import sealing
from lakewarden.systems.gravitino.http.securable import object_of

PROVIDERS: Final = "credential-providers"
"""The property that lists the catalog's credentials, separated by commas."""

KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "s3-secret-key": ("s3-access-key-id", "s3-secret-access-key"),
    "oss-secret-key": ("oss-access-key-id", "oss-secret-access-key"),
    "azure-account-key": ("azure-storage-account-name", "azure-storage-account-key"),
}
"""Credentials that consist of properties alone: their types, and the properties."""

_ALSO: Final = {"oss-secret-access-key": "oss-access-key-secret"}
"""Properties that have a second name in catalogs."""

_WITH: Final = ("catalog", "fileset")


def load(exchange: Exchange) -> Reply:
    """The credentials that the object's catalog grants; none if it is not configured to."""
    params = exchange.params
    target = object_of(params["metalake"], params["type"], params["name"])
    with GUARD.reading(exchange, "credential.load", target) as reading:
        if target.type not in _WITH:
            raise unsupported(f"a {target.type} has no credentials")
        parts = gravitino.parts(target)
        catalog = Entity("catalog", f"{parts[0]}:{parts[1]}")
        return ok(credentials=_configured_credentials(exchange, reading, catalog))


def _configured_credentials(exchange: Exchange, reading: Reading, catalog: Entity) -> list[Json]:
    body = reading.documents(exchange.realm, [catalog]).get(catalog) or {}
    secrets = reading.secrets(exchange.realm, catalog)
    properties = cast("Mapping[str, str]", body.get("properties") or {})
    providers = [name.strip().lower() for name in properties.get(PROVIDERS, "").split(",")]

    def value(key: str) -> str | None:
        name = key if key in properties or key in secrets else _ALSO.get(key, key)
        return sealing(exchange).unseal(secrets[name]) if name in secrets else properties.get(name)

    credentials: list[Json] = []
    for type in dict.fromkeys(provider for provider in providers if provider in KEYS):
        info = {key: value(key) for key in KEYS[type]}
        if all(part is not None for part in info.values()):
            credentials.append(
                {"credentialType": type, "expireTimeInMs": 0, "credentialInfo": info}
            )
    return credentials


ROUTES: Final = (
    Route("GET", METALAKE + "/objects/{type}/{name}/credentials", "credential.load", load),
)
