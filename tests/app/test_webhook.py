"""Events are posted to a webhook with limited retries, and no error reveals its secrets."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakewarden.app.json_post import post_json
from lakewarden.app.webhook import PAUSES_SECONDS, Webhook, signature
from lakewarden.config.effective import effective
from lakewarden.config.settings import load
from lakewarden.kernel.errors import BadInput, Unavailable
from tests.app.json_receiver import receiver
from tests.test_readme import DOCS

EVENT = {"event": "push.drift", "id": "lake/pg/1"}


class Sleeps:
    """Counts pauses instead of waiting; `stopped` at one simulates the end of the process."""

    def __init__(self, stopped: int = 99) -> None:
        self.pauses: list[float] = []
        self.stopped = stopped

    def __call__(self, seconds: float) -> bool:
        self.pauses.append(seconds)
        return len(self.pauses) >= self.stopped


def test_an_event_goes_with_the_token_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    with receiver() as (url, taken):
        webhook = Webhook(url, file, Sleeps())
        for token in ("first", "second"):
            file.write_text(f"{token}\n")
            webhook(EVENT)
    assert [one.body for one in taken] == [EVENT, EVENT]
    assert [one.headers["authorization"] for one in taken] == ["Bearer first", "Bearer second"]
    assert {one.headers["content-type"] for one in taken} == {"application/json"}


def test_a_webhook_that_is_busy_is_asked_again() -> None:
    sleeps = Sleeps()
    with receiver(503, 500, 200) as (url, taken):
        Webhook(url, None, sleeps)(EVENT)
    assert len(taken) == 3
    assert sleeps.pauses == [*PAUSES_SECONDS]
    assert "authorization" not in taken[0].headers


def is_genuine() -> Callable[..., bool]:
    """The page's function with which a receiver verifies an event."""
    (text,) = re.findall(r"```python\n(.*?)```", (DOCS / "push-down.md").read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(text, names)  # noqa: S102 — the page's own example
    found: Callable[..., bool] = names["is_genuine"]
    return found


def test_an_event_is_signed_as_the_page_says() -> None:
    now = [time.time() - 1.0, time.time()]
    with receiver(503, 200) as (url, taken):
        Webhook(url, None, Sleeps(), clock=iter(now).__next__)(EVENT, "s3cret")
        Webhook(url, None, Sleeps())(EVENT)
    first, second, unsigned = taken
    assert "lakewarden-signature" not in unsigned.headers
    assert first.headers["lakewarden-signature"] != second.headers["lakewarden-signature"]
    genuine, header = is_genuine(), second.headers["lakewarden-signature"]
    assert "s3cret" not in header
    assert genuine(first.headers["lakewarden-signature"], first.text, "s3cret")
    assert genuine(header, second.text, "s3cret")
    moment, _, digest = header.partition(",")
    later = f"t={int(now[1]) + 1},{digest}"
    for signed, body, secret in (
        (header, second.text, "other"),
        (header, second.text + b" ", "s3cret"),
        (later, second.text, "s3cret"),
        (moment, second.text, "s3cret"),
        ("", second.text, "s3cret"),
        (signature("s3cret", second.text, int(now[1]) - 400), second.text, "s3cret"),
    ):
        assert not genuine(signed, body, secret), signed


@pytest.mark.parametrize("stopped", [1, 99])
def test_tries_end(stopped: int) -> None:
    with receiver(503) as (url, taken):
        with pytest.raises(Unavailable, match="did not accept the event: HTTP 503"):
            Webhook(url, None, Sleeps(stopped))(EVENT)
        assert len(taken) == min(stopped, len(PAUSES_SECONDS) + 1)


def test_no_error_shows_a_secret(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("s3cret")
    with receiver(302) as (url, taken):
        for address in (f"{url}/s3cret", url.replace("//", "//ops:s3cret@")):
            with pytest.raises(Unavailable) as refused:
                Webhook(address, file, Sleeps())(EVENT)
            assert "s3cret" not in str(refused.value)
            assert "127.0.0.1" in str(refused.value)
    with pytest.raises(Unavailable, match="`http:") as refused:
        post_json(f"{url}/s3cret", b"{}", "event")
    assert "s3cret" not in str(refused.value)
    assert len(taken) == 3  # an address with a password is rejected


@pytest.mark.parametrize("content", [b"", b" \n", b"two\nlines", b"\xff", None])
def test_a_file_without_a_token_is_no_token(content: bytes | None, tmp_path: Path) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    with receiver() as (url, taken), pytest.raises(Unavailable, match="token"):
        Webhook(url, file, Sleeps())(EVENT)
    assert not taken


def test_the_address_is_encrypted_or_this_machine() -> None:
    def given(url: str) -> str:
        settings = load(options={"push": {"webhook_url": url}}, environment={})
        assert settings.push.webhook_url is not None
        assert url not in str(effective(settings))
        return settings.push.webhook_url.get_secret_value()

    assert given("https://hooks.test/x") == "https://hooks.test/x"
    assert given("http://127.0.0.1:9/x") == "http://127.0.0.1:9/x"
    for url in ("http://hooks.test/x", "ftp://hooks.test/x", "hooks.test"):
        with pytest.raises(BadInput, match=r"push\.webhook_url"):
            given(url)
