"""Edits of pages, as mutations: each names the operations that it asks, and what it writes.

Metadata are written as the aspects in which every other API keeps them.
SOURCE: datahub reference 5.1 and 6.4.
"""

from __future__ import annotations

from typing import Final

from lakewarden.systems.datahub.http.graphql.edits import (
    data_products,
    deprecation,
    descriptions,
    domain_of,
    domains,
    glossary,
    labels,
    links,
    logical_parent,
    names,
    owners,
    profiles,
    queries,
    soft_deletion,
    tags,
    updates,
)
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers

_MODULES: Final = (
    data_products,
    deprecation,
    descriptions,
    domain_of,
    domains,
    glossary,
    labels,
    links,
    logical_parent,
    names,
    owners,
    profiles,
    queries,
    soft_deletion,
    tags,
    updates,
)

RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        field: resolver
        for module in _MODULES
        for field, resolver in module.RESOLVERS["Mutation"].items()
    }
}
