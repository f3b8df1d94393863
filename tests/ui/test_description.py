"""The pages are compiled against the API that this server has."""

from __future__ import annotations

import json
from pathlib import Path

from lakewarden.http.admin import openapi
from lakewarden.http.admin.dialect import ENDPOINTS

DESCRIPTION = Path(__file__).parents[2] / "ui" / "openapi.json"


def test_the_description_that_the_types_come_from_is_the_servers() -> None:
    """Otherwise regenerate it: `make ui-types`."""
    assert json.loads(DESCRIPTION.read_text("utf-8")) == json.loads(
        json.dumps(openapi.document(ENDPOINTS, "0"))
    )
