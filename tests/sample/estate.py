"""The sample estate as realms to ask, ingested once for all tests that want it."""

from __future__ import annotations

from typing import Final

from lakewarden import sample

ESTATE: Final = {
    "gravitino": sample.GRAVITINO,
    "datahub": sample.DATAHUB,
    "cdap": sample.CDAP,
}
"""The export of each system."""
