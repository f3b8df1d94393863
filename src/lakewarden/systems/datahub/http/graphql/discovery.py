"""Discovery of the resolvers of a package: the constant `RESOLVERS` of each of its modules."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from lakewarden.systems.datahub.http.graphql.resolving import Resolvers


def resolvers_in(folders: Iterable[str], package: str) -> Resolvers:
    """By type and field; `folders` is the package's `__path__`."""
    by_type: dict[str, dict[str, Callable[..., Any]]] = {}
    for module in pkgutil.iter_modules(folders, f"{package}."):
        resolvers: Resolvers = getattr(import_module(module.name), "RESOLVERS", {})
        for type, fields in resolvers.items():
            by_type.setdefault(type, {}).update(fields)
    return by_type
