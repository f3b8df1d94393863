"""The entities of the platform itself, and records about assets in addition to their pages."""

from __future__ import annotations

from typing import Final

from lakewarden.systems.datahub.http.graphql.discovery import resolvers_in
from lakewarden.systems.datahub.http.graphql.platform import applications, health, incidents
from lakewarden.systems.datahub.http.graphql.resolving import Fields, Resolvers

RESOLVERS: Final[Resolvers] = resolvers_in(__path__, __name__)

SHARED: Final[Fields] = {**applications.SHARED, **health.SHARED, **incidents.SHARED}
"""Fields with the same meaning on every entity type that has them."""
