"""The entities of the platform itself, and records about assets beside their pages."""

from __future__ import annotations

from typing import Final

from lakewarden.systems.datahub.http.graphql.discovery import resolvers_in
from lakewarden.systems.datahub.http.graphql.platform import applications, health, incidents
from lakewarden.systems.datahub.http.graphql.resolving import Fields, Resolvers

RESOLVERS: Final[Resolvers] = resolvers_in(__path__, __name__)

SHARED: Final[Fields] = {**applications.SHARED, **health.SHARED, **incidents.SHARED}
"""What means the same on every type of entities that has it."""
