"""The code flow of OpenID Connect, with PKCE, `state` and `nonce`, by Authlib.

The server stores nothing while the user is at the provider. The browser keeps one random key in a
cookie that scripts cannot read. `state`, `nonce` and the code verifier are digests of this key, the
requested page and the time, so none of them fits another login. The ID token is verified like
bearer tokens (`authn.oidc`), with the client as its audience and the nonce of this login.

SOURCE: OpenID Connect Core 1.0, 3.1; RFC 7636; RFC 9207 (`iss` in the response); RFC 9700, 2.1.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from hmac import compare_digest
from typing import Final

import httpx2
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.httpx_client import OAuth2Client

from lakewarden.authn.authenticator import Unauthenticated
from lakewarden.authn.oidc import Identity, InvalidToken, Verifier
from lakewarden.service.actor import Actor
from lakewarden.service.provider_login import (
    SECONDS,
    Callback,
    FinishedLogin,
    LoginFailed,
    ProviderUnavailable,
    StartedLogin,
)
from lakewarden.service.steps import step

TIMEOUT_SECONDS: Final = 5.0
_MAX_SECRET: Final = 4_096
_MAX_CODE: Final = 4_096
_SKEW_SECONDS: Final = 60.0
_AWAY: Final = "the identity provider does not answer; try again later"
_INVALID: Final = "the identity provider's answer is not valid"


@dataclass(frozen=True, slots=True)
class Client:
    """This server as a client of the provider; `secret` None: a public client, with PKCE only."""

    id: str
    secret: str | None
    issuer: str
    authorization_url: str
    token_url: str
    redirect_url: str
    scope: str


@dataclass(frozen=True, slots=True)
class _Login:
    """One login: its random key, the requested page, and the start time."""

    key: str
    to: str
    began: float

    @property
    def secret(self) -> str:
        """The value of the browser's cookie."""
        text = json.dumps([self.key, self.to, self.began])
        return base64.urlsafe_b64encode(text.encode()).decode("ascii").rstrip("=")

    def derived(self, name: str) -> str:
        """A derived value of this login: 43 characters that do not reveal the key."""
        text = json.dumps([name, self.key, self.to, self.began])
        digest = hashlib.sha256(text.encode()).digest()
        return base64.urlsafe_b64encode(digest).decode("ascii").rstrip("=")


class CodeFlow:
    """See `ProviderLogin`. `believed` returns the actor of an identity of the provider."""

    def __init__(
        self,
        client: Client,
        verifier: Verifier,
        believed: Callable[[Identity], Actor | Unauthenticated],
    ) -> None:
        self._client = client
        self._verifier = verifier
        self._believed = believed

    def start(self, to: str, now: float) -> StartedLogin:
        """See `ProviderLogin.start`."""
        login = _Login(secrets.token_urlsafe(32), to, now)
        with self._session() as session:
            url, _ = session.create_authorization_url(
                self._client.authorization_url,
                state=login.derived("state"),
                nonce=login.derived("nonce"),
                code_verifier=login.derived("verifier"),
            )
        return StartedLogin(url, login.secret)

    def state_of(self, secret: str, now: float) -> str:
        """See `ProviderLogin.state_of`."""
        return _login(secret, now).derived("state")

    def finish(self, secret: str, callback: Callback, now: float) -> FinishedLogin:
        """See `ProviderLogin.finish`."""
        login = _login(secret, now)
        if not compare_digest(callback.state.encode(), login.derived("state").encode()):
            raise LoginFailed("this response belongs to another login; log in again")
        if callback.issuer and callback.issuer != self._client.issuer:
            raise LoginFailed("this response comes from another identity provider")
        if callback.error:
            raise LoginFailed("the identity provider refused the login", callback.error)
        if not 0 < len(callback.code) <= _MAX_CODE:
            raise LoginFailed("the identity provider did not send a code")
        identity = self._verifier.verify(
            self._id_token(callback.code, login.derived("verifier")), login.derived("nonce")
        )
        if isinstance(identity, InvalidToken):
            raise LoginFailed(_INVALID, identity.why)
        actor = self._believed(identity)
        if isinstance(actor, Unauthenticated):
            raise LoginFailed(actor.why, actor.detail)
        return FinishedLogin(actor, login.to)

    def _id_token(self, code: str, verifier: str) -> str:
        try:
            called = step("call the identity provider", calls="identity provider")
            with called, self._session() as session:
                answer = session.fetch_token(
                    self._client.token_url,
                    grant_type="authorization_code",
                    code=code,
                    code_verifier=verifier,
                )
        except httpx2.HTTPStatusError as error:
            status = error.response.status_code
            if status >= 500:
                raise ProviderUnavailable(_AWAY, f"status {status}") from None
            raise LoginFailed(_INVALID, f"status {status} of the token endpoint") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ProviderUnavailable(_AWAY, type(error).__name__) from None
        except AuthlibBaseError as error:
            raise LoginFailed("the identity provider rejected the code", str(error)) from None
        except (ValueError, TypeError, AttributeError) as error:
            detail = f"no response from the token endpoint ({type(error).__name__})"
            raise LoginFailed(_INVALID, detail) from None
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise LoginFailed(_INVALID, "no ID token")
        return token

    def _session(self) -> OAuth2Client:
        client = self._client
        return OAuth2Client(
            client.id,
            client.secret,
            token_endpoint_auth_method="none" if client.secret is None else "client_secret_basic",
            scope=client.scope,
            redirect_uri=client.redirect_url,
            code_challenge_method="S256",
            timeout=TIMEOUT_SECONDS,
            follow_redirects=False,
            trust_env=False,
        )


def _login(secret: str, now: float) -> _Login:
    """The login with this secret; raises `LoginFailed`."""
    if not secret or len(secret) > _MAX_SECRET:
        raise LoginFailed("no login was started in this browser; log in again")
    try:
        padded = secret + "=" * (-len(secret) % 4)
        key, to, began = json.loads(base64.b64decode(padded, b"-_", validate=True))
    except (ValueError, TypeError, RecursionError):
        raise LoginFailed("no login was started in this browser; log in again") from None
    is_whole = isinstance(key, str) and isinstance(to, str) and isinstance(began, float)
    if not is_whole or not -_SKEW_SECONDS <= now - began <= SECONDS:
        raise LoginFailed("the login took too long; log in again")
    return _Login(key, to, began)
