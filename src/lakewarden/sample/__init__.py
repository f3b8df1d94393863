"""The sample estate: Quillmere, a garden and home retailer that does not exist.

Owns its export files, in each system's own format, and the program that writes them
(`python -m lakewarden.sample.build`). Everything in it is invented; the README beside this
file says who works there and which mistakes were planted.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

DATA: Final = Path(__file__).with_name("data")
"""The folder of the export files."""

DATAHUB: Final = DATA / "datahub.json"
"""What the file sink of the `datahub` command writes: metadata change proposals."""

GRAVITINO: Final = DATA / "gravitino"
"""Replies of Gravitino's REST API, one file for each kind."""

CDAP: Final = DATA / "cdap"
"""Replies of CDAP's REST API, one file for each kind."""
