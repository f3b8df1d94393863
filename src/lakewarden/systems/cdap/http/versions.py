"""The versions of an application or an artifact, in its document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from lakewarden.kernel.entity import Entity
from lakewarden.systems.cdap import names as cdap
from lakewarden.systems.cdap.http.bodies import Json
from lakewarden.systems.cdap.http.errors import not_found

VERSIONS: Final = "versions"
"""The member of a document with the stored data of each version."""

UNVERSIONED: Final = "-SNAPSHOT"
"""The version of what was stored without one; versions that end so may be overwritten."""


def versions_in(body: Mapping[str, object]) -> dict[str, Json]:
    """The stored data of each version, by version; an imported entity has a single one."""
    versions = body.get(VERSIONS)
    return {UNVERSIONED: {}} if versions is None else dict(cast("Mapping[str, Json]", versions))


def version_of(entity: Entity, body: Mapping[str, object], version: str) -> Json:
    """The stored data of one version; raises `Failure` 404."""
    version_body = versions_in(body).get(version)
    if version_body is None:
        raise not_found(f"{cdap.format_id(entity)}.{version}")
    return version_body


def other_versions(entity: Entity, body: Mapping[str, object], version: str) -> dict[str, Json]:
    """The stored data of the other versions; raises `Failure` 404 as `version_of`."""
    version_of(entity, body, version)
    return {name: data for name, data in versions_in(body).items() if name != version}
