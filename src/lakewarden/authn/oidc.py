"""Tokens of an identity provider: JWTs, verified with a fixed set of keys.

The keys come from the configuration; they are read at the start and then periodically. A token
cannot influence its verification: the key is found by `kid` among ours, the algorithm is that of
the key, `jku`, `x5u`, `jwk` and `x5c` are refused unread, a non-empty `crit` is refused, and `iss`,
`aud` and `exp` are required; `nbf` is checked if present, which few providers send.
Source: security reference, R-52; RFC 7519, 4.1.5.
"""

from __future__ import annotations

import json
import threading
import time
import urllib.request
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from math import isfinite
from pathlib import Path
from typing import Any, Final

from joserfc import jwk, jws
from joserfc.errors import JoseError

from lakewarden.kernel.errors import BadInput, Unavailable

ALGORITHMS: Final = {
    "RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    "P-256": ("ES256",),
    "P-384": ("ES384",),
    "P-521": ("ES512",),
    "Ed25519": ("EdDSA", "Ed25519"),
}
"""The algorithms of a key by its type or curve. Shared secrets are not accepted."""

# Identity providers still use the name that RFC 9864 replaced.
warnings.filterwarnings("ignore", message="EdDSA is deprecated")

_FORBIDDEN = ("jku", "x5u", "jwk", "x5c", "crit", "b64")
_MALFORMED = (JoseError, ArithmeticError, LookupError, RecursionError, TypeError, ValueError)
_MAX_KEYS_BYTES = 1024 * 1024
_MIN_RSA_BITS = 2_048

Fetch = Callable[[], bytes]
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Identity:
    """The user and the groups that a token asserts.

    `account` is `ISSUER#SUBJECT`, which stays the same when the name changes at the provider.
    """

    user: str
    groups: tuple[str, ...]
    account: str = ""


@dataclass(frozen=True, slots=True)
class InvalidToken:
    """Why a token is rejected, for the log; the caller gets less detail."""

    why: str


@dataclass(frozen=True, slots=True)
class Expected:
    """The required claims of every token, and the claims of user and groups."""

    issuer: str
    audience: str
    user_claim: str = "sub"
    group_claim: str = "groups"
    leeway_seconds: float = 30.0


