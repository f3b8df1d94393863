"""The engines for which SQL is written, and what each does not support."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lakewarden.expressions.types import Type
from lakewarden.kernel.errors import BadInput

ENGINES: Final = ("trino", "spark", "postgresql", "mysql", "hive", "duckdb")
"""The engines; `mysql` covers MariaDB, too."""

REFUSED: Final[dict[tuple[str, str], str]] = {
    (Type.INSTANT, "mysql"): "it has no timestamps with a time zone",
    (Type.INSTANT, "hive"): "it has no timestamps with a time zone",
}
"""What an engine does not support, by type or function, with the reason."""

SETTING: Final = "engines"
"""The realm setting that lists engines which read its tables without asking for decisions."""

_ON: Final = "on"


def check_engine(engine: str, where: str = "") -> None:
    """Raises `BadInput` for an unknown engine."""
    if engine not in ENGINES:
        known = ", ".join(ENGINES)
        raise BadInput(f"unknown engine `{engine}`; expected one of {known}", where=where)


def read_engines(text: str, where: str = "") -> tuple[str, ...]:
    """The engines of a comma-separated list, sorted. Raises `BadInput` for an unknown one.

    >>> read_engines("trino, hive")
    ('hive', 'trino')
    """
    named = sorted({part.strip() for part in text.split(",") if part.strip()})
    for engine in named:
        check_engine(engine, where)
    return tuple(named)


def engines_of(settings: Mapping[str, str]) -> tuple[str, ...]:
    """All engines that read the tables of a realm with these settings: served and listed ones."""
    asking = {engine for engine in ENGINES if settings.get(engine) == _ON}
    return tuple(sorted(asking | set(read_engines(settings.get(SETTING, "")))))
