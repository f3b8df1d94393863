"""TLS with real handshakes: the server's certificate, and clients with their own certificates."""

from __future__ import annotations

import datetime
import http.client
import ipaddress
import json
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from lakewarden.app.tls import context, credentials, names_in
from lakewarden.authn.header import Bearer, Certified, Nothing, Unreadable
from lakewarden.config.settings import load
from lakewarden.kernel.errors import BadInput
from tests.app.serving import Served, server

ROOT = "8fQ2-vK7mXw0Rz5LcT1pNb9YhJ4sGd6A"
NOW = datetime.datetime.now(datetime.UTC)
PRINCIPALS = {"CN=trino": "svc-trino", "URI:spiffe://lake/gate": "svc-gate", "CN=both": "one"}
EVALUATION = {
    "subject": {"type": "user", "id": "svc-trino"},
    "action": {"name": "metalake.create"},
    "resource": {"type": "platform", "id": "platform", "properties": {"realm": "gravitino"}},
}


@dataclass
class Authority:
    """Signs certificates; keys and certificates are PEM files of `folder`."""

    folder: Path
    name: str

    def __post_init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.certificate = self._signed(self.name, self.key, (), is_authority=True)
        self.path.write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))

    @property
    def path(self) -> Path:
        return self.folder / f"{self.name}.pem"

    def issue(self, name: str, *others: x509.GeneralName, password: bytes = b"") -> Path:
        """A file with a key and its certificate."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._signed(name, key, others)
        sealed = (
            serialization.BestAvailableEncryption(password)
            if password
            else serialization.NoEncryption()
        )
        file = self.folder / f"{self.name}-{name}.pem"
        file.write_bytes(
            key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, sealed)
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        return file

    def _signed(
        self,
        name: str,
        key: ec.EllipticCurvePrivateKey,
        others: tuple[x509.GeneralName, ...],
        *,
        is_authority: bool = False,
    ) -> x509.Certificate:
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, self.name)])
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(NOW - datetime.timedelta(days=1))
            .not_valid_after(NOW + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
        )
        if others:
            builder = builder.add_extension(x509.SubjectAlternativeName(others), critical=False)
        return builder.sign(self.key, hashes.SHA256())


@dataclass
class Secured:
    """A server that serves HTTPS, and the authorities of certificates."""

    served: Served
    ours: Authority
    foreign: Authority

    def ask(
        self,
        method: str,
        path: str,
        *,
        certificate: Path | None = None,
        token: str = "",
        body: object = None,
        times: int = 1,
    ) -> tuple[int, dict[str, object]]:
        """The last of some requests on one connection."""
        client = ssl.create_default_context(cafile=str(self.ours.path))
        if certificate is not None:
            client.load_cert_chain(certificate)
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.served.port, timeout=20, context=client
        )
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        try:
            answers = []
            for _ in range(times):
                connection.request(method, path, json.dumps(body) if body else None, headers)
                response = connection.getresponse()
                answers.append((response.status, json.loads(response.read())))
            return answers[-1]
        finally:
            connection.close()

    def whoami(self, certificate: Path | None = None, token: str = "") -> object:
        status, told = self.ask("GET", "/api/v1/whoami", certificate=certificate, token=token)
        return told["user"] if status == 200 else status


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("tls")
    ours, foreign = Authority(folder, "ours"), Authority(folder, "foreign")
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = ours.issue("server", address)
    arguments = ("--auth", "token", "--tls-cert", str(certificate), "--tls-client-ca")
    environment = {
        "LAKEWARDEN_ROOT_TOKEN": ROOT,
        "LAKEWARDEN_TLS_PRINCIPALS": json.dumps({**PRINCIPALS, "DNS:both.test": "two"}),
    }
    with server(
        folder / "run", *arguments, str(ours.path), environment=environment, ready=False
    ) as served:
        assert served.address.startswith("https://")
        made = Secured(served, ours, foreign)
        end = time.monotonic() + 90
        while time.monotonic() < end:
            with suppress(OSError):
                if made.ask("GET", "/readyz")[0] == 200:
                    break
            time.sleep(0.1)
        yield made


def test_a_token_comes_encrypted(secured: Secured) -> None:
    assert secured.whoami(token=ROOT) == "admin"
    assert secured.whoami() == 401
    client = ssl.create_default_context(cafile=str(secured.ours.path))
    with (
        socket.create_connection(("127.0.0.1", secured.served.port), timeout=20) as raw,
        client.wrap_socket(raw, server_hostname="127.0.0.1") as sock,
    ):
        assert sock.version() in ("TLSv1.2", "TLSv1.3")
    assert not secured.served.raw(b"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n").startswith(
        b"HTTP/1.1 2"
    )


def test_a_certificate_is_the_user_that_the_settings_have_for_it(secured: Secured) -> None:
    trino = secured.ours.issue("trino")
    gate = secured.ours.issue("x", x509.UniformResourceIdentifier("spiffe://lake/gate"))
    assert secured.whoami(trino) == "svc-trino"
    assert secured.whoami(gate) == "svc-gate"
    assert secured.ask("GET", "/metrics")[0] == 401
    assert secured.ask("GET", "/metrics", certificate=trino)[0] == 403
    # Repeated on one connection, where it is answered at once.
    status, told = secured.ask(
        "POST", "/r/gravitino/access/v1/evaluation", certificate=trino, body=EVALUATION, times=4
    )
    assert (status, told["decision"]) == (200, False)


def test_a_certificate_is_good_where_engines_ask(secured: Secured) -> None:
    trino, allow = secured.ours.issue("trino"), "/r/gravitino/opa/v1/allow"
    context = {"identity": {"user": "ana"}}
    question = {"input": {"context": context, "action": {"operation": "ExecuteQuery"}}}
    assert secured.ask("POST", allow, body=question)[0] == 401
    assert secured.ask("POST", allow, certificate=trino, body=question)[0] == 403
    grant = {"privileges": ["ASK"], "to": ["user:svc-trino"], "on": "realm:gravitino"}
    path = "/api/v1/realms/_server/statements/ask"
    assert secured.ask("PUT", path, token=ROOT, body=grant)[0] == 200
    status, told = secured.ask("POST", allow, certificate=trino, body=question)
    assert status == 404
    assert "does not answer Trino" in str(told)


def test_what_is_said_in_the_request_counts_before_the_certificate(secured: Secured) -> None:
    trino = secured.ours.issue("trino")
    assert secured.whoami(trino, token=ROOT) == "admin"
    assert secured.whoami(trino, token="lw_wrong") == 401


def test_a_certificate_that_names_nobody_or_several_is_nobody(secured: Secured) -> None:
    for names in (("stranger",), ("both", x509.DNSName("both.test")), ("TRINO",)):
        assert secured.whoami(secured.ours.issue(*names)) == 401
    assert secured.whoami(secured.ours.issue("stranger"), token=ROOT) == "admin"


def test_a_certificate_of_another_authority_ends_the_connection(secured: Secured) -> None:
    with pytest.raises((ssl.SSLError, ConnectionError)):
        secured.whoami(secured.foreign.issue("trino"))
    assert secured.whoami(token=ROOT) == "admin"


def test_names_are_read_as_they_are() -> None:
    said = {
        "subject": ((("commonName", "a"),),),
        "subjectAltName": (("DNS", "b"), ("IP Address", "1")),
    }
    assert names_in(said) == ("CN=a", "DNS:b")
    nothing = Nothing()
    assert credentials(nothing, ("CN=trino",), PRINCIPALS) == Certified("svc-trino")
    assert credentials(nothing, ("CN=Trino", "DNS:trino"), PRINCIPALS) == nothing
    assert credentials(nothing, (), PRINCIPALS) == nothing
    assert isinstance(credentials(nothing, ("CN=trino", "CN=both"), PRINCIPALS), Unreadable)
    assert credentials(Bearer("x"), ("CN=trino",), PRINCIPALS) == Bearer("x")


def test_files_that_cannot_be_used_are_an_error_at_the_start(tmp_path: Path) -> None:
    one, other = Authority(tmp_path, "one"), Authority(tmp_path, "other")
    good, encrypted = one.issue("a"), one.issue("b", password=b"sealed")
    empty = tmp_path / "empty.pem"
    empty.write_text("")

    def of(**given: object) -> None:
        context(load(None, given, {}))

    of(tls_cert=good, tls_client_ca=one.path)
    for bad in (tmp_path / "gone.pem", empty, one.path, encrypted):
        with pytest.raises(BadInput, match="tls_cert"):
            of(tls_cert=bad)
    with pytest.raises(BadInput, match="tls_key"):
        of(tls_cert=good, tls_key=other.issue("c"))
    with pytest.raises(BadInput, match="tls_client_ca"):
        of(tls_cert=good, tls_client_ca=empty)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"tls_key": "k"}, "tls_cert"),
        ({"tls_client_ca": "k"}, "tls_cert"),
        ({"tls_cert": "c", "tls_principals": {"CN=a": "b"}}, "tls_client_ca"),
        ({"tls_cert": "c", "tls_client_ca": "c", "tls_principals": {"a": "b"}}, "tls_principals"),
        ({"tls_cert": "c", "tls_client_ca": "c", "tls_principals": {"CN=a": ""}}, "tls_principals"),
    ],
)
def test_settings_that_say_half_are_refused(given: dict[str, object], expected: str) -> None:
    with pytest.raises(BadInput, match=expected):
        load(None, given, {})


def test_tokens_that_cross_the_network_in_the_clear_are_told() -> None:
    def told(**given: object) -> bool:
        return any("unencrypted" in said for said in load(None, given, {}).weakened)

    away = {"auth": "token", "host": "192.0.2.1"}
    assert told(**away)
    assert not told(**away, tls_cert="c")
    assert not told(**away, public_url="https://lake.test")
    assert not told(auth="token")
