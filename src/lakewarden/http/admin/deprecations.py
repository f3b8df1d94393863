"""Deprecated parts of `/api/v1`, in one table.

Responses announce deprecations in their headers (RFC 9745 and RFC 8594), `/openapi.json` describes
them. Everything in the table works as before until the day of its sunset, when it may be removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from email.utils import format_datetime
from typing import Any, Final

_DESCRIPTION: Final = '</openapi.json>; rel="deprecation"; type="application/json"'


@dataclass(frozen=True, slots=True)
class Deprecation:
    """The start and the end of a deprecation, and the replacement, as a sentence."""

    since: date
    sunset: date
    instead: str


DEPRECATED: dict[str, Deprecation] = {}
"""An endpoint as `GET /realms/{realm}`, one of its parameters as `GET /audit ?last`, a member of
a body as `StatementRequest.title`, by the name of its type."""


def of_parameters(endpoint: str, names: Iterable[str]) -> Mapping[str, Deprecation]:
    """The deprecated parameters of an endpoint, by name."""
    return _named(names, f"{endpoint} ?")


def of_members(body: type | None, names: Iterable[str]) -> Mapping[str, Deprecation]:
    """The deprecated members of a body of this type, by name."""
    return {} if body is None else _named(names, f"{body.__name__}.")


def _named(names: Iterable[str], before: str) -> Mapping[str, Deprecation]:
    if not DEPRECATED:
        return {}
    return {name: DEPRECATED[before + name] for name in names if before + name in DEPRECATED}


def headers(found: Iterable[Deprecation]) -> Mapping[str, str]:
    """The headers that announce them: the first day of deprecation, and the first sunset."""
    all = list(found)
    if not all:
        return {}
    since, sunset = (
        datetime.combine(min(days), time(), UTC)
        for days in ([one.since for one in all], [one.sunset for one in all])
    )
    return {
        "Deprecation": f"@{since.timestamp():.0f}",
        "Sunset": format_datetime(sunset, usegmt=True),
        "Link": _DESCRIPTION,
    }


def described(deprecation: Deprecation | None, text: str = "") -> dict[str, Any]:
    """The OpenAPI text of a deprecated operation, parameter or member, after its own text."""
    if deprecation is None:
        return {}
    return {
        "deprecated": True,
        "x-sunset": deprecation.sunset.isoformat(),
        "description": ". ".join(filter(None, (text, f"Deprecated: {deprecation.instead}"))),
    }
