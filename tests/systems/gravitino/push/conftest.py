"""The fixtures of the dialect."""

from tests.systems.gravitino.http.conftest import lake, wire

__all__ = ["lake", "wire"]
