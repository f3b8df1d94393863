"""Posts signed events to the webhook of the settings, with a limited number of retries."""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from lakewarden.app.json_post import post_json
from lakewarden.kernel.errors import Unavailable

PAUSES_SECONDS: Final = (1.0, 2.0)
"""The pauses before each retry."""

SIGNATURE: Final = "Lakewarden-Signature"
"""The header of a signed event."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """A URL for events; its bearer token is read from a file for each event.

    `sleep` waits between retries, and returns whether to give up.
    """

    url: str
    token_file: Path | None
    sleep: Callable[[float], bool]
    clock: Callable[[], float] = time.time

    def __call__(self, event: Mapping[str, Any], secret: str = "") -> None:
        """Posts an event, signed with the secret if there is one.

        Raises `Unavailable` if no try succeeded.
        """
        body = msgspec.json.encode(event)
        for pause in (*PAUSES_SECONDS, None):
            try:
                post_json(self.url, body, "event", self._headers(body, secret))
            except Unavailable:
                if pause is None or self.sleep(pause):
                    raise
            else:
                return

    def _headers(self, body: bytes, secret: str) -> Mapping[str, str]:
        headers = self._authorization()
        if secret:
            headers[SIGNATURE] = signature(secret, body, int(self.clock()))
        return headers

    def _authorization(self) -> dict[str, str]:
        if self.token_file is None:
            return {}
        try:
            token = self.token_file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise Unavailable(f"`{self.token_file}` cannot be read") from None
        if not (token.isascii() and token.isprintable() and token):
            raise Unavailable(f"`{self.token_file}` holds no token")
        return {"Authorization": f"Bearer {token}"}


def signature(secret: str, body: bytes, seconds: int) -> str:
    """The signature header of a body that is sent at `seconds` since the epoch.

    `v1` is the HMAC-SHA256 of the time in digits, a dot and the body: a third party that sees an
    event cannot replay it later, or forge another one.

    >>> signature("secret", b"{}", 7)[:20]
    't=7,v1=76aad9429f417'
    """
    digest = hmac.new(secret.encode(), b"%d.%b" % (seconds, body), "sha256").hexdigest()
    return f"t={seconds},v1={digest}"
