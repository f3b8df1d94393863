"""The databases that may be queried."""

from __future__ import annotations

import socket

import pytest

from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.service.live import address_of, is_listed, source_of

SECRET = "hunter2"


@pytest.mark.parametrize(
    "url",
    [
        "mysql://db/shop",
        "jdbc:sqlite:/etc/passwd",
        "jdbc:h2:mem:x;INIT=RUNSCRIPT",
        f"jdbc:mysql://ana:{SECRET}@db/shop",
        "jdbc:mysql://one,two/shop",
        "jdbc:mysql://db:port/shop",
        "jdbc:mysql:///shop",
        "jdbc:mysql:loadbalance://a,b/shop",
        "jdbc:mysql://[::1]:3306/shop",
        "jdbc:mysql://%31%32%37.0.0.1/shop",
        "",
    ],
)
def test_other_addresses_are_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(BadInput) as caught:
        source_of(url)
    assert SECRET not in str(caught.value)


def test_options_are_ignored() -> None:
    plain = source_of("jdbc:mysql://db/shop")
    assert source_of("jdbc:mysql://db/shop?allowLoadLocalInfile=true&autoDeserialize=true") == plain


def test_a_password_does_not_show_in_a_source() -> None:
    assert SECRET not in repr(source_of("jdbc:mysql://db", "ana", SECRET))


@pytest.mark.parametrize(
    ("hosts", "listed"),
    [
        (["db"], True),
        (["DB"], True),
        (["db:3306"], True),
        (["db:3307"], False),
        (["db.example"], False),
        ([""], False),
        ([], False),
    ],
)
def test_a_host_is_listed_by_name_or_with_its_port(hosts: list[str], *, listed: bool) -> None:
    assert is_listed(source_of("jdbc:mysql://db"), hosts) is listed


def named(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Makes every name resolve to these addresses."""

    def found(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        return [(0, 0, 0, "", (address, port)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", found)


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "::1", "169.254.169.254", "fe80::1", "::", "fd00:ec2::254", "224.0.0.1"],
)
def test_a_listed_name_does_not_lead_to_this_machine_or_a_metadata_service(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    named(monkeypatch, "10.0.0.7", address)
    with pytest.raises(Unavailable):
        address_of(source_of("jdbc:mysql://db"), ["db"])
    assert address_of(source_of("jdbc:mysql://db"), ["db", address]) == "10.0.0.7"


def test_an_address_that_is_itself_listed_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    named(monkeypatch, "127.0.0.1")
    for host in ("127.0.0.1", "localhost"):
        assert address_of(source_of(f"jdbc:mysql://{host}"), [host]) == "127.0.0.1"


def test_a_host_that_is_not_listed_is_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def looked(*_: object, **__: object) -> None:
        raise AssertionError("looked up")

    monkeypatch.setattr(socket, "getaddrinfo", looked)
    with pytest.raises(Unavailable):
        address_of(source_of("jdbc:mysql://db"), ["other"])


def test_a_name_without_an_address_is_not_available(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror("no such name")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(Unavailable):
        address_of(source_of("jdbc:mysql://db"), ["db"])
