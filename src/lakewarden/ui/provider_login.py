"""Login at an identity provider: the redirect to it, and the callback.

| path                       | answer                                                       |
|----------------------------|--------------------------------------------------------------|
| /ui/login/oidc             | 302 to the provider, with a cookie for the callback           |
| /ui/login/oidc/callback    | 303 to the requested page, with a session; or the login       |
|                            | page, with the error                                          |

The cookie is `SameSite=Lax`, because the callback begins at another site; it lasts ten minutes and
is removed with the provider's response, which counts once, across all processes.
"""

from __future__ import annotations

from hashlib import sha256
from hmac import compare_digest

from lakewarden.http import sign_in as signing
from lakewarden.http.exchange import Exchange, Reply
from lakewarden.service import session
from lakewarden.service.credential import Count
from lakewarden.service.provider_login import SECONDS, Callback, LoginFailed, ProviderUnavailable
from lakewarden.ui import login

NOT_THERE = "login at an identity provider is not configured"


def start(exchange: Exchange) -> Reply:
    """Redirects to the provider."""
    provider = exchange.services.provider_login
    if provider is None:
        return login.page(exchange, 404, NOT_THERE)
    started = provider.start(login.own_path(exchange.one("to")), exchange.now)
    cookie = signing.login_cookie(exchange, started.secret, SECONDS)
    headers = {**login.HEADERS, "Location": started.url}
    return Reply(302, b"", login.HTML, headers, cookies=(cookie,))


def finish(exchange: Exchange) -> Reply:
    """Ends the login with a session, or shows why there is none."""
    provider = exchange.services.provider_login
    if provider is None:
        return login.page(exchange, 404, NOT_THERE)
    secret, callback = signing.login_secret(exchange), _callback(exchange)
    try:
        state = provider.state_of(secret, exchange.now)
    except LoginFailed as error:
        return login.page(exchange, 401, str(error))
    if not compare_digest(state.encode(), callback.state.encode()):
        # The browser was not sent here by the provider; the login continues.
        return login.page(exchange, 401, "this response belongs to another login; log in again")
    over = signing.login_cookie(exchange, "", 0.0)
    try:
        _use_once(exchange, state)
        finished = provider.finish(secret, callback, exchange.now)
    except LoginFailed as error:
        _record(exchange, error)
        status = 503 if isinstance(error, ProviderUnavailable) else 401
        return login.page(exchange, status, str(error), cookies=(over,))
    issued = signing.sign_in_as(exchange, finished.actor)
    headers = {**login.HEADERS, "Location": login.own_path(finished.to)}
    cookies = (signing.cookie(exchange, issued), over)
    return Reply(303, b"", login.HTML, headers, cookies=cookies)


def _callback(exchange: Exchange) -> Callback:
    return Callback(
        state=exchange.one("state"),
        code=exchange.one("code"),
        issuer=exchange.one("iss"),
        error=exchange.one("error"),
    )


def _use_once(exchange: Exchange, state: str) -> None:
    """Raises `LoginFailed` for a login that was already answered."""
    used = Count(("login", sha256(state.encode()).hexdigest()), 1, SECONDS)
    if exchange.service.store.count_attempt([used], exchange.now) is not None:
        raise LoginFailed("this login has expired; log in again")


def _record(exchange: Exchange, error: LoginFailed) -> None:
    exchange.write(
        lambda transaction: session.record_failed(transaction, f"oidc: {error.detail or error}")
    )
