"""Errors that describe their cause."""

from lakewarden.kernel.errors import Starting, Unavailable


def test_a_server_that_starts_is_unavailable_and_says_so() -> None:
    error = Starting()
    assert isinstance(error, Unavailable)
    assert "starting" in str(error)
