"""Our own API under `/api/v1`, and its description at `/openapi.json`."""

from __future__ import annotations

from lakewarden.http.admin.dialect import Admin

__all__ = ["Admin"]
