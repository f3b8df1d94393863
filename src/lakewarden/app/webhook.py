"""Posts events to the webhook of the settings, a bounded number of times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from lakewarden.app.json_post import post_json
from lakewarden.kernel.errors import Unavailable

PAUSES_SECONDS: Final = (1.0, 2.0)
"""How long is waited before each further try."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address that takes events, with the bearer token of a file, which is read anew each time.

    `sleep` waits between tries, and says whether to give up.
    """

    url: str
    token_file: Path | None
    sleep: Callable[[float], bool]

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Posts an event. Raises `Unavailable` where it was not accepted at any try."""
        body = msgspec.json.encode(event)
        for pause in (*PAUSES_SECONDS, None):
            try:
                post_json(self.url, body, "event", self._headers())
            except Unavailable:
                if pause is None or self.sleep(pause):
                    raise
            else:
                return

    def _headers(self) -> Mapping[str, str]:
        if self.token_file is None:
            return {}
        try:
            token = self.token_file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise Unavailable(f"`{self.token_file}` cannot be read") from None
        if not (token.isascii() and token.isprintable() and token):
            raise Unavailable(f"`{self.token_file}` holds no token")
        return {"Authorization": f"Bearer {token}"}
