"""Durations in the notation of the command line."""

from __future__ import annotations

import re
from typing import Final

from lakewarden.kernel.errors import BadInput

_SECONDS: Final = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
_WRITTEN = re.compile(r"([0-9]{1,9})([smhdw])")


def seconds(text: str, option: str) -> float:
    """The seconds of `90s`, `15m`, `12h`, `1d` or `2w`; raises `BadInput`.

    >>> seconds("12h", "--ttl")
    43200.0
    """
    match = _WRITTEN.fullmatch(text.strip())
    if match is None:
        raise BadInput(
            f"expected a duration such as `12h`, `1d` or `2w`, got `{text}`", where=option
        )
    return int(match[1]) * _SECONDS[match[2]]
