"""The entities of the platform itself, and what is said of assets beside their pages."""

from __future__ import annotations

from typing import Final

from lakewarden.systems.datahub.http.graphql.discovery import resolvers_in
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers

RESOLVERS: Final[Resolvers] = resolvers_in(__path__, __name__)
