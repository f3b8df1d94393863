"""Our own identity provider: keys, a server that serves them, tokens, and forgeries."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from joserfc import jwk, jws

ISSUER = "https://idp.example/realm"
AUDIENCE = "lakewarden"

BROKEN = {
    "/garbled": b"keys\r\n\r\n",
    "/cut": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n{",
}
"""Responses that are not HTTP, or end too early, by path."""


def encoded(value: object) -> str:
    """The base64url encoding of bytes, or of a value as JSON."""
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def claims(**changed: object) -> dict[str, object]:
    """The claims of a valid token; None removes a claim."""
    now = int(time.time())
    good: dict[str, object] = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "ana",
        "exp": now + 300,
        "nbf": now - 1,
        "groups": ["staff"],
    }
    good.update(changed)
    return {name: value for name, value in good.items() if value is not None}


@dataclass
class Issuer:
    """An RSA, an EC and an Edwards key; `seen` are the fetched paths."""

    rsa: Any = field(default_factory=lambda: jwk.RSAKey.generate_key(2048, {"kid": "rsa"}))
    ec: Any = field(default_factory=lambda: jwk.ECKey.generate_key("P-256", {"kid": "ec"}))
    ed: Any = field(default_factory=lambda: jwk.OKPKey.generate_key("Ed25519", {"kid": "ed"}))
    seen: list[str] = field(default_factory=list)
    address: str = ""

    def key_set(self) -> bytes:
        rsa = {**self.rsa.as_dict(private=False), "kid": "rsa", "use": "sig", "alg": "RS256"}
        ec = {**self.ec.as_dict(private=False), "kid": "ec", "use": "sig"}
        ed = {**self.ed.as_dict(private=False), "kid": "ed"}
        # Real key sets also contain keys for other purposes; they verify nothing here.
        secret = {"kty": "oct", "k": encoded(b"k" * 32), "kid": "oct"}
        sealing = {**rsa, "kid": "enc", "use": "enc"}
        return json.dumps({"keys": [rsa, ec, ed, secret, sealing]}).encode()

    def token(
        self,
        said: Mapping[str, object] | None = None,
        *,
        alg: str = "RS256",
        key: Any = None,
        header: Mapping[str, object] | None = None,
    ) -> str:
        """A token signed with our own key, unless another one is given."""
        own = {"RS256": self.rsa, "PS256": self.rsa, "ES256": self.ec, "Ed25519": self.ed}
        kid = {"ES256": "ec", "Ed25519": "ed"}.get(alg, "rsa")
        named = {"alg": alg, "kid": kid, "typ": "JWT", **(header or {})}
        named = {name: value for name, value in named.items() if value is not None}
        algorithm = jws.JWSRegistry(algorithms=[alg]).get_alg(alg)
        return hand_signed(named, lambda text: algorithm.sign(text, key or own[alg]), said)


def hand_signed(
    header: Mapping[str, object],
    sign: Callable[[bytes], bytes],
    said: Mapping[str, object] | None = None,
) -> str:
    """A token assembled by hand, like a forger's."""
    text = f"{encoded(header)}.{encoded(claims() if said is None else said)}"
    return f"{text}.{encoded(sign(text.encode()))}"


