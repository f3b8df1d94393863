"""The ingested sample estate."""

from tests.sample.estate import estate

__all__ = ["estate"]
