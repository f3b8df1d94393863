"""The page to sign in on: one form, no script.

What is offered follows from the server: a name in `simple` mode; user and password of a directory
or of a realm that keeps passwords; a token in every mode. Afterwards the browser is led to the page
that it wanted, which is one of ours: an address of another site is left out.
"""

from __future__ import annotations

from html import escape
from typing import Final
from urllib.parse import parse_qsl, urlencode

from lakewarden.http import sign_in as signing
from lakewarden.http.exchange import Exchange, Refused, Reply
from lakewarden.http.sign_in import NotBelieved, Proof, TooMany
from lakewarden.kernel.errors import BadInput, Unavailable, WardenError
from lakewarden.registry import registry
from lakewarden.service.credential import PASSWORD

HTML: Final = "text/html; charset=utf-8"
_HOME: Final = "/ui/"
_MOST_FIELDS: Final = 12

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'"
    ),
    # With `no-referrer` a browser sends the form without saying from which page it comes.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def form(exchange: Exchange) -> Reply:
    """The form, empty."""
    return Reply(200, _page(exchange, own_path(exchange.one("to"))), HTML, HEADERS)


def sign_in(exchange: Exchange) -> Reply:
    """Signs in and leads on; or the form again, with what was wrong."""
    sent = _fields(exchange.body)
    to = own_path(sent.get("to", ""))
    proof = Proof(
        user=sent.get("user", "").strip(),
        password=sent.get("password", ""),
        token=sent.get("token", "").strip(),
        **_place(sent.get("place", "")),
    )
    try:
        issued = signing.sign_in(exchange, proof)
    except TooMany as error:
        headers = {**HEADERS, "Retry-After": str(error.seconds)}
        said = f"Too many tries. Wait {error.seconds} seconds and try again."
        return Reply(429, _page(exchange, to, proof, said), HTML, headers)
    except (NotBelieved, BadInput) as error:
        said = str(error)
        return Reply(401, _page(exchange, to, proof, said[:1].upper() + said[1:]), HTML, HEADERS)
    cookies = (signing.cookie(exchange, issued),)
    return Reply(303, headers={**HEADERS, "Location": to}, cookies=cookies)


def _place(text: str) -> dict[str, str]:
    """Whose password it is: `realm:NAME` or `directory:NAME`; raises `BadInput`."""
    kind, _, name = text.partition(":")
    if not text:
        return {}
    if kind not in ("realm", "directory") or not name:
        raise BadInput("expected a realm or a directory", where="place")
    return {kind: name}


def page(exchange: Exchange, status: int, message: str, *, cookies: tuple[str, ...] = ()) -> Reply:
    """The form with a message, for a login that began elsewhere."""
    body = _page(exchange, _HOME, said=message[:1].upper() + message[1:])
    return Reply(status, body, HTML, HEADERS, cookies=cookies)


def own_path(text: str) -> str:
    """The address, where it is one of our pages; else their first one.

    >>> own_path("/ui/ask?who=user:ana"), own_path("//evil"), own_path("/ui/../x")
    ('/ui/ask?who=user:ana', '/ui/', '/ui/')
    """
    is_own = text.startswith(_HOME) and text.isprintable() and "\\" not in text
    return text if is_own and "//" not in text and ".." not in text else _HOME


def _fields(body: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise BadInput("expected the fields of a form", where="body") from None
    return dict(pairs)


def failed(error: Exception) -> Reply:
    """A failure as a short text; of one that nobody foresaw nothing is told."""
    status = _status(error)
    said = str(error) if status != 500 else "this should not have happened"
    headers = {**HEADERS, "Retry-After": "1"} if status == 503 else HEADERS
    return Reply(status, said.encode("utf-8", "replace"), "text/plain; charset=utf-8", headers)


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


_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in · lakewarden</title>
<link rel="icon" href="/ui/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/ui/login.css">
</head>
<body>
<main>
<h1><img src="/ui/icon.svg" alt="" width="28" height="28"> lakewarden</h1>
{said}
{forms}
</main>
</body>
</html>
"""


def _page(exchange: Exchange, to: str, proof: Proof | None = None, said: str = "") -> bytes:
    sent = proof or Proof()
    forms = [_token(to)]
    if PASSWORD in signing.modes(exchange.services):
        forms.insert(0, _password(to, sent, [*_directories(exchange), *_realms(exchange)]))
    if exchange.services.provider_login is not None:
        forms.insert(0, _provider(to))
    if exchange.services.auth == signing.SIMPLE:
        forms.insert(0, _simple(to, sent))
    told = f'<p role="alert" class="fault">{escape(said)}</p>' if said else ""
    return _PAGE.format(said=told, forms="\n".join(forms)).encode()


def _directories(exchange: Exchange) -> list[tuple[str, str]]:
    """The directories of people: place and title."""
    names = {found.realm.directory for found in exchange.state.realms.values()}
    return [(f"directory:{name}", f"People of {name}") for name in sorted(names)]


def _realms(exchange: Exchange) -> list[tuple[str, str]]:
    """The realms whose people sign in with a password: place and title."""
    with_passwords = {system.name for system, _ in registry().having("passwords")}
    chosen = []
    for name, found in sorted(exchange.state.realms.items()):
        system = registry().shipping(found.realm.model)
        if system is not None and system.name in with_passwords:
            chosen.append((f"realm:{name}", found.system.model.title or name))
    return chosen


def _simple(to: str, sent: Proof) -> str:
    return _form(
        to,
        "Sign in by name",
        "This server believes names: it is for trying things out on one machine.",
        _text("user", "Name", sent.user, "username"),
    )


def _password(to: str, sent: Proof, places: list[tuple[str, str]]) -> str:
    chosen = f"realm:{sent.realm}" if sent.realm else f"directory:{sent.directory}"
    options = "".join(
        f'<option value="{escape(place)}"{" selected" if place == chosen else ""}>'
        f"{escape(title)}</option>"
        for place, title in places
    )
    return _form(
        to,
        "Sign in with a password",
        "",
        _text("user", "User", sent.user, "username")
        + '<label>Password<input type="password" name="password" required'
        ' autocomplete="current-password"></label>'
        + f'<label>Where<select name="place">{options}</select></label>',
    )


def _provider(to: str) -> str:
    # A link: what a form leads to is bound by `form-action`, redirections included.
    address = f"/ui/login/oidc?{urlencode({'to': to})}"
    return f'<p><a class="button" href="{escape(address)}">Log in at the identity provider</a></p>'


def _token(to: str) -> str:
    return _form(
        to,
        "Sign in with a token",
        "It is exchanged for a session; the pages do not keep it.",
        '<label>Token<input type="password" name="token" required autocomplete="off"></label>',
    )


def _text(name: str, label: str, value: str, complete: str) -> str:
    return (
        f'<label>{label}<input name="{name}" value="{escape(value)}" required'
        f' autocomplete="{complete}" autocapitalize="off" spellcheck="false"></label>'
    )


def _form(to: str, title: str, note: str, fields: str) -> str:
    told = f"<p>{note}</p>" if note else ""
    return (
        f'<form method="post" action="/ui/login"><h2>{title}</h2>{told}'
        f'<input type="hidden" name="to" value="{escape(to)}">{fields}'
        "<button>Sign in</button></form>"
    )
