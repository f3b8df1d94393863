"""Imported by the fork server alone: what a server imports is there before it is forked."""

from tests.app.forked import preload

preload()
