"""The address of a MariaDB: its options, and what an uncertified server receives."""

from __future__ import annotations

import ipaddress
import socket
import struct
from collections.abc import Iterator
from threading import Thread

import pymysql
import pytest
import sqlalchemy as sa
from cryptography import x509

from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.pushdown.address import Address
from lakewarden.pushdown.mariadb import connected
from lakewarden.pushdown.mariadb_address import connection_options
from tests.app.test_tls import Authority
from tests.servers import NoServer, mariadb

SECRET = "s3cret-of-the-account"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("?ssl=true", "with no options except `sslmode` and `sslrootcert`"),
        ("?sslmode", "with no options except"),
        ("?sslmode=require&sslmode=disable", "with no options except"),
        (
            "?sslmode=VERIFY_IDENTITY",
            "`sslmode`: expected disable, require, verify-ca, verify-",
        ),
        ("?sslrootcert=/ca.pem", "`sslrootcert` needs `sslmode=verify-full`"),
        ("?sslmode=require&sslrootcert=/ca.pem", "`sslrootcert` needs"),
        ("?sslmode=verify-full&sslrootcert=/no/such/file", "expected a certificate file"),
    ],
)
def test_options_that_are_none(options: str, said: str) -> None:
    with pytest.raises(BadInput, match="url: ") as refused:
        connection_options(f"mariadb://keeper:{SECRET}@db:3306{options}")
    assert said in str(refused.value)
    assert SECRET not in str(refused.value)


@pytest.fixture(name="authorities", scope="module")
def _authorities(tmp_path_factory: pytest.TempPathFactory) -> tuple[Authority, Authority]:
    folder = tmp_path_factory.mktemp("authorities")
    return Authority(folder, "ours"), Authority(folder, "another")


@pytest.fixture(name="secured", scope="module")
def _secured(authorities: tuple[Authority, Authority]) -> Iterator[sa.URL]:
    """A MariaDB with a certificate for its address, but not for the name `localhost`."""
    ours, _ = authorities
    file = ours.issue("db", x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
    try:
        with mariadb(f"--ssl-cert={file}", f"--ssl-key={file}") as url:
            yield sa.make_url(url).set(drivername="mariadb", database=None)
    except NoServer as error:
        pytest.skip(str(error))


@pytest.mark.mariadb
@pytest.mark.parametrize(
    ("mode", "host", "authority", "answer"),
    [
        ("verify-full", "127.0.0.1", 0, "TLS"),
        ("verify-full", "localhost", 0, "certificate verify failed: hostname mismatch"),
        ("verify-ca", "localhost", 0, "TLS"),
        ("verify-full", "127.0.0.1", 1, "certificate verify failed"),
        ("verify-ca", "127.0.0.1", 1, "certificate verify failed"),
        ("verify-full", "127.0.0.1", None, "certificate verify failed"),
        ("require", "127.0.0.1", None, "TLS"),
        ("disable", "127.0.0.1", None, "plain"),
    ],
)
def test_the_certificate_is_looked_at_as_the_address_says(
    secured: sa.URL,
    authorities: tuple[Authority, Authority],
    mode: str,
    host: str,
    authority: int | None,
    answer: str,
) -> None:
    query = {"sslmode": mode}
    if authority is not None:
        query["sslrootcert"] = str(authorities[authority].path)
    url = secured.set(host=host, query=query).render_as_string(hide_password=False)
    assert answer in _tried(url)


def _tried(url: str) -> str:
    """Whether a connection has TLS, or the reason why there is none."""
    try:
        with connected(Address(url, "pg")), pymysql.connect(**connection_options(url)) as one:
            with one.cursor() as cursor:
                cursor.execute("SHOW STATUS LIKE 'Ssl_cipher'")
                ((_, cipher),) = cursor.fetchall()
            return "TLS" if cipher else "plain"
    except Unavailable as error:
        return str(error)


@pytest.mark.mariadb
def test_a_server_without_tls_is_not_taken_where_it_is_required(mariadb_url: str) -> None:
    url = sa.make_url(mariadb_url).set(drivername="mariadb", query={"sslmode": "require"})
    address = Address(url.render_as_string(hide_password=False), "pg")
    with pytest.raises(Unavailable, match="ssl is required"), connected(address):
        pass


@pytest.mark.parametrize("plugin", [b"mysql_clear_password", b"dialog"])
def test_a_password_is_sent_to_no_server_that_asks_for_it_in_clear(plugin: bytes) -> None:
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = Thread(target=_ask_in_clear, args=(listening, plugin, heard))
        thread.start()
        port = listening.getsockname()[1]
        address = Address(f"mariadb://keeper:{SECRET}@127.0.0.1:{port}", "pg")
        with pytest.raises(Unavailable, match="in clear text"), connected(address):
            pass
        thread.join()
    assert b"keeper" in heard[0]
    assert all(SECRET.encode() not in packet for packet in heard)


def _ask_in_clear(listening: socket.socket, plugin: bytes, heard: list[bytes]) -> None:
    """Greets like a server, and answers the login with a request for the password in clear text."""
    with listening.accept()[0] as client:
        # Protocol 10; flags: 4.1 protocol, secure connection, plugins; the salt has two parts.
        greeting = b"\x0a8.0.0\x00" + struct.pack("<I", 1) + b"saltsalt\x00"
        greeting += struct.pack("<HBHHB", 0x8200, 45, 2, 0x0008, 21) + bytes(10)
        greeting += b"twelve-bytes\x00mysql_native_password\x00"
        client.sendall(struct.pack("<I", len(greeting)) + greeting)
        heard.append(client.recv(4096))
        question = b"\xfe" + plugin + b"\x00Password: "
        client.sendall(struct.pack("<I", len(question) | 2 << 24) + question)
        heard.append(client.recv(4096))
