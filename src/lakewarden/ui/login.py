"""Signing in on a page without script: the submitted form, and its result.

A login redirects to the page that the browser requested, which must be one of ours: an address of
another site is ignored. A failure shows the forms again (`login_page`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

from lakewarden.http import sign_in as signing
from lakewarden.http.exchange import Exchange, Refused, Reply
from lakewarden.http.sign_in import InvalidCredentials, SignInCredentials, TooManyAttempts
from lakewarden.kernel.errors import BadInput, Unavailable, WardenError
from lakewarden.registry import registry
from lakewarden.service.credential import PASSWORD
from lakewarden.ui import login_page
from lakewarden.ui.login_page import SubmittedForm

HTML: Final = "text/html; charset=utf-8"
_HOME: Final = "/ui/"
_MOST_FIELDS: Final = 12

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'"
    ),
    # With `no-referrer` a browser submits the form without the page it comes from.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def form(exchange: Exchange) -> Reply:
    """The forms, empty."""
    return _reply(exchange, 200, own_path(exchange.one("to")), SubmittedForm())


def sign_in(exchange: Exchange) -> Reply:
    """Signs in and redirects; or shows the forms again, with the error at its field."""
    fields = _fields(exchange.body)
    to = own_path(fields.get("to", ""))
    form = SubmittedForm(_way(fields), fields.get("user", "").strip(), fields.get("place", ""))
    try:
        proof = SignInCredentials(
            user=form.user,
            password=fields.get("password", ""),
            token=fields.get("token", "").strip(),
            **_place(form.place),
        )
        issued = signing.sign_in(exchange, proof)
    except TooManyAttempts as error:
        fault = f"too many attempts; wait {error.seconds} seconds"
        return _reply(exchange, 429, to, form.failed(fault), {"Retry-After": str(error.seconds)})
    except InvalidCredentials as error:
        return _reply(exchange, 401, to, form.failed(str(error)))
    except BadInput as error:
        return _reply(exchange, 400, to, form.failed(error.message, error.where))
    except Unavailable as error:
        return _reply(exchange, 503, to, form.failed(str(error)), {"Retry-After": "1"})
    cookies = (signing.cookie(exchange, issued),)
    return Reply(303, headers={**HEADERS, "Location": to}, cookies=cookies)


def page(exchange: Exchange, status: int, message: str, *, cookies: tuple[str, ...] = ()) -> Reply:
    """The forms with a message, for a login that began elsewhere."""
    return _reply(
        exchange, status, _HOME, SubmittedForm(signing.OIDC).failed(message), cookies=cookies
    )


def _reply(
    exchange: Exchange,
    status: int,
    to: str,
    form: SubmittedForm,
    headers: Mapping[str, str] | None = None,
    cookies: tuple[str, ...] = (),
) -> Reply:
    modes = signing.modes(exchange.services)
    body = login_page.render(modes, _places(exchange), to, form)
    return Reply(status, body, HTML, {**HEADERS, **(headers or {})}, cookies=cookies)


def _way(fields: Mapping[str, str]) -> str:
    """The submitted form."""
    if "token" in fields:
        return signing.TOKEN
    return PASSWORD if "place" in fields or "password" in fields else signing.SIMPLE


def _place(text: str) -> dict[str, str]:
    """The place of the password: `realm:NAME` or `directory:NAME`; raises `BadInput`."""
    kind, _, name = text.partition(":")
    if not text:
        return {}
    if kind not in ("realm", "directory") or not name:
        raise BadInput("expected a realm or a directory", where="place")
    return {kind: name}


def _places(exchange: Exchange) -> list[tuple[str, str]]:
    """Where people have passwords, as place and title: directories, and realms of some systems."""
    realms = exchange.state.realms
    directories = sorted({realm_state.realm.directory for realm_state in realms.values()})
    places = [(f"directory:{name}", f"Directory {name}") for name in directories]
    with_passwords = {system.name for system, _ in registry().with_part("passwords")}
    for name, realm in sorted(realms.items()):
        system = registry().shipper_of(realm.realm.model)
        if system is not None and system.name in with_passwords:
            title = realm.system.model.title
            places.append((f"realm:{name}", f"{title} ({name})" if title else name))
    return places


def own_path(text: str) -> str:
    """The address, if it is one of our pages; otherwise our first page.

    >>> own_path("/ui/ask?on=s3://b/a..z"), own_path("//evil"), own_path("/ui/../x")
    ('/ui/ask?on=s3://b/a..z', '/ui/', '/ui/')
    """
    path = text.partition("?")[0]
    is_own = text.startswith(_HOME) and text.isprintable() and "\\" not in text
    return text if is_own and "//" not in path and ".." not in path else _HOME


def _fields(body: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise BadInput("expected the fields of a form", where="body") from None
    return dict(pairs)


def failed(error: Exception) -> Reply:
    """A failure as a short text; an unexpected one without details."""
    status = _status(error)
    text = str(error) if status != 500 else "internal error"
    headers = {**HEADERS, "Retry-After": "1"} if status == 503 else HEADERS
    return Reply(status, text.encode("utf-8", "replace"), "text/plain; charset=utf-8", headers)


def _status(error: Exception) -> int:
    match error:
        case Refused(status=status):
            return status
        case Unavailable():
            return 503
        case WardenError():
            return 400
        case _:
            return 500
