"""Builds HTML and SVG from parts; everything that is not markup is escaped."""

from __future__ import annotations

import re
from html import escape
from typing import Final

from lakewarden.names.canonical import escaped

VOID: Final = frozenset({"meta", "br", "wbr", "rect", "line"})
"""Void elements. Those of SVG are self-closed."""

_SVG: Final = frozenset({"rect", "line"})

_SEPARATORS: Final = re.compile(r"(?<=[/.:_])(?=[^/.:_])")


class Markup(str):
    """Text that is already markup. Only this module converts other text to it."""

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
    """Like `text`; a long name may break after each of its separators.

    >>> wrapped("lake.people:a<b")
    'lake.<wbr>people:<wbr>a&lt;b'
    """
    if not isinstance(value, str) or isinstance(value, Markup):
        return text(value)
    return Markup("<wbr>".join(map(text, _SEPARATORS.split(value))))


def together(*parts: object) -> Markup:
    """The concatenated parts."""
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
