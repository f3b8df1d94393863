"""The markup of the login page: a choice of the offered modes, without script.

| mode       | offered as                                                              |
|------------|-------------------------------------------------------------------------|
| `oidc`     | a link to the identity provider                                         |
| `simple`   | a form for a name                                                       |
| `password` | a form for user, password and where the password is kept                |
| `token`    | a form for a token                                                      |

The first mode that the server offers is open, as is the submitted one; the others unfold. Input is
kept, except passwords and tokens. An error is shown at its field.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Final
from urllib.parse import urlencode

from lakewarden.http.sign_in import OIDC, SIMPLE, TOKEN
from lakewarden.service.credential import PASSWORD

_ORDER: Final = (OIDC, SIMPLE, PASSWORD, TOKEN)
_FIELDS: Final = {SIMPLE: ("user",), PASSWORD: ("user", "password", "place"), TOKEN: ("token",)}
_SECRET: Final = {PASSWORD: "password", TOKEN: "token"}

_TITLES: Final = {
    OIDC: "Log in at the identity provider",
    SIMPLE: "Sign in by name",
    PASSWORD: "Sign in with a password",
    TOKEN: "Sign in with a token",
}
_NOTES: Final = {
    SIMPLE: "This server does not authenticate users: for evaluation on one machine.",
    TOKEN: "It is exchanged for a session; the pages do not store it.",
}


@dataclass(frozen=True, slots=True)
class SubmittedForm:
    """The input of a submitted form; `fault` is about `field`, or about the form as a whole."""

    way: str = ""
    user: str = ""
    place: str = ""
    fault: str = ""
    field: str = ""

    def failed(self, fault: str, field: str = "") -> SubmittedForm:
        """The same with an error, at the form's secret unless `field` is a field of the form."""
        fields = _FIELDS.get(self.way, ())
        at = {"realm": "place", "directory": "place"}.get(field, field)
        if at not in fields:
            at = _SECRET.get(self.way, next(iter(fields), ""))
        return replace(self, fault=fault[:1].upper() + fault[1:], field=at)


def render(
    modes: Sequence[str], places: Sequence[tuple[str, str]], to: str, form: SubmittedForm
) -> bytes:
    """The page. `places` are where passwords are stored, with their titles."""
    ways = [way for way in _ORDER if way in modes]
    parts = [_way(way, places, to, form, is_first=way == ways[0]) for way in ways]
    if form.fault and form.way not in ways:
        parts.insert(0, _fault(form.fault, "fault"))
    return _PAGE.format(ways="\n".join(parts)).encode()


def _way(
    way: str, places: Sequence[tuple[str, str]], to: str, form: SubmittedForm, *, is_first: bool
) -> str:
    own = form if form.way == way else SubmittedForm()
    if way == OIDC:
        # A link: targets of a form, including redirects, are restricted by `form-action`.
        address = escape(f"/ui/login/oidc?{urlencode({'to': to})}")
        return f'{_fault(own.fault, "oidc")}<a class="button" href="{address}">{_TITLES[OIDC]}</a>'
    is_focused = own.fault != "" if form.fault else is_first
    body = _form(way, places, to, own, is_focused=is_focused)
    title = f"<h2>{_TITLES[way]}</h2>"
    if is_first:
        return f'<section class="way">{title}{body}</section>'
    unfolded = " open" if own.fault else ""
    return f'<details class="way"{unfolded}><summary>{title}</summary>{body}</details>'


def _form(
    way: str, places: Sequence[tuple[str, str]], to: str, own: SubmittedForm, *, is_focused: bool
) -> str:
    fields = {
        "user": lambda: _input(way, "user", "User", own, "username", value=own.user),
        "password": lambda: _input(way, "password", "Password", own, "current-password"),
        "token": lambda: _input(way, "token", "Token", own, "off"),
        "place": lambda: _select(way, places, own),
    }
    inputs = "".join(fields[name]() for name in _FIELDS[way])
    if is_focused:
        at = own.field or _FIELDS[way][0]
        inputs = inputs.replace(f' name="{at}"', f' name="{at}" autofocus', 1)
    note = f"<p>{_NOTES[way]}</p>" if way in _NOTES else ""
    return (
        f'<form method="post" action="/ui/login">{note}'
        f'<input type="hidden" name="to" value="{escape(to)}">{inputs}'
        "<button>Sign in</button></form>"
    )


def _input(
    way: str, name: str, label: str, own: SubmittedForm, complete: str, value: str = ""
) -> str:
    kind = "text" if name == "user" else "password"
    value_attribute = f' value="{escape(value)}"' if value else ""
    field = (
        f'<input type="{kind}" name="{name}"{value_attribute} required autocomplete="{complete}"'
        f' autocapitalize="off" spellcheck="false"{_about(way, name, own)}>'
    )
    return _labelled(way, name, label, field, own)


def _select(way: str, places: Sequence[tuple[str, str]], own: SubmittedForm) -> str:
    options = "".join(
        f'<option value="{escape(place)}"{" selected" if place == own.place else ""}>'
        f"{escape(title)}</option>"
        for place, title in places
    )
    field = f'<select name="place"{_about(way, "place", own)}>{options}</select>'
    return _labelled(way, "place", "Where", field, own)


def _labelled(way: str, name: str, label: str, field: str, own: SubmittedForm) -> str:
    fault = _fault(own.fault, f"{way}-{name}") if own.field == name else ""
    return f"<label>{label}{field}</label>{fault}"


def _about(way: str, name: str, own: SubmittedForm) -> str:
    at_fault = own.fault and own.field == name
    return f' aria-invalid="true" aria-describedby="{way}-{name}"' if at_fault else ""


def _fault(text: str, id: str) -> str:
    return f'<p role="alert" class="fault" id="{id}">{escape(text)}</p>' if text else ""


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
{ways}
</main>
</body>
</html>
"""
