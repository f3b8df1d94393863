"""Imported only by the fork server, so a forked server has its modules already imported."""

from tests.app.forked import preload

preload()
