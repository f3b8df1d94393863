"""Logs: one JSON object a line on standard error, with nothing in it that should not be there.

Values are escaped by JSON itself, line breaks and control characters included. A value whose
name says that it is a secret, and whatever looks like a token of ours or a JWT, is masked.
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
    """Sets up logs for this process; those of the libraries go the same way."""
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
        # What standard error is may change: it is looked up for each line.
        logger_factory=lambda *_: structlog.WriteLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    root.handlers[:] = [_Forward()]
    root.setLevel(max(number, logging.WARNING))


def is_enabled(level: int) -> bool:
    """Whether lines of this level are written; asked for every request."""
    return level >= _least[0]


def get() -> Logger:
    """The logger of this process."""
    logger: Logger = structlog.get_logger()
    return logger


class _Forward(logging.Handler):
    """What libraries log, as one of our lines."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            get().error(record.getMessage(), library=record.name, exc_info=record.exc_info)
        else:
            get().log(record.levelno, record.getMessage(), library=record.name)


def mask(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Masks secrets, by the names of values and by what their texts look like.

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
