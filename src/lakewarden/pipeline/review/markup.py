"""HTML and SVG put together from parts, of which everything that is not markup is escaped."""

from __future__ import annotations

import re
from html import escape
from typing import Final

from lakewarden.names.canonical import escaped

VOID: Final = frozenset({"meta", "br", "wbr", "rect", "line"})
"""Elements that hold nothing. Those of SVG are closed at once."""

_SVG: Final = frozenset({"rect", "line"})

_SEPARATORS: Final = re.compile(r"(?<=[/.:_])(?=[^/.:_])")


class Markup(str):
    """Text that is markup already. Only this module makes it of what others wrote."""

    __slots__ = ()


def text(value: object) -> Markup:
    """The value as text: markup stays, everything else is escaped.

    >>> text("<b>"), text(1234), text(Markup("<b>"))
    ('&lt;b&gt;', '1,234', '<b>')
    """
    if isinstance(value, Markup):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Markup(f"{value:,}")
    return Markup(escape(escaped(str(value))))


def wrapped(value: object) -> Markup:
    """As `text`; a long name may go on in the next line behind each of its separators.

    >>> wrapped("lake.people:a<b")
    'lake.<wbr>people:<wbr>a&lt;b'
    """
    if not isinstance(value, str) or isinstance(value, Markup):
        return text(value)
    return Markup("<wbr>".join(map(text, _SEPARATORS.split(value))))


def together(*parts: object) -> Markup:
    """Parts one behind the other."""
    return Markup("".join(map(text, parts)))


def element(name: str, /, *parts: object, **attributes: object) -> Markup:
    """An element. `class_` is the attribute `class`, `aria_label` is `aria-label`.

    An attribute that is None is left out.

    >>> element("td", "a<b", class_="name")
    '<td class="name">a&lt;b</td>'
    """
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(escaped(str(value)))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in VOID:
        return Markup(f"<{name}{shown}{'/' if name in _SVG else ''}>")
    return Markup(f"<{name}{shown}>{together(*parts)}</{name}>")