class KeySet:
    """The keys of the identity provider, by `kid`."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._keys: Mapping[str | None, tuple[jwk.Key, tuple[str, ...]]] = {}

    def refresh(self) -> None:
        """Reads the keys; on failure the old ones stay. Raises `BadInput` and `Unavailable`."""
        self._keys = _keys(self._fetch())

    def refresh_periodically(
        self, seconds: float, failed: Callable[[Exception], None]
    ) -> threading.Event:
        """Reads the keys periodically, until the event is set."""
        stop = threading.Event()

        def run() -> None:
            while not stop.wait(seconds):
                try:
                    self.refresh()
                except Exception as error:  # noqa: BLE001 — the next look may succeed
                    failed(error)

        threading.Thread(target=run, name="jwks", daemon=True).start()
        return stop

    def find(self, kid: str | None) -> tuple[jwk.Key, tuple[str, ...]] | None:
        """The key and its algorithms; without a `kid`, the only key if there is exactly one."""
        if kid is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return None if kid is None else self._keys.get(kid)


def from_file(path: Path) -> Fetch:
    """Reads the keys from a file."""

    def fetch() -> bytes:
        try:
            return path.read_bytes()
        except OSError as error:
            raise Unavailable(f"the keys in `{path}` cannot be read: {error.strerror}") from None

    return fetch


def from_url(url: str, timeout_seconds: float = 5.0) -> Fetch:
    """Reads the keys from the configured URL; does not follow redirects."""
    opener = direct_opener()

    def fetch() -> bytes:
        try:
            with opener.open(url, timeout=timeout_seconds) as response:
                read: bytes = response.read(_MAX_KEYS_BYTES + 1)
        except (OSError, HTTPException) as error:
            why = str(error) or type(error).__name__
            raise Unavailable(f"the keys at `{url}` cannot be read: {why}") from None
        if len(read) > _MAX_KEYS_BYTES:
            raise Unavailable(f"the keys at `{url}` are more than {_MAX_KEYS_BYTES} bytes")
        return read

    return fetch


def direct_opener() -> urllib.request.OpenerDirector:
    """Opens exactly the given address: follows no redirect, and uses no proxy."""
    return urllib.request.build_opener(_NoRedirection, urllib.request.ProxyHandler({}))


class _NoRedirection(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object, **__: object) -> None:
        return None


def _keys(raw: bytes) -> Mapping[str | None, tuple[jwk.Key, tuple[str, ...]]]:
    try:
        listed = json.loads(raw)["keys"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadInput("expected a JSON object with `keys`", where="key set") from None
    keys: dict[str | None, tuple[jwk.Key, tuple[str, ...]]] = {}
    for item in listed if isinstance(listed, list) else ():
        entry = _key(item)
        if entry is None:
            continue
        kid = item.get("kid")
        if kid is not None and not isinstance(kid, str):
            raise BadInput("a `kid` is not a string", where="key set")
        if kid in keys:
            raise BadInput(f"two keys have the `kid` `{kid}`", where="key set")
        keys[kid] = entry
    if not keys:
        raise BadInput("it contains no key that can verify a signature", where="key set")
    if len(keys) > 1 and None in keys:
        raise BadInput("with several keys, each must have a `kid`", where="key set")
    return keys


def _key(item: object) -> tuple[jwk.Key, tuple[str, ...]] | None:
    """A signature key with its algorithms; None for any other key."""
    if not isinstance(item, dict) or item.get("use", "sig") != "sig":
        return None
    kind = item.get("crv") if item.get("kty") in ("EC", "OKP") else item.get("kty")
    algorithms = ALGORITHMS.get(kind, ()) if isinstance(kind, str) else ()
    if "alg" in item:
        algorithms = tuple(algorithm for algorithm in algorithms if algorithm == item["alg"])
    if not algorithms:
        return None
    public = {name: value for name, value in item.items() if name in _PUBLIC}
    try:
        key = jwk.import_key(public)
    except _MALFORMED as error:
        raise BadInput(f"a key cannot be used: {type(error).__name__}", where="key set") from None
    if kind == "RSA" and isinstance(key, jwk.RSAKey) and key.public_key.key_size < _MIN_RSA_BITS:
        raise BadInput(f"an RSA key has fewer than {_MIN_RSA_BITS} bits", where="key set")
    return key, algorithms


_PUBLIC = frozenset({"kty", "crv", "n", "e", "x", "y"})


class Verifier:
    """Verifies tokens, without I/O."""

    def __init__(self, keys: KeySet, expected: Expected, clock: Clock = time.time) -> None:
        self._keys = keys
        self._expected = expected
        self._clock = clock

    def verify(self, token: str, nonce: str | None = None) -> Identity | InvalidToken:
        """The identity of the token; with `nonce` it must be the ID token of that login."""
        try:
            claims = self._claims(token)
            if isinstance(claims, InvalidToken):
                return claims
            wrong = self._invalid_claim(claims) or (
                "" if nonce is None else self._misused(claims, nonce)
            )
        except _MALFORMED as error:
            return InvalidToken(f"the token cannot be verified ({type(error).__name__})")
        return InvalidToken(wrong) if wrong else self._identity(claims)

    def _claims(self, token: str) -> dict[str, Any] | InvalidToken:
        if token.count(".") != 2:
            return InvalidToken("not a signed token in three parts")
        header = jws.extract_compact(token.encode("ascii")).protected
        for name in _FORBIDDEN:
            if name in header:
                return InvalidToken(f"the header member `{name}` is not accepted")
        kid = header.get("kid")
        if kid is not None and not isinstance(kid, str):
            return InvalidToken("`kid` is not a string")
        entry = self._keys.find(kid)
        if entry is None:
            return InvalidToken("signed by an unknown key")
        key, algorithms = entry
        if header.get("alg") not in algorithms:
            return InvalidToken("the algorithm does not match the key")
        payload = jws.deserialize_compact(token, key, algorithms=list(algorithms)).payload
        claims = json.loads(payload)
        return claims if isinstance(claims, dict) else InvalidToken("the claims are not an object")

    def _invalid_claim(self, claims: Mapping[str, Any]) -> str:
        """The first missing or wrong claim; empty if all are right."""
        expected, now = self._expected, self._clock()
        audience = claims.get("aud")
        audiences = audience if isinstance(audience, list) else [audience]
        expires, begins = _time(claims.get("exp")), _time(claims.get("nbf"))
        if claims.get("iss") != expected.issuer:
            return "unexpected issuer"
        if expected.audience not in audiences:
            return "unexpected audience"
        if expires is None:
            return "`exp` is missing"
        if begins is None and "nbf" in claims:
            return "`nbf` is not a time"
        if now >= expires + expected.leeway_seconds:
            return "expired"
        if begins is not None and now < begins - expected.leeway_seconds:
            return "not yet valid"
        return ""

    def _misused(self, claims: Mapping[str, Any], nonce: str) -> str:
        """Why an ID token is not for this login and this client only; empty if it is."""
        if claims.get("nonce") != nonce:
            return "the nonce belongs to another login"
        audience = claims.get("aud")
        client = claims.get("azp", None if isinstance(audience, list) else audience)
        if client is None and isinstance(audience, list) and len(audience) == 1:
            client = audience[0]
        return "" if client == self._expected.audience else "issued to another client"

    def _identity(self, claims: Mapping[str, Any]) -> Identity | InvalidToken:
        user = claims.get(self._expected.user_claim)
        if not isinstance(user, str) or not user:
            return InvalidToken(f"the claim `{self._expected.user_claim}` does not name a user")
        is_verified = claims.get("email_verified", True) in (True, "true")
        if self._expected.user_claim == "email" and not is_verified:
            return InvalidToken("the e-mail address is not verified")
        if _is_elsewhere(self._expected.group_claim, claims):
            return InvalidToken(f"the claim `{self._expected.group_claim}` is not in the token")
        groups = claims.get(self._expected.group_claim, [])
        if not isinstance(groups, list) or not all(isinstance(name, str) for name in groups):
            return InvalidToken(f"the claim `{self._expected.group_claim}` is not a list of names")
        return Identity(user, tuple(dict.fromkeys(groups)), self._account(claims))

    def _account(self, claims: Mapping[str, Any]) -> str:
        subject = claims.get("sub")
        return f"{self._expected.issuer}#{subject}" if isinstance(subject, str) else ""


def _is_elsewhere(claim: str, claims: Mapping[str, Any]) -> bool:
    """Whether the token says that the claim must be asked for, as when a user has many groups.

    A user without the groups would escape the DENY statements of these groups. The token may name
    `groups` although the groups are in another claim, such as `roles`.
    SOURCE: OpenID Connect Core 1.0, 5.6.2; `hasgroups`: Microsoft's identity platform.
    """
    if claims.get(claim):
        return False
    named = claims.get("_claim_names", {})
    is_distributed = not isinstance(named, dict) or not named.keys().isdisjoint({claim, "groups"})
    return is_distributed or claims.get("hasgroups", False) is not False


def _time(value: object) -> float | None:
    """Seconds since the epoch; None if the value is not a time."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
        return None
    return value
