"""The page about AuthZEN names only existing things."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakewarden.http.authzen import evaluation, request_context
from lakewarden.http.authzen.dialect import AuthZen
from lakewarden.kernel.request import Reason

PAGE = (Path(__file__).parents[3] / "docs/authzen.md").read_text("utf-8")

_NAMED = {
    *(f"context.{key}" for key in request_context._KEYS),
    *(reason.value for reason in Reason),
    *evaluation._STOPS,
    "context.at_least_revision",
    "resource.properties.realm",
}


@pytest.mark.parametrize("name", sorted(_NAMED))
def test_what_is_read_and_what_is_answered_is_named(name: str) -> None:
    assert f"`{name}`" in PAGE


def test_every_endpoint_is_named() -> None:
    for route in AuthZen().routes():
        assert route.path.removeprefix("/access/v1").removesuffix("/r/{realm}") in PAGE
