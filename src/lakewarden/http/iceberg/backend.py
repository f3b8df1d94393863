"""The catalog behind the guard, as an HTTP client accesses it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from urllib.parse import quote

import httpx

from lakewarden.config.engines import IcebergRealm
from lakewarden.http.exchange import JSON
from lakewarden.http.iceberg.errors import IcebergError
from lakewarden.service.steps import step


@dataclass(frozen=True, slots=True)
class BackendAnswer:
    """A response of the catalog; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Backend:
    """One catalog. It gets requests that the guard built anew, with the guard's own credential."""

    def __init__(self, settings: IcebergRealm) -> None:
        self._uri = settings.uri.rstrip("/")
        self._seconds = settings.timeout_seconds
        self._limit_bytes = settings.response_bytes
        # A redirect, or a proxy from the environment, could lead anywhere; a cookie set for one
        # user's request would be sent with those of others.
        self._client = httpx.Client(
            timeout=settings.timeout_seconds,
            follow_redirects=False,
            trust_env=False,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        )

    def send(
        self,
        method: str,
        segments: Sequence[str],
        query: Mapping[str, str],
        headers: Mapping[str, str],
        body: bytes | None,
        token_file: Path | None,
    ) -> BackendAnswer:
        """The response to one request; raises `IcebergError` if there is none in time."""
        path = "/".join(quote(segment, safe="") for segment in segments)
        sent = {**headers, **_authorization(token_file)}
        if body is not None:
            sent["content-type"] = JSON
        end = time.monotonic() + self._seconds
        try:
            with (
                step("call the catalog", calls="iceberg"),
                self._client.stream(
                    method, f"{self._uri}/{path}", params=query, headers=sent, content=body
                ) as response,
            ):
                read = self._read(response, end)
        except httpx.TimeoutException:
            raise IcebergError(504, "the catalog did not answer in time") from None
        except (httpx.HTTPError, httpx.InvalidURL):
            raise IcebergError(502, "the catalog cannot be reached") from None
        return BackendAnswer(response.status_code, dict(response.headers), read)

    def _read(self, response: httpx.Response, end: float) -> bytes:
        read = bytearray()
        for chunk in response.iter_bytes():
            read += chunk
            if len(read) > self._limit_bytes:
                raise IcebergError(502, f"the catalog's answer exceeds {self._limit_bytes} bytes")
            if time.monotonic() > end:
                raise IcebergError(504, "the catalog did not answer in time")
        return bytes(read)


def _authorization(token_file: Path | None) -> Mapping[str, str]:
    if token_file is None:
        return {}
    try:
        token = token_file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise IcebergError(503, "the guard's token for the catalog cannot be read") from None
    return {"authorization": f"Bearer {token}"}
