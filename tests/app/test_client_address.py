import pytest

from lakewarden.app.client_address import client_address, networks

PROXIES = networks(["10.0.0.0/8", "fd00::/8"])


@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        ("192.0.2.1", None, "192.0.2.1"),
        ("192.0.2.1", "1.1.1.1", "192.0.2.1"),
        ("10.0.0.1", None, "10.0.0.1"),
        ("10.0.0.1", "1.1.1.1", "1.1.1.1"),
        ("10.0.0.1", "6.6.6.6, 1.1.1.1", "1.1.1.1"),
        ("10.0.0.1", "6.6.6.6, 1.1.1.1, 10.0.0.2", "1.1.1.1"),
        ("fd00::1", "2001:db8::1", "2001:db8::1"),
        ("10.0.0.1", "nonsense", "10.0.0.1"),
        ("10.0.0.1", "1.1.1.1, \x1b[31m", "10.0.0.1"),
        ("", "1.1.1.1", ""),
        ("10.0.0.1", "::ffff:1.1.1.1, ::FFFF:10.0.0.2", "1.1.1.1"),
        ("10.0.0.1", "6.6.6.6, 1.1.1.1:443, 10.0.0.2:80", "1.1.1.1"),
        ("10.0.0.1", "[2001:db8::1]:443, [fd00::2]", "2001:db8::1"),
        *(("10.0.0.1", text, "10.0.0.1") for text in ("1.1.1.1:x", "[::1", "[::1]x", "[x]:1", ":")),
    ],
)
def test_only_configured_proxies_are_believed(
    peer: str, forwarded: str | None, expected: str
) -> None:
    assert client_address(peer, forwarded, PROXIES) == expected


def test_without_proxies_the_header_says_nothing() -> None:
    assert client_address("10.0.0.1", "1.1.1.1", ()) == "10.0.0.1"
