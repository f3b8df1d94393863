"""Names that break unescaped text: paths, queries, quotes, markup, scripts, unseen characters."""

from __future__ import annotations

from itertools import product
from typing import Final

from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import check_user_name
from lakewarden.systems.datahub import names as datahub

PIECES: Final = (
    *("/", "\\", "'", '"', ";", "%", "..", ".", "//", "%2f", "%2e%2e", "\\\\", "''", "--"),
    *("?", "#", "&", "=", "+", ":", ",", "(", ")", "<b>", "{", "}", "$", "|", "*", "@", " "),
    *("eng", "DOM", "O'Hara", "main/", "other/", "user:", "urn", "é", "山", "' or 1=1 --"),
)

MARKUP: Final = (
    "<img src=x data-hostile onerror=alert(1)>",
    '"><script data-hostile>alert(2)</script>',
    "</title><script data-hostile>alert(3)</script>",
    "<svg data-hostile onload=alert(4)>",
    "<iframe data-hostile srcdoc='<script>alert(5)</script>'>",
    "javascript:alert(6)",
    "data:text/html,<script data-hostile>alert(7)</script>",
    "' data-hostile onmouseover='alert(8)",
    '" data-hostile autofocus onfocus="alert(9)',
    "<style data-hostile>*{display:none}</style>",
    "{{7*7}}${7*7}#{7*7}",
    "[click](javascript:alert(10))",
    "<!--", "]]>", "&lt;script&gt;", "\\u003cscript\\u003e", "%3Cscript%3E",
    "=1+1", "@SUM(1)", "__proto__", "constructor", "null", "undefined", "NaN", "true", "0",
    "a" * 200, "W" * 120, "\uff46\uff55\uff4c\uff4c", "עברית", "بيانات", "👩👧",
)  # fmt: skip


def is_name(name: str) -> bool:
    """Whether every system accepts the name for a user."""
    try:
        check_user_name(name)
        datahub.user_urn(name)
    except BadInput:
        return False
    return name != "*"  # Gravitino reserves it


def names(count: int) -> list[str]:
    """`count` different names, always the same ones: pure markup, then markup between pieces."""
    between = (f"{piece}{one}{piece}" for piece, one in product(PIECES, MARKUP))
    found = dict.fromkeys(name for name in (*MARKUP, *between) if is_name(name))
    assert len(found) >= count
    return list(found)[:count]
