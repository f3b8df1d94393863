"""Tiny drawn worlds."""

from __future__ import annotations

from bench.pipeline.attributes import ATTRIBUTES
from bench.pipeline.estate import Size
from bench.pipeline.grants import GRANTS

TINY = Size(1_000, users=60, groups=20, roles=30, statements=100)
"""The same shapes as a large world, built in a second."""

WORLDS = (GRANTS, ATTRIBUTES)