def forgeries(issuer: Issuer) -> dict[str, str]:
    """Tokens that must be rejected, by their defect."""
    now = int(time.time())
    stranger = jwk.RSAKey.generate_key(2048, {"kid": "rsa"})
    good = issuer.token()
    head, body, signature = good.split(".")
    public = issuer.rsa.as_pem(private=False)
    elsewhere = f"{issuer.address}/canary"
    return {
        "unsigned": f"{encoded({'alg': 'none', 'kid': 'rsa'})}.{body}.",
        "unsigned, oddly written": f"{encoded({'alg': 'nOnE', 'kid': 'rsa'})}.{body}.",
        "signed with the public key as a secret": hand_signed(
            {"alg": "HS256", "kid": "rsa"},
            lambda text: hmac.new(public, text, hashlib.sha256).digest(),
        ),
        "signed with the secret in the key set": hand_signed(
            {"alg": "HS256", "kid": "oct"},
            lambda text: hmac.new(b"k" * 32, text, hashlib.sha256).digest(),
        ),
        "signed by a stranger": issuer.token(key=stranger),
        "signed by a stranger under an unknown kid": issuer.token(
            key=stranger, header={"kid": "other"}
        ),
        "signed with a key for sealing": issuer.token(header={"kid": "enc"}),
        "of an algorithm that is not the key's": issuer.token(alg="PS256"),
        "with a kid that is a path": issuer.token(key=stranger, header={"kid": "../../dev/null"}),
        "with a kid that is a number": f"{encoded({'alg': 'RS256', 'kid': 1})}.{body}.{signature}",
        "without a kid": issuer.token(header={"kid": None}),
        "with its own key": issuer.token(
            key=stranger, header={"jwk": stranger.as_dict(private=False)}
        ),
        "with the address of its keys": issuer.token(key=stranger, header={"jku": elsewhere}),
        "with the address of its certificate": issuer.token(
            key=stranger, header={"x5u": elsewhere}
        ),
        "rightly signed, but with the address of keys": issuer.token(header={"jku": elsewhere}),
        "with an unknown critical header": issuer.token(header={"crit": ["exp"], "exp": now}),
        "with a changed body": f"{head}.{encoded(claims(sub='admin'))}.{signature}",
        "with a cut signature": good[:-8],
        "without a signature": f"{head}.{body}.",
        "of two parts": f"{head}.{body}",
        "of five parts": f"{good}.x.y",
        "of nothing but dots": "..",
        "of another issuer": issuer.token(claims(iss="https://other.example")),
        "of an issuer that begins as ours": issuer.token(claims(iss=f"{ISSUER}/x")),
        "without an issuer": issuer.token(claims(iss=None)),
        "for another audience": issuer.token(claims(aud="other")),
        "for several others": issuer.token(claims(aud=["other", "more"])),
        "without an audience": issuer.token(claims(aud=None)),
        "expired": issuer.token(claims(exp=now - 3_600)),
        "without an end": issuer.token(claims(exp=None)),
        "with an end that is text": issuer.token(claims(exp=str(now + 300))),
        "with an endless end": issuer.token(claims(exp=10**400)),
        "not yet valid": issuer.token(claims(nbf=now + 3_600)),
        "begins at no time": issuer.token(claims(nbf="now")),
        "begins never": issuer.token({**claims(), "nbf": None}),
        "begins at true": issuer.token(claims(nbf=True)),
        "of nobody": issuer.token(claims(sub=None)),
        "of somebody who is a list": issuer.token(claims(sub=["ana"])),
        "with groups that are one text": issuer.token(claims(groups="staff")),
        "of a name with a line break": issuer.token(claims(sub="ana\nadmin")),
        "of DataHub's own account": issuer.token(claims(sub="__datahub_system")),
        "of DataHub's own account by its URN": issuer.token(
            claims(sub="urn:li:corpuser:__datahub_system")
        ),
        "of another user, by a URN": issuer.token(claims(sub="urn:li:corpuser:ana")),
        "of DataHub's root user": issuer.token(claims(sub="datahub")),
    }


@contextmanager
def serving(issuer: Issuer) -> Iterator[Issuer]:
    """Serves the key set at `/keys` and `BROKEN`, and records every fetched path."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.seen.append(self.path)
            if self.path == "/elsewhere":
                self.send_response(302)
                self.send_header("Location", f"{issuer.address}/keys")
                self.end_headers()
                return
            if self.path in BROKEN:
                self.wfile.write(BROKEN[self.path])
                return
            body = issuer.key_set()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Logs nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    issuer.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
