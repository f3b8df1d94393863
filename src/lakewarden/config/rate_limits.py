"""Rate limits of one caller."""

from __future__ import annotations

from pydantic import Field

from lakewarden.config.values import Section


class RateLimits(Section):
    """The most requests per second of one caller, in each process; 0: no limit."""

    reads: float = Field(
        default=50_000.0,
        ge=0.0,
        description="GET requests and decisions of one caller per second and process; 0: no limit.",
    )
    writes: float = Field(
        default=2_000.0, ge=0.0, description="Other requests of one caller per second and process."
    )
    bulk: float = Field(
        default=500.0,
        ge=0.0,
        description="Requests with large bodies of one caller per second and process.",
    )
    logins: float = Field(
        default=20.0,
        ge=0.0,
        description="Passwords and invitations that one address tries per second and process.",
    )
    burst_seconds: float = Field(
        default=10.0,
        gt=0.0,
        le=3_600.0,
        description="How many seconds' worth of requests may come at once.",
    )
