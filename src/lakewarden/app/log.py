"""Logs: one JSON object a line on standard error, with secrets masked.

JSON escapes the values, including line breaks and control characters. A value is masked if its name
marks it as a secret, or if it looks like one of our tokens or a JWT.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any, Final

import structlog

MASKED: Final = "***"

_SECRET_NAMES = re.compile(r"token|password|passwd|secret|authorization|credential_text|cookie")
_SECRET_TEXTS = re.compile(
    r"lw_[A-Za-z0-9_-]{8,}"
    r"|eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"
    r"|(?i:\b(?:bearer|basic) +[A-Za-z0-9+/=._~-]+)"
    r"|(?<=://)[^\s/@:]*:[^\s/@]*(?=@)"
)

_least = [logging.INFO]

Logger = structlog.typing.FilteringBoundLogger


def configure(level: str) -> None:
    """Configures logging for this process, including that of the libraries."""
    number = logging.getLevelNamesMapping()[level.upper()]
    _least[0] = number
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            mask,
            structlog.processors.JSONRenderer(ensure_ascii=True),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        # Standard error may be replaced: look it up for each line.
        logger_factory=lambda *_: structlog.WriteLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    root.handlers[:] = [_Forward()]
    root.setLevel(max(number, logging.WARNING))


def is_enabled(level: int) -> bool:
    """Whether lines of this level are written; called for every request."""
    return level >= _least[0]


def get() -> Logger:
    """The logger of this process."""
    logger: Logger = structlog.get_logger()
    return logger


class _Forward(logging.Handler):
    """Writes the log records of libraries as our lines."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            get().error(record.getMessage(), library=record.name, exc_info=record.exc_info)
        else:
            get().log(record.levelno, record.getMessage(), library=record.name)


def mask(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Masks secrets, by the names of values and by the form of their texts.

    >>> mask(None, "", {"event": "got Bearer abc", "token": "x", "port": 1})
    {'event': 'got ***', 'token': '***', 'port': 1}
    """
    return {name: _masked(name, value) for name, value in event.items()}


def _masked(name: str, value: object) -> object:
    if value is not None and not isinstance(value, (bool, int, float)):
        if _SECRET_NAMES.search(name.lower()):
            return MASKED
        if isinstance(value, str):
            return _SECRET_TEXTS.sub(MASKED, value)
        if isinstance(value, Mapping):
            return {str(key): _masked(str(key), inner) for key, inner in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [_masked(name, inner) for inner in value]
        return _SECRET_TEXTS.sub(MASKED, str(value))
    return value
