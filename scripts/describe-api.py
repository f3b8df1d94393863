"""Writes the description of our own API, from which the types of the pages are generated."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from lakewarden.http.admin import openapi
from lakewarden.http.admin.dialect import ENDPOINTS

if __name__ == "__main__":
    described = json.dumps(openapi.document(ENDPOINTS, "0"), indent=1)
    Path(sys.argv[1]).write_text(described + "\n", "utf-8")
