"""How often one caller may ask."""

from __future__ import annotations

from pydantic import Field

from lakewarden.config.values import Section


class RateLimits(Section):
    """Requests in a second that one caller is answered, in each process; 0: no limit.

    `reads` are GET requests and decisions, `bulk` those whose bodies may be large, `logins` those
    that try a password or an invitation (by address, since the caller is not known), `writes` all
    others. After a pause so many may come at once as in `burst_seconds`.
    """

    reads: float = Field(default=50_000.0, ge=0.0)
    writes: float = Field(default=2_000.0, ge=0.0)
    bulk: float = Field(default=500.0, ge=0.0)
    logins: float = Field(default=20.0, ge=0.0)
    burst_seconds: float = Field(default=10.0, gt=0.0, le=3_600.0)
