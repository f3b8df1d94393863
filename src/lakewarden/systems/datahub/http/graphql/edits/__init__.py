"""Edits of pages, as mutations: each row names the operation that it checks, and its writes.

Metadata are written as the aspects that every other API reads and writes.
SOURCE: datahub reference 5.1 and 6.4.
"""

from __future__ import annotations

from typing import Final

from lakewarden.systems.datahub.http.graphql.discovery import resolvers_in
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers

RESOLVERS: Final[Resolvers] = resolvers_in(__path__, __name__)
